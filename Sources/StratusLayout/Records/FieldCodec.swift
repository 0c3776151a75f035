// The bytes of one field's value. Every bit of a number is kept: NaN payloads, -0.0, the whole range of Int64.
//
// Byte layout, by type (the length comes first, so no value marks its own end):
//   string     UTF-8                          location   8 doubles: latitude, longitude, altitude, horizontal and
//   int64      8 bytes, big-endian                       vertical accuracy, course, speed, timestamp
//   double     8 bytes, big-endian bits       reference  action byte, then the target's UTF-8
//   date       as a double                    asset      32 bytes of digest, 8 bytes of size
//   bytes      the bytes                      list       type byte of the items (0 when empty), then each item:
//                                                        number (how many bytes), its bytes

import FoundationEssentials
import StratusModel
import StratusStore

/// The type byte of a field's value. The raw values are stored: they never change.
enum FieldTypeByte: UInt8, CaseIterable {
    case string = 1
    case int64 = 2
    case double = 3
    case date = 4
    case bytes = 5
    case location = 6
    case reference = 7
    case asset = 8
    case list = 9

    /// Set in the type byte of a field that is marked as encrypted.
    static let encryptedBit: UInt8 = 0x80

    init(of value: FieldValue) {
        switch value {
        case .string: self = .string
        case .int64: self = .int64
        case .double: self = .double
        case .date: self = .date
        case .bytes: self = .bytes
        case .location: self = .location
        case .reference: self = .reference
        case .asset: self = .asset
        case .list: self = .list
        }
    }
}

/// Encodes and decodes values of fields.
enum FieldCodec {
    private static let digestByteCount = 32
    private static let locationByteCount = 64
    /// The numbers of a location, in the order of their bytes.
    private static let locationNumbers: [any WritableKeyPath<Location, Double> & Sendable] = [
        \.latitudeDegrees, \.longitudeDegrees, \.altitudeMetres, \.horizontalAccuracyMetres,
        \.verticalAccuracyMetres, \.courseDegrees, \.speedMetresPerSecond,
    ]

    /// The number of bytes of a value. Throws `.invalidRequest` for one that cannot be stored.
    static func byteCount(_ value: FieldValue) throws(StoreError) -> Int {
        switch value {
        case .string(let text): return text.utf8.count
        case .int64, .double, .date: return 8
        case .bytes(let bytes): return bytes.count
        case .location: return locationByteCount
        case .reference(let reference): return 1 + reference.target.text.utf8.count
        case .asset(let asset):
            guard asset.digest.count == digestByteCount else {
                throw StoreError(
                    .invalidRequest, "The digest of an asset has 32 bytes: pass the SHA-256 of its content.",
                    ["byteCount": "\(asset.digest.count)"])
            }
            return digestByteCount + 8
        case .list(let items):
            var count = 1
            for item in items {
                let itemByteCount = try itemByteCount(item, in: items)
                count += numberByteCount(UInt64(itemByteCount)) + itemByteCount
            }
            return count
        }
    }

    /// Appends a value that `byteCount` accepted.
    static func append(_ value: FieldValue, to bytes: inout [UInt8]) throws(StoreError) {
        switch value {
        case .string(let text): bytes.append(contentsOf: text.utf8)
        case .int64(let number): ValueWriter.append(fixed: UInt64(bitPattern: number), to: &bytes)
        case .double(let number): ValueWriter.append(fixed: number.bitPattern, to: &bytes)
        case .date(let date): ValueWriter.append(date, to: &bytes)
        case .bytes(let content): bytes.append(contentsOf: content)
        case .location(let location): append(location, to: &bytes)
        case .reference(let reference):
            bytes.append(reference.action.rawValue)
            bytes.append(contentsOf: reference.target.text.utf8)
        case .asset(let asset):
            bytes.append(contentsOf: asset.digest)
            ValueWriter.append(fixed: UInt64(bitPattern: asset.byteCount), to: &bytes)
        case .list(let items):
            bytes.append(items.first.map { FieldTypeByte(of: $0).rawValue } ?? 0)
            for item in items {
                ValueWriter.append(number: UInt64(try itemByteCount(item, in: items)), to: &bytes)
                try append(item, to: &bytes)
            }
        }
    }

