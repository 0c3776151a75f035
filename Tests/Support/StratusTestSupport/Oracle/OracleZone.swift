// One zone as plain dictionaries, with everything that was ever written to it. A value: a copy is a remembered state.

package import StratusModel

/// The latest write of one record.
package struct OracleChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case saved
        case deleted(type: RecordType, parent: RecordName?)
    }

    package var sequence: UInt64
    package var name: RecordName
    package var kind: Kind
}

/// A parent and a share mark.
package struct OraclePosition: Hashable, Sendable {
    package var parent: RecordName?
    package var share: RecordName?

    package init(parent: RecordName?, share: RecordName?) {
        self.parent = parent
        self.share = share
    }
}

/// A zone between its creation and its deletion.
package struct OracleZone: Hashable, Sendable {
    /// Distinguishes a zone from others of the same name, earlier or later.
    package let birth: Int
    /// The number of the last write.
    package var sequence: UInt64 = 0
    /// Up to here history is forgotten.
    package var horizon: UInt64 = 0
    package var live: [RecordName: StoredRecord] = [:]
    /// The latest write of every record, forgotten tombstones left out.
    package var latest: [RecordName: OracleChange] = [:]
    /// The place of each record after each of its writes; a nil position is a deletion.
    package var positions: [RecordName: [OracleMoment]] = [:]
    /// The zone's place in its database's feed.
    package var databaseCounter: UInt64

    package init(birth: Int, databaseCounter: UInt64) {
        self.birth = birth
        self.databaseCounter = databaseCounter
    }

    /// Forgets tombstones up to and including `sequence`.
    package mutating func purge(upTo sequence: UInt64) {
        horizon = max(horizon, sequence)
        latest = latest.filter { $0.value.kind == .saved || $0.value.sequence > horizon }
    }
}

/// The place of a record from one of its writes on.
package struct OracleMoment: Hashable, Sendable {
    package var sequence: UInt64
    package var position: OraclePosition?
}
