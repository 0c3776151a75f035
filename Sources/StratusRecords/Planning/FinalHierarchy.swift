// One item of a request while it is being planned: what is stored, and what will be.

import StratusLayout
import StratusModel
import StratusStore

/// A record of the request with its old state and its new one.
///
/// A class, because the steps look it up by name again and again: copying its parts each time would cost more than the
/// steps do.
final class RecordDraft {
    let name: RecordName
    let old: StoredState
    /// What is to be stored; nil for a deletion.
    let new: Record?
    /// Whether there is something to be stored.
    let isSaved: Bool
    /// Whether a live record is stored under the name.
    let wasLive: Bool
    let oldParent: RecordName?
    let oldShare: RecordName?
    let newParent: RecordName?
    let newShare: RecordName?
    /// The parent that it will have, once all records of the request are known. The planner holds it: a request may make a
    /// circle of parents, which would hold itself.
    unowned var parent: NamedParent?
    /// Whether a saved record of the request names this one as its parent.
    var isNamedParent = false
    /// Whether anything is written: deleting what does not exist is not.
    let isEffective: Bool
    /// Whether the record hangs elsewhere afterwards than before, appears or disappears.
    let isPlacedAnew: Bool
    /// Whether its share mark appears, goes or changes.
    let isMarkedAnew: Bool
    /// Whether it was there and will not stay where it is, as it is: what lies below it stands elsewhere then.
    var isMoving: Bool { wasLive && (isPlacedAnew || isMarkedAnew) }
    /// Whether it becomes a share root by this request.
    let becomesRoot: Bool
    /// The old place in the hierarchy. Loaded when the place changes; nil otherwise and for a record that is new.
    var oldNode: HierarchyNode?
    /// Where it will stand, once that is known.
    var position: FinalPosition?
    /// The sequence number of this write; 0 when nothing is written.
    var sequence: UInt64 = 0

    /// The live record that is stored under the name. Large: who asks only whether there is one asks `wasLive`.
    var oldLive: LiveRecord? {
        if case .live(let live) = old { live } else { nil }
    }

    init(_ mutation: RecordMutation, old: StoredState) {
        self.old = old
        switch mutation {
        case .save(let record):
            name = record.name
            new = record
            isSaved = true
            newParent = record.parent
            newShare = record.share
        case .delete(let name):
            self.name = name
            new = nil
            isSaved = false
            newParent = nil
            newShare = nil
        }
        if case .live(let live) = old {
            wasLive = true
            oldParent = live.header.parent
            oldShare = live.header.share
        } else {
            wasLive = false
            oldParent = nil
            oldShare = nil
        }
        isEffective = isSaved || wasLive
        isPlacedAnew = wasLive && isSaved ? oldParent != newParent : isEffective
        isMarkedAnew = oldShare != newShare
        becomesRoot = oldShare == nil && newShare != nil
    }
}

/// A record that saved records of the request name as their parent: looked up by its name once, not for each of them.
final class NamedParent {
    let name: RecordName
    /// The parent's own item, where it is one of the request's.
    let draft: RecordDraft?
    /// Where a parent that is none of the request's stands, once that is known.
    private var standing: FinalPosition?

    init(name: RecordName, draft: RecordDraft?) {
        self.name = name
        self.draft = draft
        draft?.isNamedParent = true
    }

    /// Where it will stand, once that is known.
    var position: FinalPosition? { if let draft { draft.position } else { standing } }

    func stand(at position: FinalPosition?) { standing = position }
}

// The hierarchy as it will be after a request: the stored one with the request's records placed anew.
//
// All records of the request are placed before anything is checked, so that the order of its items cannot matter.

/// Where a record will stand.
enum FinalPosition {
    /// `level` is 0 for a record without a parent. `membership` is the share the record is in, itself included.
    case placed(level: Int, membership: ShareMembership?)
    /// The record is its own ancestor, on a cycle of `wayCount` records.
    case onCycle(wayCount: Int)
    /// The way up from the record ends in a cycle it is not part of, `wayCount` records together.
    case belowCycle(wayCount: Int)
    /// The way up is longer than the depth limit.
    case tooDeep
}

struct FinalHierarchy {
    private let zone: ZoneReader
    private let drafts: [RecordName: RecordDraft]
    /// Where records outside the request stand; a draft knows its own position.
    private var positions: [RecordName: FinalPosition] = [:]
    /// Of every parent the request names, the child with the smallest name. Empty where nobody can ask for it.
    private let smallestChildren: [RecordName: RecordName]
    /// The way up that is being walked; kept from walk to walk for its memory.
    private var path: [Step] = []
    /// Whether whatever was there stays where it is.
    private let isStanding: Bool
    /// Whether the ancestor cache may be asked where that is.
    private lazy var mayAskCache = isStanding && zone.isHierarchyPublished

    /// A record on the way up, with its draft when it is one of the request's.
    private struct Step {
        let name: RecordName
        let draft: RecordDraft?
        let share: RecordName?
    }

