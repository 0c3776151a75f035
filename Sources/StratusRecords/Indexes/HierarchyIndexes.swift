// The indexes of the hierarchy: parents, children, share roots, share counts.

package import StratusLayout
import StratusModel

/// Child → parent with the marks a chain walk needs. Every live record has exactly one entry, so that the entry also
/// answers whether the record exists.
package enum ParentIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.parents

    package static func append(_ facts: HierarchyFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        mutations.set(ParentEntry(facts.node)) { zone.parent(of: facts.name, into: &$0) }
    }
}

/// (Parent, child): the children of a record in the order of their names, each with whether it has children itself,
/// so that enumerating a tree looks only where there is something below.
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

/// (Parent, record) → the number of share roots at or below the record, where there are any. Keyed by the parent, so
/// that the roots below a record are found by going down, one look a level.
package enum ShareCountIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.shareCounts

    package static func append(_ facts: ShareCountFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        guard facts.count > 0 else { return }
        mutations.set(ShareCountEntry(count: facts.count)) {
            zone.shareCount(parent: facts.parent, name: facts.name, into: &$0)
        }
    }
}

extension ParentEntry {
    package init(_ node: HierarchyNode) {
        self.init(
            parent: node.parent, parentSince: node.parentSince, share: node.share, shareSince: node.shareSince,
            hasChildren: node.hasChildren)
    }

    package var node: HierarchyNode {
        HierarchyNode(
            parent: parent, parentSince: parentSince, share: share, shareSince: shareSince, hasChildren: hasChildren)
    }
}
