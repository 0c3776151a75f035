// The values of the indexes that hold little more than their keys.

/// Since when a child has been one. Bytes: version 1 · byte: 1 when it has children, else 0 · number: since.
package struct ChildEntry: LayoutValue {
    /// The change with which the child got this parent.
    package var since: UInt64
    /// Whether the child has children itself, so that a walk of a tree looks only where something is.
    package var hasChildren: Bool

    package init(since: UInt64, hasChildren: Bool) {
        self.since = since
        self.hasChildren = hasChildren
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(hasChildren ? 1 : 0)
        ValueWriter.append(number: since, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ChildEntry")
        try reader.expectVersion(1)
        let flag = try reader.readByte()
        guard flag <= 1 else { throw reader.corrupt("A flag of the entry is unknown.") }
        hasChildren = flag == 1
        since = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// How many share roots lie at or below a record. Bytes: version 1 · number: count.
package struct ShareCountEntry: LayoutValue {
    package var count: UInt64

    package init(count: UInt64) { self.count = count }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: count, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ShareCountEntry")
        try reader.expectVersion(1)
        count = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// An index entry whose key says all. Bytes: version 1.
package struct EmptyEntry: LayoutValue {
    package init() {}

    package func append(to bytes: inout [UInt8]) { bytes.append(1) }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "EmptyEntry")
        try reader.expectVersion(1)
        try reader.expectEnd()
    }
}

/// The entry of the references keyspace.
package typealias ReferenceEntry = EmptyEntry
/// The entry of the indexing keyspace.
package typealias IndexingEntry = EmptyEntry
/// The entry of the types keyspace.
package typealias TypeEntry = EmptyEntry

extension ValueReader {
    /// Reads a number that is never 0.
    mutating func readPositive() throws(LayoutError) -> UInt64 {
        let number = try readNumber()
        guard number >= 1 else { throw corrupt("A number that is at least 1 is 0.") }
        return number
    }
}
