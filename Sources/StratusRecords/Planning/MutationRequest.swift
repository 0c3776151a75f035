// What a caller asks to be written into one zone, whole or not at all.

package import StratusLayout
package import StratusModel

/// One item of a request.
package enum RecordMutation: Hashable, Sendable {
    /// Writes the record as given: fields that are not in it are gone afterwards.
    case save(Record)
    /// Deletes the record. A record that does not exist is no error and changes nothing.
    case delete(RecordName)

    package var name: RecordName {
        switch self {
        case .save(let record): record.name
        case .delete(let name): name
        }
    }
}

/// Items that are written together. The order of the items does not matter for what is allowed, only for the order of
/// their sequence numbers.
///
/// The clock and the random salt are drawn by the caller, before the transaction: its body may run twice.
package struct MutationRequest: Sendable {
    package var mutations: [RecordMutation]
    package var stamp: Stamp
    /// Makes change tags differ between stores that were copied from one another.
    package var tagSalt: UInt32
    /// When and by whom records that are new to the store were created, where that was before this request.
    package var creations: [RecordName: Stamp] = [:]
    /// When and by whom records were changed last, where that is not the request's stamp: of records that are carried over
    /// from another store.
    package var modifications: [RecordName: Stamp] = [:]
    /// Whether the plan is to say in which share each saved record will lie: a walk up for each of them.
    package var asksForMemberships = false
    /// The indexes that the saved records' types are to have. What the zone has besides is kept up too.
    package var queryIndexes: [RecordType: [FieldKey: QueryIndexKinds]] = [:]

    package init(_ mutations: [RecordMutation], stamp: Stamp, tagSalt: UInt32) {
        self.mutations = mutations
        self.stamp = stamp
        self.tagSalt = tagSalt
    }
}

// Limits that one item of a request can break by itself, checked before anything is read.

extension RecordMutation {
    /// Throws `invalidRequest` for a name that is empty or too long, and for too many fields.
    func checkLimits() throws {
        try Self.checkName(name.text, "record")
        guard case .save(let record) = self else { return }
        try Self.checkSchemaName(record.type.text, "type", of: record)
        if let parent = record.parent { try Self.checkName(parent.text, "parent") }
        if let share = record.share { try Self.checkName(share.text, "share") }
        guard record.fields.count <= RecordLimits.fieldCount else {
            throw RecordsError(
                .invalidRequest, "The record has too many fields: split it over several records.",
                ["record": record.name.text, "fields": "\(record.fields.count)", "limit": "\(RecordLimits.fieldCount)"])
        }
        let entries = record.fields.entries
        let fields = entries.span
        for index in fields.indices {
            try Self.checkSchemaName(fields[index].key.text, "field", of: record)
            guard fields[index].value.value.mayRefer else { continue }
            for target in fields[index].value.value.targets {
                try Self.checkName(target.text, "reference in \(fields[index].key)")
            }
        }
    }

    fileprivate static func checkName(_ text: String, _ role: String) throws {
        let byteCount = text.utf8.count
        // 255 UTF-16 units are at least a third of that many bytes, so most names need no second count.
        guard byteCount > RecordLimits.nameUnitCount || byteCount == 0 else { return }
        guard byteCount > 0, text.utf16.count <= RecordLimits.nameUnitCount else {
            throw RecordsError(
                .invalidRequest, "A name must have 1 to 255 characters: choose another.",
                ["role": role, "characters": "\(text.utf16.count)"])
        }
    }

    private static func checkSchemaName(_ text: String, _ role: String, of record: Record) throws {
        guard (1...LayoutLimits.maximumSchemaNameByteCount).contains(text.utf8.count) else {
            throw RecordsError(
                .invalidRequest, "The name of a type or field must have 1 to 255 characters: choose another.",
                ["role": role, "record": record.name.text, "bytes": "\(text.utf8.count)"])
        }
    }
}

extension ZoneID {
    /// Throws `invalidRequest` for a name of the zone, its container or its owner that is empty or too long.
    func checkLimits() throws {
        try RecordMutation.checkName(name.text, "zone")
        try RecordMutation.checkName(database.container.text, "container")
        if let owner = database.owner { try RecordMutation.checkName(owner.text, "owner") }
    }
}

extension Stamp {
    /// Throws `invalidRequest` for a user name that is empty or too long.
    func checkLimits() throws {
        try RecordMutation.checkName(user.text, "user")
    }
}

extension FieldValue {
    fileprivate var mayRefer: Bool {
        switch self {
        case .reference, .list: true
        default: false
        }
    }

    /// The records that a reference or a list of references points at.
    fileprivate var targets: [RecordName] {
        switch self {
        case .reference(let reference): [reference.target]
        case .list(let elements): elements.flatMap(\.targets)
        default: []
        }
    }
}

// The plan of a request: everything that will be written, as a value that can be printed and tested before it is done.

/// What a request turns into: committed whole or not at all.
package struct MutationPlan: Sendable {
    /// Every key set or deleted, records and index entries and history together.
    package var mutations = KeyMutations()
    /// The zone's header afterwards.
    package var header: ZoneHeader
    /// Whether the zone's header and its entry in the database's feed are written. False for a plan that rewrites values under
    /// the changes that they have: no feed reports it.
    var entersFeed = true
    /// The hierarchy nodes that change, for the ancestor cache; nil where the record is gone.
    package var nodes: [HierarchyChange] = []
    /// The saved records as they will be read back, in the order of the request.
    package var saved: [StoredRecord] = []
    /// The records that existed and are deleted, in the order of the request.
    package var deleted: [(name: RecordName, type: RecordType)] = []
    /// The hierarchical shares in which the saved records will lie; empty where the request did not ask.
    package var memberships: [RecordName: ShareMembership] = [:]

    /// Whether nothing at all changes.
    package var isEmpty: Bool { mutations.isEmpty }
}

extension MutationPlan: CustomStringConvertible {
    /// One line for every write, in the order of the keys' descriptions.
    package var description: String {
        var lines: [String] = []
        mutations.forEach { key, value in
            if let value {
                lines.append("set    \(KeyDescription(key)) = \(ValueDescription(key: key, value: value))")
            } else {
                lines.append("delete \(KeyDescription(key))")
            }
        }
        return lines.sorted().joined(separator: "\n")
    }
}
