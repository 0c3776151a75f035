// The indexes over single records: types, references by target, and the change feed.

package import StratusLayout
package import StratusModel

/// (Type, record): the records of a type in the order of their names.
package enum TypeIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.types

    package static func entries(of facts: RecordFacts, in zone: ZoneKeys) -> [IndexEntry] {
        [IndexEntry(key: zone.type(facts.type, name: facts.name), value: TypeEntry().encoded())]
    }
}

/// (Target, source, field, action): who points at a record. Several equal references in one list are one entry.
package enum ReferenceIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.references

    package static func entries(of facts: RecordFacts, in zone: ZoneKeys) -> [IndexEntry] {
        Set(facts.references).map { source in
            let key = zone.reference(
                target: source.reference.target, source: facts.name, field: source.field,
                action: source.reference.action)
            return IndexEntry(key: key, value: ReferenceEntry().encoded())
        }
    }
}

/// Sequence → record: at most one entry for each record, that of its latest write (T-06).
package enum ChangeIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.changes

    package static func entries(of facts: RecordFacts, in zone: ZoneKeys) -> [IndexEntry] {
        let entry = ChangeEntry(name: facts.name, kind: .saved)
        return [IndexEntry(key: zone.change(sequence: facts.changeSequence), value: entry.encoded())]
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

    package static func entries(of facts: TombstoneFacts, in zone: ZoneKeys) -> [IndexEntry] {
        let kind = ChangeEntry.Kind.deleted(type: facts.tombstone.type, parent: facts.tombstone.parent)
        let entry = ChangeEntry(name: facts.name, kind: kind)
        return [IndexEntry(key: zone.change(sequence: facts.tombstone.sequence), value: entry.encoded())]
    }
}
