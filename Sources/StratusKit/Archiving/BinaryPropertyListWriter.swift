// Writes binary property lists; see BinaryPropertyList for the format.
//
// Invariant: equal lists give equal bytes. Keys of dictionaries are written in their order, numbers in as few bytes as
// hold them, and the texts of keys once.

import Foundation

/// A property list that is being written.
struct BinaryPropertyListWriter {
    /// An object's kind and content, or the numbers of its members, whose width is not known before all are there.
    private enum Object {
        case plain([UInt8])
        case container(head: [UInt8], members: [Int])
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
            switch object {
            case .plain(let content): bytes += content
            case .container(let head, let members):
                bytes += head
                for member in members { bytes += Self.big(member, referenceByteCount) }
            }
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
            objects.append(.plain([]))
            let members = values.map { add($0) }
            objects[index] = .container(head: Self.head(0xA, members.count), members: members)
        case .dictionary(let pairs):
            objects.append(.plain([]))
            let pairs = pairs.sorted { $0.key < $1.key }
            let keys = pairs.map { addKey($0.key) }
            let values = pairs.map { add($0.value) }
            objects[index] = .container(head: Self.head(0xD, pairs.count), members: keys + values)
        default: objects.append(.plain(Self.bytes(of: value)))
        }
        return index
    }

    /// Keys are names of this program: none differs from another in its normalisation alone.
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

    /// Negative numbers have eight bytes: shorter ones are read as positive.
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

    /// One, two, four or eight: as many as hold a number that is not negative.
    private static func byteCount(of number: Int) -> Int {
        number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
    }

    private static func big(_ number: Int, _ byteCount: Int) -> [UInt8] {
        big(UInt64(number), byteCount)
    }

    private static func big(_ number: UInt64, _ byteCount: Int) -> [UInt8] {
        (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: number >> (UInt64($0) * 8)) }
    }
}
