// Reads untrusted XML property lists, as archivers write them in their XML format.
//
// Only what archivers write is accepted: elements without attributes except on `plist`, the five named entities and
// numeric ones, comments between elements. A reference of an archive is a dictionary with the single key `CF$UID`. A
// document type with declarations is refused, so a document cannot define entities.
//
// Foundation's `PropertyListSerialization` does not serve: it keeps one of two equal keys without an error, so that
// part of an archive could be dropped silently (X-29).
//
// Invariants: every byte is read once, from the first to the last, so time and memory grow with the size of the data.
// The depth is bounded. Errors are thrown; nothing traps.

import Foundation

/// A reader of an untrusted XML property list.
struct XMLPropertyList {
    private static let depthLimit = 16
    private static let referenceKey = "CF$UID"
    private static let entities: [String: UInt8] = [
        "lt": UInt8(ascii: "<"), "gt": UInt8(ascii: ">"), "amp": UInt8(ascii: "&"), "quot": UInt8(ascii: "\""),
        "apos": UInt8(ascii: "'"),
    ]

    private let bytes: [UInt8]
    private var position = 0

    /// A tag: `<name>`, `</name>` or `<name/>`.
    private struct Tag {
        enum Kind {
            case opening
            case closing
            case empty
        }

        let name: String
        let kind: Kind
    }

    /// Whether data may be such a list, judged by its first character.
    static func isLikely(_ data: Data) -> Bool {
        data.first { !isSpace($0) && $0 < 0x80 } == UInt8(ascii: "<")
    }

    /// Reads the whole list.
    static func value(of data: Data) throws(StratusArchiveError) -> PropertyValue {
        var reader = XMLPropertyList(bytes: [UInt8](data))
        let start = try reader.nextTag()
        guard start.name == "plist", start.kind == .opening else {
            throw StratusArchiveError(.notAnArchive, "This is not an XML property list.")
        }
        let value = try reader.value(after: reader.nextTag(), depth: 0)
        let end = try reader.nextTag()
        guard end.name == "plist", end.kind == .closing else { throw reader.damaged }
        reader.skipSpace()
        guard reader.position == reader.bytes.count else { throw reader.damaged }
        return value
    }

    private var damaged: StratusArchiveError {
        StratusArchiveError(.damaged, "The XML property list is damaged.", ["byte": "\(position)"])
    }

    // MARK: Values

    private mutating func value(after tag: Tag, depth: Int) throws(StratusArchiveError) -> PropertyValue {
        guard depth < Self.depthLimit else {
            throw StratusArchiveError(.damaged, "The property list is nested too deeply.")
        }
        switch (tag.name, tag.kind) {
        case ("true", .empty): return .bool(true)
        case ("false", .empty): return .bool(false)
        case ("string", .empty): return .string("")
        case ("data", .empty): return .data(Data())
        case ("array", .empty): return .array([])
        case ("dict", .empty): return .dictionary([:])
        case ("array", .opening):
            var values: [PropertyValue] = []
            while true {
                let member = try nextTag()
                if member.name == tag.name, member.kind == .closing { return .array(values) }
                values.append(try value(after: member, depth: depth + 1))
            }
        case ("dict", .opening): return try dictionary(depth: depth)
        case ("string", .opening): return .string(try content(of: tag.name))
        case ("integer", .opening):
            guard let number = Int64(try content(of: tag.name)) else { throw damaged }
            return .integer(number)
        case ("real", .opening):
            guard let number = Double(try content(of: tag.name)) else { throw damaged }
            return .real(number)
        case ("data", .opening):
            let text = try content(of: tag.name).utf8.filter { !Self.isSpace($0) }
            guard let data = Data(base64Encoded: Data(text)) else { throw damaged }
            return .data(data)
        default: throw damaged
        }
    }

    private mutating func dictionary(depth: Int) throws(StratusArchiveError) -> PropertyValue {
        var pairs: [String: PropertyValue] = [:]
        while true {
            let tag = try nextTag()
            if tag.name == "dict", tag.kind == .closing { return Self.reference(in: pairs) ?? .dictionary(pairs) }
            guard tag.name == "key", tag.kind == .opening else { throw damaged }
            let key = try content(of: "key")
            guard pairs.updateValue(try value(after: nextTag(), depth: depth + 1), forKey: key) == nil else {
                throw damaged
            }
        }
    }

    private static func reference(in pairs: [String: PropertyValue]) -> PropertyValue? {
        guard pairs.count == 1, case .integer(let number)? = pairs[referenceKey], number >= 0 else { return nil }
        return .reference(Int(clamping: number))
    }

    // MARK: Text

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private mutating func skipSpace() {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    }

    /// Skips everything up to and including a mark.
    private mutating func skip(past mark: StaticString) throws(StratusArchiveError) {
        let mark = Array("\(mark)".utf8)
        while position < bytes.count {
            if starts(with: mark) {
                position += mark.count
                return
            }
            position += 1
        }
        throw damaged
    }

    private func starts(with mark: [UInt8]) -> Bool {
        mark.count <= bytes.count - position && bytes[position..<position + mark.count].elementsEqual(mark)
    }

    /// The next tag. Skips the declaration, the document type and comments before it.
    private mutating func nextTag() throws(StratusArchiveError) -> Tag {
        while true {
            skipSpace()
            // The byte order mark of UTF-8.
            if position == 0, starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
            if starts(with: Array("<?".utf8)) {
                try skip(past: "?>")
            } else if starts(with: Array("<!--".utf8)) {
                try skip(past: "-->")
            } else if starts(with: Array("<!DOCTYPE".utf8)) {
                let start = position
                try skip(past: ">")
                guard !bytes[start..<position].contains(UInt8(ascii: "[")) else { throw damaged }
            } else {
                return try tag()
            }
        }
    }

    private mutating func tag() throws(StratusArchiveError) -> Tag {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "<") else { throw damaged }
        let start = position + 1
        try skip(past: ">")
        var body = bytes[start..<position - 1]
        var kind = Tag.Kind.opening
        if body.first == UInt8(ascii: "/") {
            kind = .closing
            body = body.dropFirst()
        } else if body.last == UInt8(ascii: "/") {
            kind = .empty
            body = body.dropLast()
        }
        let name = String(decoding: body.prefix { !Self.isSpace($0) }, as: UTF8.self)
        guard name == "plist" || body.allSatisfy({ !Self.isSpace($0) }) else { throw damaged }
        return Tag(name: name, kind: kind)
    }

    /// The text up to the end of its element.
    private mutating func content(of name: String) throws(StratusArchiveError) -> String {
        var content: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            let byte = bytes[position]
            if byte == UInt8(ascii: "&") {
                content += try entity()
            } else {
                content.append(byte)
                position += 1
            }
        }
        let end = try tag()
        guard end.name == name, end.kind == .closing, let text = String(validating: content, as: UTF8.self) else {
            throw damaged
        }
        return text
    }

    /// The character of the entity that begins here.
    private mutating func entity() throws(StratusArchiveError) -> [UInt8] {
        let longestByteCount = 10
        let rest = bytes[position + 1..<min(bytes.count, position + 1 + longestByteCount)]
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { throw damaged }
        let name = String(decoding: rest[..<end], as: UTF8.self)
        position = end + 1
        if let byte = Self.entities[name] { return [byte] }
        let isHexadecimal = name.hasPrefix("#x")
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard name.hasPrefix("#"), let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
            let scalar = Unicode.Scalar(number)
        else { throw damaged }
        return Array(String(scalar).utf8)
    }
}