    /// Reads the value in the next `byteCount` bytes.
    static func read(
        _ type: FieldTypeByte, byteCount: Int, _ reader: inout ValueReader
    ) throws(StoreError) -> FieldValue {
        switch type {
        case .string: return .string(try reader.readText(byteCount: byteCount))
        case .bytes: return .bytes([UInt8](copying: try reader.readSpan(byteCount: byteCount)))
        case .reference: return .reference(try readReference(byteCount: byteCount, &reader))
        case .list: return .list(try readList(byteCount: byteCount, &reader))
        case .int64:
            try expect(byteCount, 8, reader)
            return .int64(Int64(bitPattern: try reader.readFixed64()))
        case .double:
            try expect(byteCount, 8, reader)
            return .double(Double(bitPattern: try reader.readFixed64()))
        case .date:
            try expect(byteCount, 8, reader)
            return .date(try reader.readDate())
        case .location:
            try expect(byteCount, locationByteCount, reader)
            return .location(try readLocation(&reader))
        case .asset:
            try expect(byteCount, digestByteCount + 8, reader)
            let digest = [UInt8](copying: try reader.readSpan(byteCount: digestByteCount))
            let size = Int64(bitPattern: try reader.readFixed64())
            return .asset(AssetDescriptor(digest: digest, byteCount: size))
        }
    }

    static func readReference(
        byteCount: Int, _ reader: inout ValueReader
    ) throws(StoreError) -> RecordReference {
        guard byteCount >= 1 else { throw reader.corrupt("A reference is empty.") }
        let action: ReferenceAction = try reader.readCase("No reference action has this number.")
        return RecordReference(target: RecordName(try reader.readText(byteCount: byteCount - 1)), action: action)
    }

    /// Reads the type of a list's items; nil if it is empty. The first item's length comes next.
    private static func readItemType(byteCount: Int, _ reader: inout ValueReader) throws(StoreError) -> FieldTypeByte? {
        guard byteCount >= 1 else { throw reader.corrupt("A list has no bytes.") }
        let number = try reader.readByte()
        guard number != 0 || byteCount == 1 else { throw reader.corrupt("An empty list has items.") }
        guard number != 0 else { return nil }
        guard let type = FieldTypeByte(rawValue: number), type != .list else {
            throw reader.corrupt("No item of a list has this type.")
        }
        guard byteCount > 1 else { throw reader.corrupt("A list without items has a type.") }
        return type
    }

    private static func readList(byteCount: Int, _ reader: inout ValueReader) throws(StoreError) -> [FieldValue] {
        var items: [FieldValue] = []
        try forEachItem(byteCount: byteCount, &reader) { type, itemByteCount, reader throws(StoreError) in
            items.append(try read(type, byteCount: itemByteCount, &reader))
        }
        return items
    }

    /// Calls `body` for every item of a list, with its type and length. `body` reads the item. Skips a list of other
    /// items than the wanted ones.
    static func forEachItem(
        byteCount: Int, only wanted: FieldTypeByte? = nil, _ reader: inout ValueReader,
        _ body: (FieldTypeByte, Int, inout ValueReader) throws(StoreError) -> Void
    ) throws(StoreError) {
        let end = reader.position + byteCount
        guard let type = try readItemType(byteCount: byteCount, &reader) else { return }
        guard wanted == nil || wanted == type else { return try reader.skip(byteCount: end - reader.position) }
        while reader.position < end {
            let itemByteCount = try reader.readCount()
            guard itemByteCount <= end - reader.position else { throw reader.corrupt("A list's item is too long.") }
            try body(type, itemByteCount, &reader)
        }
    }

    private static func expect(
        _ byteCount: Int, _ expected: Int, _ reader: borrowing ValueReader
    ) throws(StoreError) {
        guard byteCount == expected else { throw reader.corrupt("The length of a value does not fit its type.") }
    }

