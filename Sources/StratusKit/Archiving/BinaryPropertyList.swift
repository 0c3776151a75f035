// Reads untrusted binary property lists, and writes them.
//
// The format: eight bytes "bplist00"; the objects, each a byte of kind and size and its content, which names other
// objects by number; a table with the offset of every object; a trailer of 32 bytes that locates the table. Numbers are
// big-endian.
//
// Foundation's `PropertyListSerialization` does not serve. It returns the references of an archive as objects of a
// private class, keeps one of two equal keys without an error, and reads an object again for each reference to it: 24
// nested arrays in 163 bytes took it 11 seconds. Its writer does not promise equal bytes.
//
// Invariants of reading: no byte outside the data is read. Every object is read once, however often it is referenced,
// so time and memory grow with the size of the data. An object's height, the longest path down from it, is bounded, so
// no code that walks the list overflows the stack. Errors are thrown; nothing traps.

import Foundation

/// A reader of an untrusted binary property list.
struct BinaryPropertyList {
    /// A keyed archive nests five levels deep.
    private static let heightLimit = 16
    private static let trailerByteCount = 32
    private static let header = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let topObject: Int
    private let tableOffset: Int
    private var states: [ObjectState]
    /// The number of objects that the current one was found under.
    private var depth = 0

    /// An object with its height.
    private typealias Sized = (value: PropertyValue, height: Int)

    /// The progress of reading an object.
    private enum ObjectState {
        case unread
        case underWay
        case read(PropertyValue, height: Int)
    }

    /// Reads the whole list.
    static func value(of data: Data) throws(StratusArchiveError) -> PropertyValue {
        var reader = try BinaryPropertyList([UInt8](data))
        return try reader.value(of: reader.topObject).value
    }

    private init(_ bytes: [UInt8]) throws(StratusArchiveError) {
        let trailer = bytes.count - Self.trailerByteCount
        guard trailer >= Self.header.count, bytes.starts(with: Self.header) else {
            throw StratusArchiveError(.notAnArchive, "This is not a binary property list.")
        }
        self.bytes = bytes
        offsetByteCount = Int(bytes[trailer + 6])
        referenceByteCount = Int(bytes[trailer + 7])
        guard let objectCount = Self.number(in: bytes, at: trailer + 8, byteCount: 8, end: bytes.count),
            let topObject = Self.number(in: bytes, at: trailer + 16, byteCount: 8, end: bytes.count),
            let tableOffset = Self.number(in: bytes, at: trailer + 24, byteCount: 8, end: bytes.count),
            (1...8).contains(offsetByteCount), (1...8).contains(referenceByteCount), topObject < objectCount,
            tableOffset >= Self.header.count, tableOffset <= trailer,
            objectCount <= (trailer - tableOffset) / offsetByteCount
        else { throw StratusArchiveError(.damaged, "The trailer of the property list is damaged.") }
        self.objectCount = objectCount
        states = Array(repeating: .unread, count: objectCount)
        self.topObject = topObject
        self.tableOffset = tableOffset
    }

    /// A number of up to eight bytes that ends before `end` and fits an `Int`.
    private static func number(in bytes: [UInt8], at offset: Int, byteCount: Int, end: Int) -> Int? {
        bits(in: bytes, at: offset, byteCount: byteCount, end: end).flatMap { Int(exactly: $0) }
    }

    private static func bits(in bytes: [UInt8], at offset: Int, byteCount: Int, end: Int) -> UInt64? {
        guard offset >= 0, (1...8).contains(byteCount), offset <= end - byteCount else { return nil }
        var bits: UInt64 = 0
        for place in offset..<offset + byteCount { bits = bits << 8 | UInt64(bytes[place]) }
        return bits
    }

    private func damaged(_ index: Int) -> StratusArchiveError {
        StratusArchiveError(.damaged, "An object of the property list is damaged.", ["object": "\(index)"])
    }

    private mutating func value(of index: Int) throws(StratusArchiveError) -> Sized {
        guard index < objectCount else { throw damaged(index) }
        let result: Sized
        switch states[index] {
        case .read(let value, let height): result = (value, height)
        case .underWay: throw StratusArchiveError(.damaged, "The property list contains a circle.")
        case .unread:
            // The depth is bounded too, because the recursion uses the stack.
            guard depth < Self.heightLimit else { throw tooDeep }
            states[index] = .underWay
            depth += 1
            result = try read(index)
            depth -= 1
            states[index] = .read(result.value, height: result.height)
        }
        guard result.height <= Self.heightLimit else { throw tooDeep }
        return result
    }

    private var tooDeep: StratusArchiveError {
        StratusArchiveError(.damaged, "The property list is nested too deeply.")
    }

