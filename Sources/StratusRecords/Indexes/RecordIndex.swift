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
    static func entries(of facts: Facts, in zone: ZoneKeys) -> [IndexEntry]
}

extension IndexRule {
    /// Appends what turns the old record's entries into the new record's.
    package static func appendDifference(
        from old: Facts?, to new: Facts?, in zone: ZoneKeys, to mutations: inout [KeyMutation]
    ) {
        guard let old else {
            guard let new else { return }
            for entry in entries(of: new, in: zone) { mutations.append(.set(key: entry.key, value: entry.value)) }
            return
        }
        guard old != new else { return }
        let added = new.map { entries(of: $0, in: zone) } ?? []
        // Keys of one rule are different from one another, and there may be thousands: references, for example.
        var stale = Dictionary(uniqueKeysWithValues: entries(of: old, in: zone).map { ($0.key, $0.value) })
        for entry in added where stale.removeValue(forKey: entry.key) != entry.value {
            mutations.append(.set(key: entry.key, value: entry.value))
        }
        for key in stale.keys { mutations.append(.delete(key: key)) }
    }
}

/// One write of a mutation plan.
package enum KeyMutation: Hashable, Sendable {
    case set(key: [UInt8], value: [UInt8])
    case delete(key: [UInt8])
}
