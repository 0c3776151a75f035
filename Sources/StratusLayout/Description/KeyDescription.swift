// Any key as one readable line, for the tool, errors and golden files:
//   db 3 / zone 7 / children / "folder" / "file.txt"
//   global / purges / db 3 / zone 7
// A key this software does not write is shown as hexadecimal with the reason. A line never holds a control character.

import FoundationEssentials
import StratusModel

/// A key as text. The static functions also read text back.
package struct KeyDescription: Hashable, Sendable, CustomStringConvertible {
    private let key: [UInt8]

    package init(_ key: [UInt8]) { self.key = key }

    package var description: String { Self.text(of: key) }

    /// The line for a key, whatever its bytes are.
    package static func text(of key: Span<UInt8>) -> String {
        var pieces: [String] = []
        do throws(LayoutError) {
            try read(key, into: &pieces)
            return pieces.joined(separator: " / ")
        } catch {
            return "damaged key x'\(Hex.text(key))': \(error.message) (position \(error.position))"
        }
    }

    package static func text(of key: [UInt8]) -> String { text(of: key.span) }

    /// Appends the pieces of a line as far as the key can be read, and throws where it cannot.
    static func read(_ key: Span<UInt8>, into pieces: inout [String]) throws(LayoutError) {
        var reader = try KeyReader(key, after: 0, in: .unknown)
        let place = try KeyPlace(&reader)
        pieces = beginning(of: place)
        for part in place.shape.parts {
            if case .chunk = part, reader.isAtEnd { break }
            pieces.append(try text(part, &reader))
        }
        try reader.expectEnd()
    }

    private static func beginning(of place: KeyPlace) -> [String] {
        switch place {
        case .global: ["global", place.shape.name]
        case .database(let database, _): ["\(database)", place.shape.name]
        case .zone(let database, let zone, _): ["\(database)", "\(zone)", place.shape.name]
        }
    }

    private static func text(_ part: KeyPart, _ reader: inout KeyReader) throws(LayoutError) -> String {
        switch part {
        case .text: return ReadableText.quoted(try reader.readText())
        case .optionalText: return try reader.readOptionalName().map { ReadableText.quoted($0.text) } ?? "null"
        case .number: return "\(try reader.readNumber())"
        case .element: return text(of: try reader.readElement())
        case .uuid:
            guard case .uuid(let uuid) = try reader.readElement() else { throw reader.corrupt("A UUID is missing.") }
            return uuid.uuidString
        case .bytes:
            guard case .bytes(let bytes) = try reader.readElement() else { throw reader.corrupt("Bytes are missing.") }
            return "x'\(Hex.text(bytes))'"
        case .database: return "\(DatabaseNumber(try reader.readNumber()))"
        case .zone: return "\(ZoneNumber(try reader.readNumber()))"
        case .chunk:
            let index = try reader.readNumber()
            guard index >= 1 else { throw reader.corrupt("The index of a later chunk is 1 or more.") }
            return "chunk \(index)"
        case .action: return "action \(try named(ReferenceAction.self, &reader))"
        case .scope: return "scope \(try named(DatabaseScope.self, &reader))"
        case .identityKind: return "kind \(try named(IdentityKind.self, &reader))"
        }
    }

    private static func named<Value: RawRepresentable<UInt8>>(
        _ type: Value.Type, _ reader: inout KeyReader
    ) throws(LayoutError) -> Value {
        guard let number = UInt8(exactly: try reader.readNumber()), let value = Value(rawValue: number) else {
            throw reader.corrupt("No case has this number.")
        }
        return value
    }

    /// An element so that it can be read back bit by bit.
    static func text(of element: TupleElement) -> String {
        switch element {
        case .null: "null"
        case .bytes(let bytes): "x'\(Hex.text(bytes))'"
        case .string(let text): ReadableText.quoted(text)
        case .nested(let elements): "(" + elements.map { text(of: $0) }.joined(separator: ", ") + ")"
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .double(let number): "double(\(bits(of: number)))"
        case .boolean(let value): "\(value)"
        case .uuid(let uuid): uuid.uuidString
        case .date(let date): "date(\(bits(of: date.timeIntervalSinceReferenceDate)))"
        }
    }

    /// The shortest decimal that is this number, or the bits of one that no decimal is.
    private static func bits(of number: Double) -> String {
        number.isFinite ? "\(number)" : "bits \(String(number.bitPattern, radix: 16))"
    }
}
