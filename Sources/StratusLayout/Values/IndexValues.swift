// The values of indexes: entries whose key is all they say, the indexed fields of a zone, and the work on indexes that
// is not done yet. Pending work is stored, so that it survives the end of the process.

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// An index entry without content: its key has everything. Bytes: version 1.
package struct EmptyEntry: VersionedValue {
    package init() {}

    package func appendParts(to bytes: inout [UInt8]) {}

    package init(parts reader: inout ValueReader) throws(StoreError) {}
}

/// The parts of a field that an index holds. The bits are stored; they never change.
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

/// The progress of the work on an index. The raw values are stored; they never change.
package enum QueryIndexPhase: UInt8, Hashable, Sendable, CaseIterable {
    /// The index has all records of the type.
    case ready = 1
    /// The index has the records up to the type's position, and all that were written since.
    case filling = 2
    /// The index no longer has the records up to the type's position, nor those written since.
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
/// byte: 1 if there is a position, else 0 · (1) text: position.
package struct QueryIndexesEntry: VersionedValue {
    package var fields: [FieldKey: QueryIndexState] = [:]
    /// The last record, in the order of names, for which the pending work is done; nil before the first.
    package var position: RecordName?

    package init() {}

    /// Whether work is pending.
    package var isUnfinished: Bool { fields.values.contains { $0.phase != .ready } }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(fields, to: &bytes) { ValueWriter.append($0.kinds.rawValue, $0.phase.rawValue, to: &$1) }
        ValueWriter.append(position, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        fields = try reader.readDictionary { reader throws(StoreError) in
            let kinds = QueryIndexKinds(rawValue: try reader.readByte())
            guard kinds.isSubset(of: .all), !kinds.isEmpty else { throw reader.corrupt("A kind of index is unknown.") }
            return QueryIndexState(kinds: kinds, phase: try reader.readCase("A phase of an index is unknown."))
        }
        position = try reader.read()
    }
}

/// A zone whose indexes are being rebuilt, or in which one is being filled or cleared.
///
/// Bytes: version 1 · UUID: identity.
package struct ZoneIdentityEntry: VersionedValue {
    /// The identity of the zone.
    package var identity: UUID

    package init(identity: UUID) { self.identity = identity }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(identity, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { identity = try reader.read() }
}

/// A record type whose indexes differ from its schema in some zones of its container.
///
/// Bytes: version 1 · byte: 1 if there is a last zone, else 0 · (1) numbers: database, zone.
package struct IndexReviewEntry: VersionedValue {
    private var database: DatabaseNumber?
    private var zone: ZoneNumber?

    package init(last: (database: DatabaseNumber, zone: ZoneNumber)? = nil) {
        (database, zone) = (last?.database, last?.zone)
    }

    /// The last zone that was reviewed, in the order of the numbers of database and zone; nil before the first.
    package var last: (database: DatabaseNumber, zone: ZoneNumber)? {
        if let database, let zone { (database, zone) } else { nil }
    }

    package func appendParts(to bytes: inout [UInt8]) {
        bytes.append(last == nil ? 0 : 1)
        if let last { ValueWriter.append(last.database, last.zone, to: &bytes) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        if try reader.readFlag() { (database, zone) = try reader.read() as (DatabaseNumber, ZoneNumber) }
    }
}