    private mutating func read(_ index: Int) throws(StratusArchiveError) -> Sized {
        let place = tableOffset + index * offsetByteCount
        guard let offset = Self.number(in: bytes, at: place, byteCount: offsetByteCount, end: bytes.count),
            offset >= Self.header.count, offset < tableOffset
        else { throw damaged(index) }
        let (kind, size) = (bytes[offset] >> 4, Int(bytes[offset] & 0x0F))
        if let value = scalar(kind: kind, size: size, at: offset + 1) { return (value, 0) }
        guard let (count, start) = count(size: size, at: offset + 1) else { throw damaged(index) }
        switch kind {
        case 0xA:
            var parts: [Sized] = []
            for member in try members(count: count, at: start, of: index) { parts.append(try value(of: member)) }
            return (.array(parts.map(\.value)), (parts.map(\.height).max() ?? 0) + 1)
        case 0xD: return try dictionary(count: count, at: start, of: index)
        default:
            guard let value = text(kind: kind, count: count, at: start) else { throw damaged(index) }
            return (value, 0)
        }
    }

    /// A value without elements; nil if the object has elements or is damaged.
    private func scalar(kind: UInt8, size: Int, at start: Int) -> PropertyValue? {
        func bits(_ byteCount: Int, _ offset: Int = 0) -> UInt64? {
            Self.bits(in: bytes, at: start + offset, byteCount: byteCount, end: tableOffset)
        }
        switch (kind, size) {
        case (0x0, 0x0): return .null
        case (0x0, 0x8): return .bool(false)
        case (0x0, 0x9): return .bool(true)
        case (0x1, 0...2): return bits(1 << size).map { .integer(Int64($0)) }
        case (0x1, 3): return bits(8).map { .integer(Int64(bitPattern: $0)) }
        // Sixteen bytes are for numbers above the largest signed one, which no record can hold.
        case (0x1, 4): return bits(8) == 0 ? bits(8, 8).flatMap { Int64(exactly: $0) }.map { .integer($0) } : nil
        case (0x2, 2): return bits(4).map { .real(Double(Float(bitPattern: UInt32($0)))) }
        case (0x2, 3): return bits(8).map { .real(Double(bitPattern: $0)) }
        case (0x3, 3): return bits(8).map { .date(Double(bitPattern: $0)) }
        case (0x8, 0...7): return bits(size + 1).flatMap { Int(exactly: $0) }.map { .reference($0) }
        default: return nil
        }
    }

    /// The number of an object's elements, and where they begin.
    private func count(size: Int, at start: Int) -> (count: Int, start: Int)? {
        guard size == 0x0F else { return (size, start) }
        guard start < tableOffset, bytes[start] >> 4 == 0x1, bytes[start] & 0x0F <= 3 else { return nil }
        let byteCount = 1 << Int(bytes[start] & 0x0F)
        return Self.number(in: bytes, at: start + 1, byteCount: byteCount, end: tableOffset).map {
            ($0, start + 1 + byteCount)
        }
    }

    /// Data or a text; nil if the object is neither or damaged.
    private func text(kind: UInt8, count: Int, at start: Int) -> PropertyValue? {
        let width = kind == 0x6 ? 2 : 1
        guard start <= tableOffset, count <= (tableOffset - start) / width else { return nil }
        let content = bytes[start..<start + count * width]
        switch kind {
        case 0x4: return .data(Data(content))
        case 0x5 where content.allSatisfy({ $0 < 0x80 }): return .string(String(decoding: content, as: UTF8.self))
        case 0x6:
            let units = stride(from: start, to: start + count * width, by: 2).map { place in
                UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
            }
            return .string(String(decoding: units, as: UTF16.self))
        default: return nil
        }
    }

    /// The numbers of an object's elements.
    private func members(count: Int, at start: Int, of index: Int) throws(StratusArchiveError) -> [Int] {
        guard start <= tableOffset, count <= (tableOffset - start) / referenceByteCount else { throw damaged(index) }
        return try (0..<count).map { element throws(StratusArchiveError) in
            let place = start + element * referenceByteCount
            let member = Self.number(in: bytes, at: place, byteCount: referenceByteCount, end: tableOffset)
            guard let member, member < objectCount else { throw damaged(index) }
            return member
        }
    }

    private mutating func dictionary(count: Int, at start: Int, of index: Int) throws(StratusArchiveError) -> Sized {
        // A count whose double overflows is larger than the data.
        guard count <= bytes.count else { throw damaged(index) }
        let members = try members(count: 2 * count, at: start, of: index)
        var pairs: [String: PropertyValue] = [:]
        var height = 0
        for (key, content) in zip(members[..<count], members[count...]) {
            guard let name = try value(of: key).value.string else { throw damaged(index) }
            let content = try value(of: content)
            // A second equal key would hide a value.
            guard pairs.updateValue(content.value, forKey: name) == nil else { throw damaged(index) }
            height = max(height, content.height)
        }
        return (.dictionary(pairs), height + 1)
    }
}