    init(zone: ZoneReader, drafts: [RecordName: RecordDraft]) {
        self.zone = zone
        self.drafts = drafts
        isStanding = !drafts.values.contains { $0.isMoving }
        var smallest: [RecordName: RecordName] = [:]
        // Only who was there before can have lost children: a plain load asks for none.
        guard drafts.values.contains(where: { $0.wasLive }) else {
            smallestChildren = smallest
            return
        }
        for draft in drafts.values {
            guard let parent = draft.newParent else { continue }
            smallest[parent] = smallest[parent].map { min($0, draft.name) } ?? draft.name
        }
        smallestChildren = smallest
    }

    /// Whether a live record of the parent's name will exist.
    mutating func exists(_ parent: NamedParent) throws -> Bool {
        if let draft = parent.draft { return draft.isSaved }
        if parent.position != nil { return true }
        // Only what exists is given a position, and who asks will want to know that next.
        _ = try position(of: parent.name)
        parent.stand(at: positions[parent.name])
        return parent.position != nil
    }

    /// Where a record of the request will stand: below its parent, where that is known already.
    mutating func position(of draft: RecordDraft) throws -> FinalPosition {
        if let known = draft.position { return known }
        guard draft.isSaved, let above = draft.parent?.position else { return try position(of: draft.name) }
        let position = position(of: draft.name, share: draft.newShare, below: above)
        draft.position = position
        return position
    }

    /// The parent a record will have, and its share mark; nil when it will not exist.
    private func place(_ name: RecordName, _ draft: RecordDraft?) throws -> PastNode? {
        if let draft {
            return draft.isSaved ? PastNode(parent: draft.newParent, share: draft.newShare) : nil
        }
        return try zone.node(name).map { PastNode(parent: $0.parent, share: $0.share) }
    }

    /// Where a record will stand. What is found on the way is remembered, so that a batch walks every ancestor once. The
    /// answer is that of a walk which remembers nothing and gives up after the depth limit, so that the order of the
    /// questions cannot matter.
    ///
    /// A way up that ends at a record which will not exist counts as ending there: that record's own items are refused.
    ///
    /// The first record on the way that is none of the request's is asked of the cache, which mostly knows the rest.
    mutating func position(of name: RecordName) throws -> FinalPosition {
        path.removeAll(keepingCapacity: true)
        var indexOnPath: [RecordName: Int] = [:]
        var current: RecordName? = name
        var end = FinalPosition.placed(level: -1, membership: nil)
        var hasAsked = false
        while let step = current {
            let draft = drafts[step]
            if let known = knownPosition(step, draft) {
                end = known
                break
            }
            if let start = path.isEmpty ? nil : step == name ? 0 : indexOnPath[step] {
                end = .onCycle(wayCount: path.count - start)
                for member in path[start...] { remember(end, of: member) }
                path.removeSubrange(start...)
                break
            }
            if !hasAsked, draft == nil, mayAskCache {
                hasAsked = true
                if let known = zone.knownPlace(of: step) {
                    end = .placed(level: known.level, membership: known.membership)
                    positions[step] = end
                    break
                }
            }
            guard let place = try place(step, draft) else { break }
            guard path.count <= zone.limits.hierarchyDepth else {
                // Too far for the first of the path; of the others nothing is known.
                remember(.tooDeep, of: path[0])
                return .tooDeep
            }
            // The first of the path is known by its name, and most paths have no second.
            if !path.isEmpty { indexOnPath[step] = path.count }
            path.append(Step(name: step, draft: draft, share: place.share))
            current = place.parent
        }
        for step in path.reversed() {
            end = position(of: step.name, share: step.share, below: end)
            remember(end, of: step)
        }
        // What is left of the path begins with the record itself.
        return path.isEmpty ? knownPosition(name, drafts[name]) ?? end : end
    }

    private func knownPosition(_ name: RecordName, _ draft: RecordDraft?) -> FinalPosition? {
        if let draft { draft.position } else { positions[name] }
    }

    private mutating func remember(_ position: FinalPosition, of step: Step) {
        if let draft = step.draft { draft.position = position } else { positions[step.name] = position }
    }

    /// Where a record stands whose parent stands at `above`.
    private func position(of name: RecordName, share: RecordName?, below above: FinalPosition) -> FinalPosition {
        switch above {
        case .placed(let level, let membership):
            let own = share.map { ShareMembership(root: name, share: $0) }
            return .placed(level: level + 1, membership: own ?? membership)
        case .onCycle(let wayCount), .belowCycle(let wayCount):
            return wayCount > zone.limits.hierarchyDepth ? .tooDeep : .belowCycle(wayCount: wayCount + 1)
        case .tooDeep: return .tooDeep
        }
    }

    /// The child with the smallest name that will exist below `parent`, or nil.
    func firstChild(of parent: RecordName) throws -> RecordName? {
        var first = smallestChildren[parent]
        try zone.visitChildren(of: parent) { child in
            if drafts[child.name] != nil { return .next }
            if first.map({ child.name < $0 }) ?? true { first = child.name }
            return .stop
        }
        return first
    }
}
