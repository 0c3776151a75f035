// The ledger of assets: which contents of an owner are in use.

/// How often an owner's records hold a content. Bytes: version 1 · number: count · number: how many bytes it has.
///
/// There is no entry for content that no record holds.
package struct AssetEntry: LayoutValue {
    /// At least 1.
    package var count: UInt64
    package var byteCount: Int64

    package init(count: UInt64, byteCount: Int64) {
        self.count = count
        self.byteCount = byteCount
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: count, to: &bytes)
        ValueWriter.append(number: UInt64(bitPattern: byteCount), to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "AssetEntry")
        try reader.expectVersion(1)
        count = try reader.readPositive()
        guard let size = Int64(exactly: try reader.readNumber()) else {
            throw reader.corrupt("The size of a content is negative.")
        }
        byteCount = size
        try reader.expectEnd()
    }
}
