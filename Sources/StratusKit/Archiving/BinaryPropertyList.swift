// Reads binary property lists that anybody may have written.
//
// The format: eight bytes "bplist00"; objects, each a byte of kind and size and its content, in which other objects are
// named by number; a table with the offset of every object; 32 bytes of trailer that say where the table is. Numbers
// are big-endian.
//
// Invariants: no byte is read outside of the data; every read is paid from a budget that grows with the size of the
// data, because objects may be named many times; nesting is bounded. Whatever is wrong is thrown, and nothing traps.

import Foundation

/// A binary property list, read without trust.
struct BinaryPropertyList {
    /// A keyed archive nests five deep.
    private static let depthLimit = 16
    private static let trailerByteCount = 32
    private static let header = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let topObject: Int
    private let tableOffset: Int
    private var budget: Int

    /// Reads the whole list.
    static func value(of data: Data) throws(StratusArchiveError) -> PropertyValue {
        var reader = try BinaryPropertyList([UInt8](data))
        return try reader.value(of: reader.topObject, depth: 0)
    }

    private init(_ bytes: [UInt8]) throws(StratusArchiveError) {
        let trailer = bytes.count - Self.trailerByteCount
        guard trailer >= Self.header.count, bytes.starts(with: Self.header) else {
            throw StratusArchiveError(.notAnArchive, "This is no binary property list.")
        }
        self.bytes = bytes
        budget = 4_096 + 16 * bytes.count
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
        self.topObject = topObject
        self.tableOffset = tableOffset
    }

    /// A number of up to eight bytes that lies before `end` and fits an `Int`.
    private static func number(in bytes: [UInt8], at offset: Int, byteCount: Int, end: Int) -> Int? {
        bits(in: bytes, at: offset, byteCount: byteCount, end: end).flatMap { Int(exactly: $0) }
    }

    private static func bits(in bytes: [UInt8], at offset: Int, byteCount: Int, end: Int) -> UInt64? {
        guard offset >= 0, (1...8).contains(byteCount), offset <= end - byteCount else { return nil }
        var bits: UInt64 = 0
        for place in offset..<offset + byteCount { bits = bits << 8 | UInt64(bytes[place]) }
        return bits
    }

    private mutating func pay(_ cost: Int) throws(StratusArchiveError) {
        // A cost is never more than the data is long, so that it cannot overflow.
        budget -= cost
        if budget < 0 { throw StratusArchiveError(.damaged, "The property list names its objects too often.") }
    }

    private func damaged(_ index: Int) -> StratusArchiveError {
        StratusArchiveError(.damaged, "An object of the property list is damaged.", ["object": "\(index)"])
    }

    private mutating func value(of index: Int, depth: Int) throws(StratusArchiveError) -> PropertyValue {
        guard depth < Self.depthLimit else {
            throw StratusArchiveError(.damaged, "The property list nests too deep.")
        }
        try pay(1)
        let place = tableOffset + index * offsetByteCount
        guard index < objectCount,
            let offset = Self.number(in: bytes, at: place, byteCount: offsetByteCount, end: bytes.count),
            offset >= Self.header.count, offset < tableOffset
        else { throw damaged(index) }
        let kind = bytes[offset] >> 4
        let size = Int(bytes[offset] & 0x0F)
        switch kind {
        case 0x0, 0x1, 0x2, 0x3, 0x8:
            guard let value = scalar(kind: kind, size: size, at: offset + 1) else { throw damaged(index) }
            return value
        case 0x4, 0x5, 0x6, 0xA, 0xD:
            guard let (count, start) = count(size: size, at: offset + 1) else { throw damaged(index) }
            switch kind {
            case 0xA: return .array(try values(count: count, at: start, of: index, depth: depth))
            case 0xD: return .dictionary(try pairs(count: count, at: start, of: index, depth: depth))
            default: return try text(kind: kind, count: count, at: start, of: index)
            }
        default:
            throw damaged(index)
        }
    }

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
        // Sixteen bytes hold what is larger than the largest signed number: a value that no record has.
        case (0x1, 4): return bits(8) == 0 ? bits(8, 8).map { .real(Double($0)) } : nil
        case (0x2, 2): return bits(4).map { .real(Double(Float(bitPattern: UInt32($0)))) }
        case (0x2, 3): return bits(8).map { .real(Double(bitPattern: $0)) }
        case (0x3, 3): return bits(8).map { .date(Double(bitPattern: $0)) }
        case (0x8, 0...7): return bits(size + 1).flatMap { Int(exactly: $0) }.map { .reference($0) }
        default: return nil
        }
    }

    /// How many elements an object has, and where they begin.
    private func count(size: Int, at start: Int) -> (count: Int, start: Int)? {
        guard size == 0x0F else { return (size, start) }
        guard start < tableOffset, bytes[start] >> 4 == 0x1, bytes[start] & 0x0F <= 3 else { return nil }
        let byteCount = 1 << Int(bytes[start] & 0x0F)
        return Self.number(in: bytes, at: start + 1, byteCount: byteCount, end: tableOffset).map {
            ($0, start + 1 + byteCount)
        }
    }

    private mutating func text(
        kind: UInt8, count: Int, at start: Int, of index: Int
    ) throws(StratusArchiveError) -> PropertyValue {
        let width = kind == 0x6 ? 2 : 1
        guard start <= tableOffset, count <= (tableOffset - start) / width else { throw damaged(index) }
        try pay(count * width)
        let content = bytes[start..<start + count * width]
        switch kind {
        case 0x4: return .data(Data(content))
        case 0x5:
            guard content.allSatisfy({ $0 < 0x80 }) else { throw damaged(index) }
            return .string(String(decoding: content, as: UTF8.self))
        default:
            let units = stride(from: start, to: start + count * width, by: 2).map { place in
                UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
            }
            return .string(String(decoding: units, as: UTF16.self))
        }
    }

    /// The numbers of objects in a container.
    private mutating func members(count: Int, at start: Int, of index: Int) throws(StratusArchiveError) -> [Int] {
        guard start <= tableOffset, count <= (tableOffset - start) / referenceByteCount else { throw damaged(index) }
        try pay(count * referenceByteCount)
        var members: [Int] = []
        members.reserveCapacity(count)
        for element in 0..<count {
            let place = start + element * referenceByteCount
            let member = Self.number(in: bytes, at: place, byteCount: referenceByteCount, end: tableOffset)
            guard let member, member < objectCount else { throw damaged(index) }
            members.append(member)
        }
        return members
    }

    private mutating func values(
        count: Int, at start: Int, of index: Int, depth: Int
    ) throws(StratusArchiveError) -> [PropertyValue] {
        var values: [PropertyValue] = []
        for member in try members(count: count, at: start, of: index) {
            values.append(try value(of: member, depth: depth + 1))
        }
        return values
    }

    private mutating func pairs(
        count: Int, at start: Int, of index: Int, depth: Int
    ) throws(StratusArchiveError) -> [String: PropertyValue] {
        // A count whose double overflows is larger than the data.
        guard count <= bytes.count else { throw damaged(index) }
        let members = try members(count: 2 * count, at: start, of: index)
        var pairs: [String: PropertyValue] = [:]
        for (key, content) in zip(members[..<count], members[count...]) {
            guard case .string(let name) = try value(of: key, depth: depth + 1) else { throw damaged(index) }
            pairs[name] = try value(of: content, depth: depth + 1)
        }
        return pairs
    }
}
