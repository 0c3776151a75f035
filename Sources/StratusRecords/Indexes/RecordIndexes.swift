// The indexes over single records: types, references by target, and the change feed.

package import StratusLayout
package import StratusModel

/// (Type, record): the records of a type in the order of their names.
package enum TypeIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.types

    package static func append(_ facts: RecordFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        mutations.set(TypeEntry()) { zone.type(facts.type, name: facts.name, into: &$0) }
    }
}

/// (Target, source, field, action): who points at a record. Several equal references in one list are one entry.
package enum ReferenceIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.references

    package static func append(_ facts: RecordFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        for source in Set(facts.references) {
            mutations.set(ReferenceEntry()) {
                zone.reference(
                    target: source.reference.target, source: facts.name, field: source.field,
                    action: source.reference.action, into: &$0)
            }
        }
    }
}

/// Sequence → record: at most one entry for each record, that of its latest write (T-06).
package enum ChangeIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.changes

    package static func append(_ facts: RecordFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        let entry = ChangeEntry(name: facts.name, kind: .saved)
        mutations.set(entry) { zone.change(sequence: facts.changeSequence, into: &$0) }
    }
}

/// Sequence → deleted record, with what a feed must say of it once the record is gone (T-07).
package enum TombstoneIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.changes

    package struct TombstoneFacts: Hashable, Sendable {
        package var name: RecordName
        package var tombstone: Tombstone

        package init(name: RecordName, tombstone: Tombstone) {
            self.name = name
            self.tombstone = tombstone
        }
    }

    package static func append(_ facts: TombstoneFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        let kind = ChangeEntry.Kind.deleted(type: facts.tombstone.type, parent: facts.tombstone.parent)
        let entry = ChangeEntry(name: facts.name, kind: kind)
        mutations.set(entry) { zone.change(sequence: facts.tombstone.sequence, into: &$0) }
    }
}
