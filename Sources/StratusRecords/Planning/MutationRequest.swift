// What a caller wants written to one zone, whole or not at all: the request, its limits, and the plan that follows from
// it.

package import StratusLayout
package import StratusModel
import StratusStore

/// One item of a request.
package enum RecordMutation: Hashable, Sendable {
    /// Writes the record as given: fields that are not in it are gone afterwards.
    case save(Record)
    /// Deletes the record. Deleting a record that does not exist is no error and changes nothing.
    case delete(RecordName)

    package var name: RecordName {
        switch self {
        case .save(let record): record.name
        case .delete(let name): name
        }
    }
}

/// Items that are written together. The order of the items decides their sequence numbers, not what is allowed.
///
/// The caller reads the clock and draws the salt before the transaction, whose body may run twice.
package struct MutationRequest: Sendable {
    package var mutations: [RecordMutation]
    package var stamp: Stamp
    /// Makes change tags of copied stores differ.
    package var tagSalt: UInt32
    /// When and by whom new records were created, if that was before this request.
    package var creations: [RecordName: Stamp] = [:]
    /// When and by whom records were last changed, if that is not the request's stamp: for records from another store.
    package var modifications: [RecordName: Stamp] = [:]
    /// Whether the plan reports the share of each saved record. It costs a walk up for each of them.
    package var asksForMemberships = false
    /// The indexes that the types of the saved records need. The zone's other indexes are maintained too.
    package var queryIndexes: [RecordType: [FieldKey: QueryIndexKinds]] = [:]

    package init(_ mutations: [RecordMutation], stamp: Stamp, tagSalt: UInt32) {
        self.mutations = mutations
        self.stamp = stamp
        self.tagSalt = tagSalt
    }
}

// Limits of single items, checked before anything is read.

extension RecordMutation {
    /// Throws `invalidRequest` for a name that is empty or too long, and for too many fields.
    func checkLimits() throws {
        try Self.checkName(name.text, "record")
        guard case .save(let record) = self else { return }
        try Self.checkSchemaName(record.type.text, "type", of: record)
        if let parent = record.parent { try Self.checkName(parent.text, "parent") }
        if let share = record.share { try Self.checkName(share.text, "share") }
        guard record.fields.count <= RecordLimits.fieldCount else {
            throw StoreError(
                .invalidRequest, "The record has too many fields: split it over several records.",
                ["record": record.name.text, "fields": "\(record.fields.count)", "limit": "\(RecordLimits.fieldCount)"])
        }
        let entries = record.fields.entries
        let fields = entries.span
        for index in fields.indices {
            let key = fields[index].key
            try Self.checkSchemaName(key.text, "field", of: record)
            switch fields[index].value.value {
            case .reference(let reference): try Self.checkName(reference.target.text, "reference in \(key)")
            case .list(let items):
                for case .reference(let reference) in items {
                    try Self.checkName(reference.target.text, "reference in \(key)")
                }
            default: break
            }
        }
    }

    static func checkName(_ text: String, _ role: String) throws {
        let byteCount = text.utf8.count
        // A name has at least as many bytes as UTF-16 units, so most names need no second count.
        guard byteCount > RecordLimits.nameUnitCount || byteCount == 0 else { return }
        guard byteCount > 0, text.utf16.count <= RecordLimits.nameUnitCount else {
            throw StoreError(
                .invalidRequest, "A name must have 1 to 255 characters: choose another.",
                ["role": role, "characters": "\(text.utf16.count)"])
        }
    }

    private static func checkSchemaName(_ text: String, _ role: String, of record: Record) throws {
        guard (1...LayoutLimits.maximumSchemaNameByteCount).contains(text.utf8.count) else {
            throw StoreError(
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

/// Everything that a request writes, committed whole or not at all. A plan is a value: tests print and compare it.
package struct MutationPlan: Sendable {
    /// Every key set or deleted, records and index entries and history together.
    package var mutations = KeyMutations()
    /// The zone's header after the request.
    package var header: ZoneHeader
    /// Whether the zone's header and its entry in the database's feed are written. False for a plan that rewrites
    /// values under the changes that they have: no feed reports it.
    var entersFeed = true
    /// The hierarchy nodes that change, for the ancestor cache. The node of a deleted record is nil.
    package var nodes: [HierarchyChange] = []
    /// The saved records as they will be read back, in the order of the request.
    package var saved: [StoredRecord] = []
    /// The records that existed and are deleted, in the order of the request.
    package var deleted: [(name: RecordName, type: RecordType)] = []
    /// The hierarchical shares of the saved records; empty unless the request wants them.
    package var memberships: [RecordName: ShareMembership] = [:]

    /// Whether nothing changes.
    package var isEmpty: Bool { mutations.isEmpty }
}

extension MutationPlan: CustomStringConvertible {
    /// One line for every write, in the order of the keys' descriptions.
    package var description: String {
        var lines: [String] = []
        mutations.forEach { key, value in
            let line = KeyDescription.text(of: key)
            lines.append(
                value.map { "set    \(line) = \(ValueDescription.text(of: $0, forKey: key))" } ?? "delete \(line)")
        }
        return lines.sorted().joined(separator: "\n")
    }
}
