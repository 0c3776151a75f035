// Walks over the fields of an encoded record: keys and lengths are checked, values are left to the caller.

import StratusModel

/// Where a field lies and what it is. The caller reads or skips `byteCount` bytes before it asks for the next one.
struct FieldEntry {
    let keyRange: Range<Int>
    let type: FieldType
    let isEncrypted: Bool
    let byteCount: Int

    func key(_ reader: borrowing ValueReader) throws(LayoutError) -> String {
        guard let text = try? UTF8Span(validating: reader.bytes.extracting(keyRange)) else {
            throw reader.corrupt("The key of a field is not UTF-8.")
        }
        return String(copying: text)
    }

    func isKey(_ key: FieldKey, _ reader: borrowing ValueReader) -> Bool {
        let utf8 = key.text.utf8
        guard utf8.count == keyRange.count else { return false }
        var position = keyRange.lowerBound
        for byte in utf8 {
            guard reader.bytes[position] == byte else { return false }
            position += 1
        }
        return true
    }
}

/// Steps from field to field; keys must ascend strictly.
struct FieldCursor {
    private(set) var remainingCount: Int
    private var previousKey: Range<Int>?

    init(count: Int) { remainingCount = count }

    mutating func next(_ reader: inout ValueReader) throws(LayoutError) -> FieldEntry? {
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
        guard let type = FieldType(rawValue: typeByte & ~FieldType.encryptedBit) else {
            throw reader.corrupt("No field has this type: it is damaged, or written by newer software.")
        }
        return FieldEntry(
            keyRange: keyRange, type: type, isEncrypted: typeByte & FieldType.encryptedBit != 0,
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