    /// The length of an item, which must have the type of the first item and be no list.
    private static func itemByteCount(_ item: FieldValue, in items: [FieldValue]) throws(StoreError) -> Int {
        let type = FieldTypeByte(of: item)
        guard type != .list, let first = items.first, FieldTypeByte(of: first) == type else {
            throw StoreError(.invalidRequest, "A list holds values of one kind, and no lists: split or convert it.")
        }
        return try byteCount(item)
    }

    /// The number of bytes that `ValueWriter` writes for a number.
    static func numberByteCount(_ number: UInt64) -> Int {
        max(1, (UInt64.bitWidth - number.leadingZeroBitCount + 6) / 7)
    }

    private static func append(_ location: Location, to bytes: inout [UInt8]) {
        for number in locationNumbers {
            ValueWriter.append(fixed: location[keyPath: number].bitPattern, to: &bytes)
        }
        ValueWriter.append(location.timestamp, to: &bytes)
    }

    private static func readLocation(_ reader: inout ValueReader) throws(StoreError) -> Location {
        var location = Location(latitudeDegrees: 0, longitudeDegrees: 0, timestamp: .distantPast)
        for number in locationNumbers { location[keyPath: number] = Double(bitPattern: try reader.readFixed64()) }
        location.timestamp = try reader.readDate()
        return location
    }
}

/// A field of an encoded record. Read or skip `byteCount` bytes before you ask for the next one.
struct FieldEntry {
    let keyRange: Range<Int>
    let type: FieldTypeByte
    let isEncrypted: Bool
    let byteCount: Int

    func key(_ reader: borrowing ValueReader) throws(StoreError) -> String {
        String(copying: try keyText(reader))
    }

    @_lifetime(copy reader)
    func keyText(_ reader: borrowing ValueReader) throws(StoreError) -> UTF8Span {
        guard let text = try? UTF8Span(validating: reader.bytes.extracting(keyRange)) else {
            throw reader.corrupt("The key of a field is not UTF-8.")
        }
        return text
    }

    /// Whether the key has the bytes of `text`. Canonically equivalent keys differ.
    func hasKey(_ text: String, _ reader: borrowing ValueReader) -> Bool {
        let key = text.utf8
        guard key.count == keyRange.count else { return false }
        var position = keyRange.lowerBound
        for byte in key {
            guard reader.bytes[position] == byte else { return false }
            position += 1
        }
        return true
    }
}

/// Steps from field to field of an encoded record, and checks keys and lengths. Keys must ascend strictly.
struct FieldCursor {
    private(set) var remainingCount: Int
    private var previousKey: Range<Int>?

    init(count: Int) { remainingCount = count }

    mutating func next(_ reader: inout ValueReader) throws(StoreError) -> FieldEntry? {
        guard remainingCount > 0 else { return nil }
        remainingCount -= 1
        let keyByteCount = try reader.readCount()
        let keyRange = reader.position..<reader.position + keyByteCount
        try reader.skip(byteCount: keyByteCount)
        if let previousKey, !Self.precedes(previousKey, keyRange, reader.bytes) {
            throw reader.corrupt("The fields are not in the order of their keys.")
        }
        previousKey = keyRange
        let typeByte = try reader.readByte()
        guard let type = FieldTypeByte(rawValue: typeByte & ~FieldTypeByte.encryptedBit) else {
            throw reader.corrupt("No field has this type: it is damaged, or written by newer software.")
        }
        return FieldEntry(
            keyRange: keyRange, type: type, isEncrypted: typeByte & FieldTypeByte.encryptedBit != 0,
            byteCount: try reader.readCount())
    }

    private static func precedes(_ left: Range<Int>, _ right: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
        for offset in 0..<min(left.count, right.count) {
            let (l, r) = (bytes[left.lowerBound + offset], bytes[right.lowerBound + offset])
            if l != r { return l < r }
        }
        return left.count < right.count
    }
}
