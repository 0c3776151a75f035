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
        fields: RecordFields = [:]
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
    /// Opaque, and new at every write of the record.
    package var changeTag: String
    /// The position of the record's latest write in its zone's change feed.
    package var changeSequence: UInt64
    package var created: Stamp
    package var modified: Stamp

    package init(changeTag: String, changeSequence: UInt64, created: Stamp, modified: Stamp) {
        self.changeTag = changeTag
        self.changeSequence = changeSequence
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
