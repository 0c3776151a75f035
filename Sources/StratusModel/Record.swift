// A record as a plain value. `Record` is what a caller wants stored; `StoredRecord` is what the store answers with.

package import FoundationEssentials

/// The content of a record: what its writer decides.
package struct Record: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    /// The record above this one in its hierarchy (X-07: only `parent` makes hierarchy).
    package var parent: RecordName?
    /// The share of which this record is the hierarchical root; nil for every other record.
    package var share: RecordName?
    package var fields: RecordFields

    package init(
        name: RecordName, type: RecordType, parent: RecordName? = nil, share: RecordName? = nil,
        fields: RecordFields = RecordFields()
    ) {
        self.name = name
        self.type = type
        self.parent = parent
        self.share = share
        self.fields = fields
    }
}

/// What the store adds to a record at every write (S-09).
package struct SystemFields: Hashable, Sendable {
    /// The position of the record's latest write in its zone's change feed.
    package var changeSequence: UInt64
    /// What makes the tag of this write another than that of any other write with this sequence, in a store that was
    /// restored to an earlier state.
    package var tagSalt: UInt32
    package var created: Stamp
    package var modified: Stamp

    /// Opaque to clients, and new at every write of the record. Made each time it is asked for.
    package var changeTag: String { ChangeTag.text(sequence: changeSequence, salt: tagSalt) }

    package init(changeSequence: UInt64, tagSalt: UInt32, created: Stamp, modified: Stamp) {
        self.changeSequence = changeSequence
        self.tagSalt = tagSalt
        self.created = created
        self.modified = modified
    }
}

/// When something was written, and by whom.
package struct Stamp: Hashable, Sendable {
    package var date: Date
    package var user: UserName

    package init(date: Date, user: UserName) {
        self.date = date
        self.user = user
    }
}

/// A record as it lies in the store.
package struct StoredRecord: Hashable, Sendable {
    package var record: Record
    package var system: SystemFields

    package init(record: Record, system: SystemFields) {
        self.record = record
        self.system = system
    }
}
