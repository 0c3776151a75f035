// The values of the indexes that hold little more than their keys.

package import FoundationEssentials
package import StratusModel

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

// Which fields of a type a zone has in its indexes for queries, and how far the work on them has come.

/// What of a field is entered. The bits are stored; they never change.
package struct QueryIndexKinds: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The field's values.
    package static let values = QueryIndexKinds(rawValue: 1 << 0)
    /// Records without a value too, so that the entries alone give the order of all records.
    package static let missing = QueryIndexKinds(rawValue: 1 << 1)
    /// The words of the field's texts.
    package static let words = QueryIndexKinds(rawValue: 1 << 2)
    package static let all: QueryIndexKinds = [.values, .missing, .words]
}

/// How far the work on an index has come. The raw values are stored; they never change.
package enum QueryIndexPhase: UInt8, Hashable, Sendable, CaseIterable {
    /// All records of the type are entered.
    case ready = 1
    /// Records up to the type's position are entered, and all that were written since.
    case filling = 2
    /// Records up to the type's position are not entered any more, nor are those written since.
    case clearing = 3
}

/// One field's index.
package struct QueryIndexState: Hashable, Sendable {
    package var kinds: QueryIndexKinds
    package var phase: QueryIndexPhase

    package init(kinds: QueryIndexKinds, phase: QueryIndexPhase) {
        self.kinds = kinds
        self.phase = phase
    }
}

/// The indexes over one type's records in one zone. A field that is not named has no entries there.
///
/// Bytes: version 1 · number: fields · for each, in the byte order of names: text: field, byte: kinds, byte: phase ·
/// byte: 1 there is a position, else 0 · (1) text: position.
package struct QueryIndexesEntry: LayoutValue {
    package var fields: [FieldKey: QueryIndexState]
    /// The record, in the order of names, up to which the work in hand is done; nil before its beginning.
    package var position: RecordName?

    package init(fields: [FieldKey: QueryIndexState] = [:], position: RecordName? = nil) {
        self.fields = fields
        self.position = position
    }

    /// Whether there is work in hand.
    package var isUnfinished: Bool { fields.values.contains { $0.phase != .ready } }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: UInt64(fields.count), to: &bytes)
        for (key, state) in fields.sorted(by: { $0.key < $1.key }) {
            ValueWriter.append(key.text, to: &bytes)
            bytes.append(state.kinds.rawValue)
            bytes.append(state.phase.rawValue)
        }
        bytes.append(position == nil ? 0 : 1)
        if let position { ValueWriter.append(position.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "QueryIndexesEntry")
        try reader.expectVersion(1)
        fields = [:]
        var last: FieldKey?
        for _ in 0..<(try reader.readCount()) {
            let key = FieldKey(try reader.readText())
            if let last, !(last < key) { throw reader.corrupt("The fields of an index are not in order.") }
            last = key
            let kinds = QueryIndexKinds(rawValue: try reader.readByte())
            guard kinds.isSubset(of: .all), !kinds.isEmpty, let phase = QueryIndexPhase(rawValue: try reader.readByte())
            else { throw reader.corrupt("A state of an index is unknown.") }
            fields[key] = QueryIndexState(kinds: kinds, phase: phase)
        }
        switch try reader.readByte() {
        case 0: position = nil
        case 1: position = RecordName(try reader.readText())
        default: throw reader.corrupt("The mark of a position is neither 0 nor 1.")
        }
        try reader.expectEnd()
    }
}

// The work on indexes for queries that is still to be done, however often the process ends meanwhile.

/// A zone in which an index is being filled or cleared. Bytes: version 1 · UUID: identity.
package struct IndexBuildEntry: LayoutValue {
    /// The identity of the zone.
    package var identity: UUID

    package init(identity: UUID) { self.identity = identity }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "IndexBuildEntry")
        try reader.expectVersion(1)
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}

/// A record type whose indexes are not what its schema wants, in some zones of its container.
///
/// Bytes: version 1 · byte: 1 there is a last zone, else 0 · (1) numbers: database, zone.
package struct IndexReviewEntry: LayoutValue {
    /// The zone up to which the review has come, by the numbers of database and zone; nil before its beginning.
    package var last: (database: DatabaseNumber, zone: ZoneNumber)?

    package init(last: (database: DatabaseNumber, zone: ZoneNumber)? = nil) { self.last = last }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(last == nil ? 0 : 1)
        guard let last else { return }
        ValueWriter.append(number: last.database.rawValue, to: &bytes)
        ValueWriter.append(number: last.zone.rawValue, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "IndexReviewEntry")
        try reader.expectVersion(1)
        switch try reader.readByte() {
        case 0: last = nil
        case 1: last = (DatabaseNumber(try reader.readPositive()), ZoneNumber(try reader.readPositive()))
        default: throw reader.corrupt("The mark of a last zone is neither 0 nor 1.")
        }
        try reader.expectEnd()
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.last?.database == right.last?.database && left.last?.zone == right.last?.zone
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(last?.database)
        hasher.combine(last?.zone)
    }
}

// What stands for a zone while its indexes are rebuilt, however often the process ends meanwhile.

/// A zone whose indexes are being rebuilt. Bytes: version 1 · UUID: identity.
package struct RebuildEntry: LayoutValue {
    /// The identity of the zone.
    package var identity: UUID

    package init(identity: UUID) { self.identity = identity }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "RebuildEntry")
        try reader.expectVersion(1)
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}
