// The rules of the indexes: which entries exist because a record exists. Each index has one function for that. Saving,
// deleting, rebuilding and verifying all call it, so they cannot disagree.
//
// A save writes entries(new) ⊖ entries(old). Some entries follow from the record alone. Others follow from its place in
// the hierarchy, which also changes when a record below or above it is written.

package import StratusLayout
package import StratusModel
import StratusStore

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
}

/// The facts of a live record alone that its index entries follow from.
package struct RecordFacts: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    package var changeSequence: UInt64
    /// The place that the entry of its change names.
    package var place: ChangeEntry.SavedPlace
    package var references: [SourceReference]

    var write: LatestWrite { LatestWrite(sequence: changeSequence, name: name, kind: .saved(place)) }
}

extension ChangeEntry.SavedPlace {
    /// The place of a record with this parent and share mark. The entry of a share root does not name its place, so
    /// readers look it up.
    init(parent: RecordName?, share: RecordName?) { self = share == nil ? .below(parent) : .unsaid }
}

/// One record's latest write.
package struct LatestWrite: Hashable, Sendable {
    package var sequence: UInt64
    package var name: RecordName
    package var kind: ChangeEntry.Kind
}

extension Tombstone {
    /// The deletion of the record, which had this name.
    func write(of name: RecordName) -> LatestWrite {
        LatestWrite(sequence: sequence, name: name, kind: .deleted(type: type, parent: parent))
    }
}

/// The place of a live record in the hierarchy, for its index entries.
package struct HierarchyFacts: Hashable, Sendable {
    package var name: RecordName
    package var node: ParentEntry
}

/// The number of share roots at or below a live record.
package struct ShareCountFacts: Hashable, Sendable {
    package var name: RecordName
    package var parent: RecordName?
    package var count: UInt64
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

    /// Appends the mutations that turn the old record's entries into the new record's.
    package static func appendDifference(
        from old: Facts?, to new: Facts?, in zone: ZoneKeys, to mutations: inout KeyMutations
    ) {
        guard let old else {
            // Without old facts no entry exists.
            if let new { mutations.insert { append(new, in: zone, to: &$0) } }
            return
        }
        guard old != new else { return }
        let added = new.map { entries(of: $0, in: zone) } ?? []
        // Keys of one rule differ from each other, and there may be thousands, for example of references.
        var stale = Dictionary(uniqueKeysWithValues: entries(of: old, in: zone).map { ($0.key, $0.value) })
        for entry in added where stale.removeValue(forKey: entry.key) != entry.value {
            mutations.set(entry.value, forKey: entry.key)
        }
        for key in stale.keys { mutations.delete { $0.append(contentsOf: key) } }
    }
}

// The indexes over single records: types, references by target, and the change feed.

/// (Type, record): the records of a type in the order of their names.
package enum TypeIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.types

    package static func append(_ facts: RecordFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        mutations.set(EmptyEntry()) { zone.type(facts.type, name: facts.name, into: &$0) }
    }
}

/// (Target, source, field, action): the records that point at a record. Equal references in one list share an entry.
package enum ReferenceIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.references

    package static func append(_ facts: RecordFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        for source in Set(facts.references) {
            mutations.set(EmptyEntry()) {
                zone.reference(
                    target: source.reference.target, source: facts.name, field: source.field,
                    action: source.reference.action, into: &$0)
            }
        }
    }
}

/// Sequence → record: at most one entry for each record, that of its latest write (T-06), with what a feed must report
/// about a deletion (T-07) and where a saved record is.
///
/// The place of a record changes only with a write of the record, so the entry always names the present parent.
package enum ChangeIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.changes

    package static func append(_ write: LatestWrite, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        mutations.set(ChangeEntry(name: write.name, kind: write.kind)) {
            zone.change(sequence: write.sequence, into: &$0)
        }
    }
}

// The indexes of the hierarchy: parents, children, share roots, share counts.

/// Child → parent, with the marks that a walk needs. Every live record has exactly one entry, so the entry also says
/// that the record exists.
package enum ParentIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.parents

    package static func append(_ facts: HierarchyFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        mutations.set(facts.node) { zone.parent(of: facts.name, into: &$0) }
    }
}

/// (Parent, child): the children of a record in the order of their names. Each entry says whether the child has
/// children, so that a walk of the tree reads only where there are some.
package enum ChildIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.children

    package static func append(_ facts: HierarchyFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        guard let parent = facts.node.parent else { return }
        let entry = ChildEntry(since: facts.node.parentSince, hasChildren: facts.node.hasChildren)
        mutations.set(entry) { zone.child(parent: parent, name: facts.name, into: &$0) }
    }
}

