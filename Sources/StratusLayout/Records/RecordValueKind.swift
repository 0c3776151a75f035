// The first byte of every value in the records keyspace.

/// What lies under a key of the records keyspace. The raw values are stored: they never change.
package enum RecordValueKind: UInt8, Hashable, Sendable, CaseIterable {
    /// A live record, whole.
    case live = 1
    case tombstone = 2
    /// The first chunk of a live record too large for one value; the other chunks lie under the keys behind.
    case firstChunk = 3
    /// A later chunk.
    case laterChunk = 4

    /// What `value` is. Throws `.corruptValue` when it is empty or begins with no kind's number.
    package init(of value: Span<UInt8>) throws(LayoutError) {
        guard !value.isEmpty, let kind = RecordValueKind(rawValue: value[0]) else {
            throw .corruptValue(
                "The value is no record, tombstone or chunk: check or restore the store.", value, at: 0, in: "Record")
        }
        self = kind
    }
}
