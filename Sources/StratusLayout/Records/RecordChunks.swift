// The limits of records, and records that are too large for one value: they are stored in chunks, the first under the
// record's key, the others under the next keys.
//
// Byte layout:
//   first chunk   kind 3 · number: change sequence · number: how many chunks · number: bytes of the whole · bytes
//   later chunk   kind 4 · number: change sequence · number: index · bytes
//
// Invariants: the change sequence identifies the write that a chunk belongs to, so that chunks of two writes are never
// joined. All chunks but the last are full. Joining checks sequence, index, number and length; a mismatch is
// corruption. The header of a record is below 5 kB, so the first chunk always holds it whole. A chunk does not name its
// record, so no error shows its bytes: it may be part of a share, with secrets.

package import StratusModel
package import StratusStore

/// The largest names, records and chunks of the format, in bytes. They keep every key and every value within what every
/// store accepts.
package enum LayoutLimits {
    /// The largest name of a record or token: 255 UTF-16 units (L-07), each at most three bytes of UTF-8.
    /// Two of them, a field key and a prefix stay below 2,048 bytes, the largest key of a store, NULs included.
    package static let maximumNameByteCount = 765
    /// The largest record type, zone name or field key: 255 ASCII characters (L-08, L-09).
    package static let maximumSchemaNameByteCount = 255
    /// The largest live record: 1 MB of content (L-03).
    package static let maximumRecordByteCount = 1_000_000
    /// The most that names, system fields and lengths add to the content of a record.
    package static let maximumRecordOverheadByteCount = 200_000
    /// The most bytes that the fields of one record take in storage.
    package static let maximumFieldsByteCount = maximumRecordByteCount + maximumRecordOverheadByteCount
    /// The largest value written under one key; a larger record is split into chunks.
    package static let maximumChunkByteCount = 100_000
}

/// Splits large records and joins them again.
package enum RecordChunks {
    /// The most bytes before the content of a chunk.
    private static let maximumHeaderByteCount = 32
    private static let contentByteCount = LayoutLimits.maximumChunkByteCount - maximumHeaderByteCount

    /// The values to write for an encoded record: the value itself, or its chunks, the first under the record's key.
    ///
    /// `changeSequence` is that of the record. Throws `.invalidRequest` beyond `LayoutLimits`.
    package static func split(
        _ value: [UInt8], record: RecordName, changeSequence: UInt64
    ) throws(StoreError) -> [[UInt8]] {
        guard value.count > LayoutLimits.maximumChunkByteCount else { return [value] }
        guard value.count <= maximumByteCount else {
            throw StoreError(
                .invalidRequest, "The record is too large: move content into assets or into further records.",
                ["record": record.text, "byteCount": "\(value.count)", "limit": "\(maximumByteCount)"])
        }
        let count = chunkCount(ofByteCount: value.count)
        var chunks: [[UInt8]] = []
        for index in 0..<count {
            var chunk: [UInt8] = []
            let range = index * contentByteCount..<min((index + 1) * contentByteCount, value.count)
            chunk.reserveCapacity(maximumHeaderByteCount + range.count)
            chunk.append((index == 0 ? RecordValueKind.firstChunk : .laterChunk).rawValue)
            ValueWriter.append(number: changeSequence, to: &chunk)
            ValueWriter.append(number: UInt64(index == 0 ? count : index), to: &chunk)
            if index == 0 { ValueWriter.append(number: UInt64(value.count), to: &chunk) }
            chunk.append(contentsOf: value[range])
            chunks.append(chunk)
        }
        return chunks
    }

    /// Joins chunks, in order, into the encoded record. A whole record is returned unchanged.
    ///
    /// Throws `.corruption` if a chunk is missing, doubled, of another write or of another length.
    package static func join(_ chunks: [[UInt8]]) throws(StoreError) -> [UInt8] {
        guard let first = chunks.first else {
            throw StoreError(.corruption, "A record has no chunks: check or restore the store.", damage: .entry)
        }
        var reader = ValueReader(first.span, RecordChunks.self, isSecret: true)
        guard try RecordValueKind(of: first.span) == .firstChunk else {
            guard chunks.count == 1 else { throw reader.corrupt("The record has more chunks than it says.") }
            return first
        }
        let header = try readFirstHeader(&reader)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(header.byteCount)
        bytes.append(copying: try reader.readSpan(byteCount: reader.remainingByteCount))
        for (index, chunk) in chunks.enumerated().dropFirst() {
            try append(chunk.span, index: index, of: header, to: &bytes)
        }
        guard chunks.count == header.count else {
            throw .corruptSecret(
                "Chunks of the record are missing: check or restore the store.", bytes.span, at: bytes.count,
                in: "RecordChunks")
        }
        return bytes
    }

    /// Appends the content of a later chunk, with all checks.
    private static func append(
        _ chunk: Span<UInt8>, index: Int, of header: FirstHeader, to bytes: inout [UInt8]
    ) throws(StoreError) {
        var reader = ValueReader(chunk, RecordChunks.self, isSecret: true)
        guard index < header.count else { throw reader.corrupt("The record has more chunks than it says.") }
        guard try reader.readByte() == RecordValueKind.laterChunk.rawValue else {
            throw reader.corrupt("The value is not a later chunk of a record.")
        }
        guard try reader.readNumber() == header.sequence else {
            throw reader.corrupt("The chunk belongs to another write of the record.")
        }
        guard try reader.readNumber() == UInt64(index) else {
            throw reader.corrupt("A chunk of the record is missing or doubled.")
        }
        let expected = min(contentByteCount, header.byteCount - bytes.count)
        guard reader.remainingByteCount == expected else { throw reader.corrupt("The chunk has another length.") }
        bytes.append(copying: try reader.readSpan(byteCount: expected))
    }

    private static let maximumByteCount =
        LayoutLimits.maximumRecordByteCount + 2 * LayoutLimits.maximumRecordOverheadByteCount

    private static func chunkCount(ofByteCount byteCount: Int) -> Int {
        (byteCount + contentByteCount - 1) / contentByteCount
    }

    /// The numbers in the first chunk, which describe all chunks.
    struct FirstHeader {
        var sequence: UInt64
        var count: Int
        var byteCount: Int
    }

    /// Reads the numbers of the first chunk. The record's first byte comes next.
    static func readFirstHeader(_ reader: inout ValueReader) throws(StoreError) -> FirstHeader {
        guard try reader.readByte() == RecordValueKind.firstChunk.rawValue else {
            throw reader.corrupt("The value is not the first chunk of a record.")
        }
        let sequence = try reader.readNumber()
        let count = try reader.readNumber()
        let byteCount = try reader.readNumber()
        guard byteCount > UInt64(LayoutLimits.maximumChunkByteCount), byteCount <= UInt64(maximumByteCount),
            count == UInt64(chunkCount(ofByteCount: Int(byteCount))), reader.remainingByteCount == contentByteCount
        else { throw reader.corrupt("The first chunk's numbers cannot be right: check or restore the store.") }
        return FirstHeader(sequence: sequence, count: Int(count), byteCount: Int(byteCount))
    }
}
