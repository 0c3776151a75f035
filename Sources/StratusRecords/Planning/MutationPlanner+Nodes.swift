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
        let gaining = namedParents
        let losing = Set(drafts.values.lazy.filter(\.isPlacedAnew).compactMap(\.oldParent))
        var changes: [NodeChange] = []
        for name in order {
            guard let draft = drafts[name], draft.isEffective else { continue }
            let mayFlip = gaining.contains(name) || losing.contains(name)
            guard draft.isPlacedAnew || draft.isMarkedAnew || mayFlip else { continue }
            let old = try draft.oldLive == nil ? nil : draft.oldNode ?? zone.node(name)
            let has = try hasChildren(name, old: old, gaining: gaining, losing: losing, hierarchy)
            let new = draft.new.map { record in
                HierarchyNode(
                    parent: record.parent,
                    parentSince: old.flatMap { $0.parent == record.parent ? $0.parentSince : nil } ?? draft.sequence,
                    share: record.share,
                    shareSince: old.flatMap { $0.share == record.share ? $0.shareSince : nil }
                        ?? (record.share == nil ? 0 : draft.sequence),
                    hasChildren: has)
            }
            changes.append(NodeChange(name: name, old: old, new: new, sequence: draft.sequence))
        }
        for name in gaining.union(losing).sorted() where drafts[name] == nil {
            guard let old = try zone.node(name) else { throw RecordsError.missingParentEntry(name, in: zone.id) }
            var new = old
            new.hasChildren = try hasChildren(name, old: old, gaining: gaining, losing: losing, hierarchy)
            changes.append(NodeChange(name: name, old: old, new: new, sequence: nil))
        }
        return changes.filter { $0.old != $0.new }
    }

    private func hasChildren(
        _ name: RecordName, old: HierarchyNode?, gaining: Set<RecordName>, losing: Set<RecordName>,
        _ hierarchy: FinalHierarchy
    ) throws -> Bool {
        if gaining.contains(name) { return true }
        guard let old, old.hasChildren else { return false }
        return try losing.contains(name) ? hierarchy.firstChild(of: name) != nil : true
    }
}