/// The hierarchical share roots of a zone.
package enum ShareRootIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.shareRoots

    package static func append(_ facts: HierarchyFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        guard let share = facts.node.share else { return }
        let entry = ShareRootEntry(share: share, since: facts.node.shareSince)
        mutations.set(entry) { zone.shareRoot(facts.name, into: &$0) }
    }
}

/// (Parent, record) → the number of share roots at or below the record, where there are any. The key begins with the
/// parent, so a walk down finds the roots below a record with one read a level.
package enum ShareCountIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.shareCounts

    package static func append(_ facts: ShareCountFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        guard facts.count > 0 else { return }
        mutations.set(CountEntry(count: facts.count)) {
            zone.shareCount(parent: facts.parent, name: facts.name, into: &$0)
        }
    }
}

// The writes of a plan: keys and values in one block of bytes.
//
// A plan has ten keys and values for each record. In one block they need no allocations of their own, and the builders
// of the layout append to it directly.

/// Keys that are set or deleted, in the order in which they were added.
package struct KeyMutations: Sendable {
    /// The place of a mutation in the block: its key, followed by its value.
    private struct Place {
        var start: Int
        var keyEnd: Int
        /// Nil for a deletion.
        var valueEnd: Int?
        /// Whether the rules say that the key is absent.
        var isNew = false

        var countedByteCount: Int {
            StoreLimits.countedByteCount(writingKey: keyEnd - start, value: (valueEnd ?? keyEnd) - keyEnd)
        }
    }

    private var bytes: [UInt8] = []
    private var places: [Place] = []

    package var isEmpty: Bool { places.isEmpty }
    package var count: Int { places.count }
    /// The bytes of all keys and values.
    package var byteCount: Int { bytes.count }
    /// The bytes that all mutations count against the limit of a transaction.
    package private(set) var countedByteCount = 0

    mutating func reserveCapacity(_ count: Int, byteCount: Int) {
        places.reserveCapacity(count)
        bytes.reserveCapacity(byteCount)
    }

    // MARK: Adding

    /// Sets the key that `appendKey` writes to the value that `appendValue` writes; each only appends.
    mutating func set(
        _ appendValue: (inout [UInt8]) throws -> Void, forKey appendKey: (inout [UInt8]) -> Void
    ) rethrows {
        let start = bytes.count
        appendKey(&bytes)
        let keyEnd = bytes.count
        try appendValue(&bytes)
        append(Place(start: start, keyEnd: keyEnd, valueEnd: bytes.count))
    }

    /// Sets the key that `appendKey` writes.
    mutating func set(_ value: some LayoutValue, forKey appendKey: (inout [UInt8]) -> Void) {
        set({ value.append(to: &$0) }, forKey: appendKey)
    }

    mutating func set(_ value: [UInt8], forKey key: [UInt8]) {
        set({ $0.append(contentsOf: value) }, forKey: { $0.append(contentsOf: key) })
    }

    /// Deletes the key that `appendKey` writes.
    mutating func delete(_ appendKey: (inout [UInt8]) -> Void) {
        let start = bytes.count
        appendKey(&bytes)
        append(Place(start: start, keyEnd: bytes.count, valueEnd: nil))
    }

    /// Runs `body`. The keys that it sets are absent by the rules of the indexes.
    mutating func insert(_ body: (inout KeyMutations) -> Void) {
        let start = places.count
        body(&self)
        for index in start..<places.count { places[index].isNew = true }
    }

    private mutating func append(_ place: Place) {
        places.append(place)
        countedByteCount += place.countedByteCount
    }

    /// Removes the mutations from number `index` on.
    mutating func removeAll(from index: Int) {
        guard index < places.count else { return }
        for place in places[index...] { countedByteCount -= place.countedByteCount }
        bytes.removeSubrange(places[index].start...)
        places.removeSubrange(index...)
    }

    // MARK: Reading

    /// Writes every mutation in place.
    func write(to transaction: some StoreTransaction) throws {
        let bytes = bytes.span
        for place in places {
            let key = bytes.extracting(place.start..<place.keyEnd)
            guard let valueEnd = place.valueEnd else {
                try transaction.delete([UInt8](copying: key))
                continue
            }
            let value = bytes.extracting(place.keyEnd..<valueEnd)
            if place.isNew { try transaction.insert(key, value) } else { try transaction.set(key, to: value) }
        }
    }

    /// Visits every mutation; the value is nil where the key is deleted.
    package func forEach(_ visit: (_ key: [UInt8], _ value: [UInt8]?) throws -> Void) rethrows {
        for place in places {
            try visit(
                Array(bytes[place.start..<place.keyEnd]), place.valueEnd.map { Array(bytes[place.keyEnd..<$0]) })
        }
    }
}