// Writes binary property lists.
//
// Invariant: equal lists give equal bytes. Keys of dictionaries are sorted, numbers are written in the fewest bytes,
// and the text of each key once.

/// A property list that is being written.
struct BinaryPropertyListWriter {
    /// An object's kind and content, or the numbers of its members, whose width is known only at the end.
    /// The bytes of an object, which the numbers of its members follow.
    private struct Object {
        var bytes: [UInt8] = []
        var members: [Int] = []
    }

    private var objects: [Object] = []
    private var keys: [String: Int] = [:]

    /// The bytes of a list.
    static func data(of list: PropertyValue) -> Data {
        var writer = BinaryPropertyListWriter()
        let top = writer.add(list)
        return writer.data(top: top)
    }

    private func data(top: Int) -> Data {
        let referenceByteCount = Self.byteCount(of: objects.count)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object.bytes
            for member in object.members { bytes += Self.big(member, referenceByteCount) }
        }
        let table = bytes.count
        let offsetByteCount = Self.byteCount(of: table)
        for offset in offsets { bytes += Self.big(offset, offsetByteCount) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetByteCount), UInt8(referenceByteCount)]
        bytes += Self.big(objects.count, 8) + Self.big(top, 8) + Self.big(table, 8)
        return Data(bytes)
    }

    private mutating func add(_ value: PropertyValue) -> Int {
        let index = objects.count
        switch value {
        case .array(let values):
            objects.append(Object(bytes: Self.head(0xA, values.count)))
            objects[index].members = values.map { add($0) }
        case .dictionary(let pairs):
            objects.append(Object(bytes: Self.head(0xD, pairs.count)))
            let pairs = pairs.sorted { $0.key < $1.key }
            let keys = pairs.map { addKey($0.key) }
            objects[index].members = keys + pairs.map { add($0.value) }
        default: objects.append(Object(bytes: Self.bytes(of: value)))
        }
        return index
    }

    /// Keys are names in this program: no two differ only in their normalisation.
    private mutating func addKey(_ key: String) -> Int {
        if let index = keys[key] { return index }
        let index = add(.string(key))
        keys[key] = index
        return index
    }

    private static func bytes(of value: PropertyValue) -> [UInt8] {
        switch value {
        case .null, .array, .dictionary: [0x00]
        case .bool(let flag): [flag ? 0x09 : 0x08]
        case .integer(let number): bytes(of: number)
        case .real(let number): [0x23] + big(number.bitPattern, 8)
        case .date(let seconds): [0x33] + big(seconds.bitPattern, 8)
        case .data(let data): head(0x4, data.count) + data
        case .string(let text): bytes(of: text)
        case .reference(let index):
            [0x80 | UInt8(byteCount(of: index) - 1)] + big(index, byteCount(of: index))
        }
    }

    /// Negative numbers take eight bytes, because shorter numbers are read as positive.
    private static func bytes(of number: Int64) -> [UInt8] {
        let byteCount = number < 0 ? 8 : byteCount(of: Int(number))
        return [0x10 | UInt8(byteCount.trailingZeroBitCount)] + big(UInt64(bitPattern: number), byteCount)
    }

    private static func bytes(of text: String) -> [UInt8] {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return head(0x5, text.utf8.count) + Array(text.utf8) }
        let units = Array(text.utf16)
        return head(0x6, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }

    private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xF] + bytes(of: Int64(count))
    }

    /// One, two, four or eight: the fewest bytes for a number that is not negative.
    private static func byteCount(of number: Int) -> Int {
        number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
    }

    private static func big(_ number: some FixedWidthInteger, _ byteCount: Int) -> [UInt8] {
        (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}

/// A value of a property list, including the references of keyed archives.
enum PropertyValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// Seconds since the beginning of 2001.
    case date(Double)
    case data(Data)
    case string(String)
    /// A reference to another object of the archive.
    case reference(Int)
    case array([PropertyValue])
    case dictionary([String: PropertyValue])

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var reference: Int? { if case .reference(let index) = self { index } else { nil } }
    var array: [PropertyValue]? { if case .array(let values) = self { values } else { nil } }
    var dictionary: [String: PropertyValue]? { if case .dictionary(let values) = self { values } else { nil } }

    /// A number as an integer; nil if it is not one.
    var number: Int64? {
        switch self {
        case .bool(let flag): flag ? 1 : 0
        case .integer(let number): number
        case .real(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// A number as a floating-point number.
    var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }
}
