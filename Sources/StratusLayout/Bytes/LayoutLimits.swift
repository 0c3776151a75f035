// Named limits of the format. Together they keep every key and every value within what every store accepts.

/// The largest names, records and chunks the format holds, in bytes.
package enum LayoutLimits {
    /// The largest name of a record or token: 255 UTF-16 units (L-07), each at most three bytes of UTF-8.
    /// Two of them, a field key and a prefix stay below 2,048 bytes, the largest key of a store, NULs included.
    package static let maximumNameByteCount = 765
    /// The largest record type, zone name or field key: 255 ASCII characters (L-08, L-09).
    package static let maximumSchemaNameByteCount = 255
    /// The largest value, as a tuple element, that a field index may hold; longer ones are cut by their maintainer.
    package static let maximumIndexedValueByteCount = 700
    /// The largest live record: 1 MB of content (L-03).
    package static let maximumRecordByteCount = 1_000_000
    /// What names, system fields and lengths may add to the content of a record.
    package static let maximumRecordOverheadByteCount = 200_000
    /// What the fields of one record take at most as they are stored.
    package static let maximumFieldsByteCount = maximumRecordByteCount + maximumRecordOverheadByteCount
    /// The largest value written under one key; a larger record is split into chunks.
    package static let maximumChunkByteCount = 100_000
}
