// Step 7 of planning: which hierarchy nodes change, and how. Besides the records of the request these are the parents
// that gain their first child or lose their last.

import StratusLayout
import StratusModel
import StratusStore

/// A hierarchy node before and after a request; nil where the record does not exist.
struct NodeChange {
    let name: RecordName
    var old: HierarchyNode?
    var new: HierarchyNode?
    /// The sequence number of the record's write; nil for a parent that is not part of the request.
    var sequence: UInt64?
}

extension MutationPlanner {
    func nodeChanges(_ hierarchy: FinalHierarchy) throws -> [NodeChange] {
        let losing = Set(items.lazy.filter(\.isPlacedAnew).compactMap(\.oldParent))
        var changes: [NodeChange] = []
        changes.reserveCapacity(items.count)
        for draft in items where draft.isEffective {
            let name = draft.name
            guard draft.isPlacedAnew || draft.isMarkedAnew || draft.isNamedParent || losing.contains(name) else {
                continue
            }
            let old = try draft.wasLive ? draft.oldNode ?? zone.node(name) : nil
            guard old != nil || !draft.wasLive else { throw RecordsError.missingParentEntry(name, in: zone.id) }
            let has = try draft.isNamedParent || keepsChildren(name, old: old, losing: losing, hierarchy)
            changes.append(
                NodeChange(
                    name: name, old: old, new: draft.isSaved ? node(draft, old: old, hasChildren: has) : nil,
                    sequence: draft.sequence))
        }
        let gaining = namedParents.values.lazy.filter { $0.draft == nil }.map(\.name)
        let others = gaining + losing.lazy.filter { namedParents[$0] == nil && drafts[$0] == nil }
        for name in others.sorted() {
            guard let old = try zone.node(name) else { throw RecordsError.missingParentEntry(name, in: zone.id) }
            var new = old
            new.hasChildren = try namedParents[name] != nil || keepsChildren(name, old: old, losing: losing, hierarchy)
            changes.append(NodeChange(name: name, old: old, new: new, sequence: nil))
        }
        changes.removeAll { $0.old == $0.new }
        return changes
    }

    /// The node of a saved record: what has not changed keeps its beginning.
    private func node(_ draft: Draft, old: HierarchyNode?, hasChildren: Bool) -> HierarchyNode {
        HierarchyNode(
            parent: draft.newParent,
            parentSince: old.flatMap { $0.parent == draft.newParent ? $0.parentSince : nil } ?? draft.sequence,
            share: draft.newShare,
            shareSince: old.flatMap { $0.share == draft.newShare ? $0.shareSince : nil }
                ?? (draft.newShare == nil ? 0 : draft.sequence),
            hasChildren: hasChildren)
    }

    /// Whether a record that gains no child has children still.
    private func keepsChildren(
        _ name: RecordName, old: HierarchyNode?, losing: Set<RecordName>, _ hierarchy: FinalHierarchy
    ) throws -> Bool {
        guard let old, old.hasChildren else { return false }
        return try losing.contains(name) ? hierarchy.firstChild(of: name) != nil : true
    }
}
