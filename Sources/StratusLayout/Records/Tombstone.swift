// What a deleted record leaves under its own key, so that one read answers live, deleted or never seen.

package import StratusModel

/// A deleted record.
///
/// Bytes: kind 2 · version 1 · flags (1 had a parent) · text: type · number: sequence ·
/// date: deleted · text: deleter · (1) text: parent.
package struct Tombstone: LayoutValue {
    /// The sequence of the deletion in the zone's feed.
    package var sequence: UInt64
    package var type: RecordType
    /// The parent the record had when it was deleted.
    package var parent: RecordName?
    package var deleted: Stamp

    package init(sequence: UInt64, type: RecordType, parent: RecordName?, deleted: Stamp) {
        self.sequence = sequence
        self.type = type
        self.parent = parent
        self.deleted = deleted
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(RecordValueKind.tombstone.rawValue)
        bytes.append(1)
        bytes.append(parent == nil ? 0 : 1)
        ValueWriter.append(type.text, to: &bytes)
        ValueWriter.append(number: sequence, to: &bytes)
        ValueWriter.append(deleted.date, to: &bytes)
        ValueWriter.append(deleted.user.text, to: &bytes)
        if let parent { ValueWriter.append(parent.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "Tombstone")
        guard try reader.readByte() == RecordValueKind.tombstone.rawValue else {
            throw reader.corrupt("The value is not a tombstone.")
        }
        try reader.expectVersion(1)
        let flags = try reader.readByte()
        guard flags <= 1 else { throw reader.corrupt("A flag of the tombstone is unknown.") }
        type = RecordType(try reader.readText())
        sequence = try reader.readNumber()
        deleted = Stamp(date: try reader.readDate(), user: UserName(try reader.readText()))
        parent = flags == 1 ? RecordName(try reader.readText()) : nil
        try reader.expectEnd()
    }
}
