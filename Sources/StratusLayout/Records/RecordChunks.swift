// A record that is too large for one value lies in chunks: the first under the record's key, the others behind it.
//
// Byte layout:
//   first chunk   kind 3 · number: change sequence · number: how many chunks · number: bytes of the whole · bytes
//   later chunk   kind 4 · number: change sequence · number: index · bytes
//
// Invariants: the change sequence says which write a chunk belongs to, so that chunks of two writes are never joined.
// All chunks but the last are full. Joining checks sequence, index, number and length; anything else is corruption.
// The header of a record is below 5 kB, so the first chunk always holds it whole. A chunk does not say what it is of, so
// no error shows its bytes: they may be those of a share, with its secrets.

package import StratusModel

/// Splits large records and joins them again.
package enum RecordChunks {
    /// What stands before the bytes of a chunk, at most.
    private static let maximumHeaderByteCount = 32
    private static let contentByteCount = LayoutLimits.maximumChunkByteCount - maximumHeaderByteCount

    /// Whether an encoded record must be split.
    package static func needsSplit(_ value: [UInt8]) -> Bool { value.count > LayoutLimits.maximumChunkByteCount }

    /// The values to write for an encoded record: the value itself, or its chunks, the first under the record's key.
    ///
    /// `changeSequence` is the one in the record. Throws `.tooLarge` beyond `LayoutLimits`.
    package static func split(
        _ value: [UInt8], record: RecordName, changeSequence: UInt64
    ) throws(LayoutError) -> [[UInt8]] {
        guard needsSplit(value) else { return [value] }
        guard value.count <= maximumByteCount else {
            throw LayoutError(
                .tooLarge, "The record is too large: move content into assets or into further records.",
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

    static func count(in first: Span<UInt8>) throws(LayoutError) -> Int {
        guard try RecordValueKind(of: first) == .firstChunk else { return 1 }
        var reader = ValueReader(first, "RecordChunk", isSecret: true)
        return try readFirstHeader(&reader).count
    }

    /// The encoded record whose chunks are `chunks`, in order; a whole record is returned as it is.
    ///
    /// Throws `.corruptValue` when a chunk is missing, doubled, of another write or of another length.
    package static func join(_ chunks: [[UInt8]]) throws(LayoutError) -> [UInt8] {
        guard let first = chunks.first else {
            throw LayoutError(.corruptValue, "A record has no chunks: check or restore the store.")
        }
        var joiner = try Joiner(first.span)
        for chunk in chunks.dropFirst() { try joiner.append(chunk.span) }
        return try joiner.finish()
    }

    private static let maximumByteCount =
        LayoutLimits.maximumRecordByteCount + 2 * LayoutLimits.maximumRecordOverheadByteCount

    private static func chunkCount(ofByteCount byteCount: Int) -> Int {
        (byteCount + contentByteCount - 1) / contentByteCount
    }

    /// What the first chunk says about all.
    struct FirstHeader {
        var sequence: UInt64
        var count: Int
        var byteCount: Int
    }

    /// Reads what stands before the bytes of the first chunk; `reader` then stands at the record's first byte.
    static func readFirstHeader(_ reader: inout ValueReader) throws(LayoutError) -> FirstHeader {
        guard try reader.readByte() == RecordValueKind.firstChunk.rawValue else {
            throw reader.corrupt("The value is not the first chunk of a record.")
        }
        let sequence = try reader.readNumber()
        let count = try reader.readNumber()
        let byteCount = try reader.readNumber()
        guard byteCount > UInt64(LayoutLimits.maximumChunkByteCount), byteCount <= UInt64(maximumByteCount),
            count == UInt64(chunkCount(ofByteCount: Int(byteCount))), reader.remainingByteCount == contentByteCount
        else { throw reader.corrupt("The first chunk's numbers cannot be: check or restore the store.") }
        return FirstHeader(sequence: sequence, count: Int(count), byteCount: Int(byteCount))
    }
}

extension RecordChunks {
    /// Puts a record together from its chunks as a scan delivers them, checking each.
    package struct Joiner {
        private let first: FirstHeader?
        private var bytes: [UInt8]
        private var nextIndex = 1

        /// Begins with the value under the record's own key.
        package init(_ value: Span<UInt8>) throws(LayoutError) {
            guard try RecordValueKind(of: value) == .firstChunk else {
                first = nil
                bytes = [UInt8](copying: value)
                return
            }
            var reader = ValueReader(value, "RecordChunk", isSecret: true)
            let header = try RecordChunks.readFirstHeader(&reader)
            first = header
            bytes = []
            bytes.reserveCapacity(header.byteCount)
            bytes.append(copying: try reader.readSpan(byteCount: reader.remainingByteCount))
        }

        /// How many chunks are still to come.
        package var missingCount: Int { (first?.count ?? 1) - nextIndex }

        package mutating func append(_ chunk: Span<UInt8>) throws(LayoutError) {
            var reader = ValueReader(chunk, "RecordChunk", isSecret: true)
            guard let first, missingCount > 0 else { throw reader.corrupt("The record has more chunks than it says.") }
            guard try reader.readByte() == RecordValueKind.laterChunk.rawValue else {
                throw reader.corrupt("The value is not a later chunk of a record.")
            }
            guard try reader.readNumber() == first.sequence else {
                throw reader.corrupt("The chunk belongs to another write of the record.")
            }
            guard try reader.readNumber() == UInt64(nextIndex) else {
                throw reader.corrupt("A chunk of the record is missing or doubled.")
            }
            let expected = min(RecordChunks.contentByteCount, first.byteCount - bytes.count)
            guard reader.remainingByteCount == expected else { throw reader.corrupt("The chunk has another length.") }
            bytes.append(copying: try reader.readSpan(byteCount: expected))
            nextIndex += 1
        }

        /// The encoded record. Throws `.corruptValue` when a chunk is missing.
        package consuming func finish() throws(LayoutError) -> [UInt8] {
            guard missingCount == 0 else {
                throw .corruptSecret(
                    "Chunks of the record are missing: check or restore the store.", bytes.span, at: bytes.count,
                    in: "RecordChunk")
            }
            return bytes
        }
    }
}

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
