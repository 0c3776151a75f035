// The rule of every index: which entries exist because a record exists. One function per index says it; saving,
// deleting, rebuilding and verifying all ask that function, so they cannot disagree.
//
// A save writes entries(new) ⊖ entries(old). Entries of two kinds of facts exist: those of the record alone, and those
// of its place in the hierarchy, which also changes when a record below or above it is written.

package import StratusLayout
package import StratusModel

/// One key of an index and its value.
package struct IndexEntry: Hashable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]

    package init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// A reference field of a record, as its target sees it.
package struct SourceReference: Hashable, Sendable {
    package var field: FieldKey
    package var reference: RecordReference

    package init(field: FieldKey, reference: RecordReference) {
        self.field = field
        self.reference = reference
    }
}

/// What a live record alone contributes to the indexes.
package struct RecordFacts: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    package var changeSequence: UInt64
    package var references: [SourceReference]

    package init(name: RecordName, type: RecordType, changeSequence: UInt64, references: [SourceReference]) {
        self.name = name
        self.type = type
        self.changeSequence = changeSequence
        self.references = references
    }
}

/// What a live record's place in the hierarchy contributes to the indexes.
package struct HierarchyFacts: Hashable, Sendable {
    package var name: RecordName
    package var node: HierarchyNode

    package init(name: RecordName, node: HierarchyNode) {
        self.name = name
        self.node = node
    }
}

/// How many share roots lie at or below a live record.
package struct ShareCountFacts: Hashable, Sendable {
    package var name: RecordName
    package var parent: RecordName?
    package var count: UInt64

    package init(name: RecordName, parent: RecordName?, count: UInt64) {
        self.name = name
        self.parent = parent
        self.count = count
    }
}

/// A rule that turns facts into index entries.
package protocol IndexRule {
    associatedtype Facts: Hashable & Sendable
    static var keyspace: ZoneKeyspace { get }
    /// Sets the entries that exist because of `facts`.
    static func append(_ facts: Facts, in zone: ZoneKeys, to mutations: inout KeyMutations)
}

extension IndexRule {
    /// The entries that exist because of `facts`.
    package static func entries(of facts: Facts, in zone: ZoneKeys) -> [IndexEntry] {
        var mutations = KeyMutations()
        append(facts, in: zone, to: &mutations)
        var entries: [IndexEntry] = []
        mutations.forEach { key, value in
            if let value { entries.append(IndexEntry(key: key, value: value)) }
        }
        return entries
    }

    /// Appends what turns the old record's entries into the new record's.
    package static func appendDifference(
        from old: Facts?, to new: Facts?, in zone: ZoneKeys, to mutations: inout KeyMutations
    ) {
        guard let old else {
            if let new { append(new, in: zone, to: &mutations) }
            return
        }
        guard old != new else { return }
        let added = new.map { entries(of: $0, in: zone) } ?? []
        // Keys of one rule are different from one another, and there may be thousands: references, for example.
        var stale = Dictionary(uniqueKeysWithValues: entries(of: old, in: zone).map { ($0.key, $0.value) })
        for entry in added where stale.removeValue(forKey: entry.key) != entry.value {
            mutations.set(entry.value, forKey: entry.key)
        }
        for key in stale.keys { mutations.delete { $0.append(contentsOf: key) } }
    }
}
