// The items of a request while it is planned, and the hierarchy as it will be afterwards.

import StratusLayout
import StratusModel
import StratusStore

/// A record of the request with its old state and its new one.
///
/// A class, because the steps look it up by name many times: copies would cost more than the steps.
final class RecordDraft {
    let name: RecordName
    let old: StoredState
    /// The record to store; nil for a deletion. It is large: use `isSaved` to learn whether there is one.
    let new: Record?
    /// Whether the item saves a record.
    let isSaved: Bool
    /// Whether a live record is stored under the name.
    let wasLive: Bool
    let oldParent: RecordName?
    let oldShare: RecordName?
    let newParent: RecordName?
    let newShare: RecordName?
    /// The parent that it will have, once all records of the request are known. Unowned, because a request may create a
    /// cycle of parents. The planner owns it.
    unowned var parent: NamedParent?
    /// Whether a saved record of the request names this one as its parent.
    var isNamedParent = false
    /// Whether anything is written. Deleting a record that does not exist writes nothing.
    let isEffective: Bool
    /// Whether the record moves to another parent, appears or disappears.
    let isPlacedAnew: Bool
    /// Whether its share mark appears, disappears or changes.
    let isMarkedAnew: Bool
    /// Whether an existing record moves or changes its mark, so that the records below it have another place.
    var isMoving: Bool { wasLive && (isPlacedAnew || isMarkedAnew) }
    /// Whether this request makes it a share root.
    let becomesRoot: Bool
    /// The old place in the hierarchy. Loaded when the place changes; nil otherwise and for a record that is new.
    var oldNode: ParentEntry?
    /// Its place after the request, once that is known.
    var position: FinalPosition?
    /// The sequence number of this write; 0 when nothing is written.
    var sequence: UInt64 = 0

    /// The live record that is stored under the name. It is large: use `wasLive` to learn whether there is one.
    var oldLive: LiveRecord? {
        if case .live(let live) = old { live } else { nil }
    }

    init(_ mutation: RecordMutation, old: StoredState) {
        self.old = old
        name = mutation.name
        if case .save(let record) = mutation {
            (isSaved, newParent, newShare) = (true, record.parent, record.share)
            new = record
        } else {
            (isSaved, newParent, newShare) = (false, nil, nil)
            new = nil
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

/// A record that saved records of the request name as their parent. It is looked up once, not for each of them.
final class NamedParent {
    let name: RecordName
    /// The parent's own item, if it is in the request.
    let draft: RecordDraft?
    /// The place of a parent that is not in the request, once that is known.
    var standing: FinalPosition?

    init(name: RecordName, draft: RecordDraft?) {
        self.name = name
        self.draft = draft
        draft?.isNamedParent = true
    }

    /// Its place after the request, once that is known.
    var position: FinalPosition? { if let draft { draft.position } else { standing } }
}

// All records of the request are placed before anything is checked, so the order of its items does not matter.

/// The place of a record after a request.
enum FinalPosition {
    /// `level` is 0 for a record without a parent. `membership` is the share the record is in, itself included.
    case placed(level: Int, membership: ShareMembership?)
    /// The record is its own ancestor, on a cycle of `wayCount` records.
    case onCycle(wayCount: Int)
    /// The way up from the record ends in a cycle that it is not part of, `wayCount` records in all.
    case belowCycle(wayCount: Int)
    /// The way up is longer than the depth limit.
    case tooDeep
}

struct FinalHierarchy {
    private let zone: ZoneReader
    private let drafts: [RecordName: RecordDraft]
    /// The places of records outside the request. A draft has its own.
    private var positions: [RecordName: FinalPosition] = [:]
    /// For every parent in the request, the child with the smallest name. Empty if it cannot be needed.
    private let smallestChildren: [RecordName: RecordName]
    /// The way up that is being walked. Its memory is reused.
    private var path: [Step] = []
    /// Whether all existing records keep their places.
    private let isStanding: Bool
    /// Whether the ancestor cache may be used for their places.
    private lazy var mayAskCache = isStanding && zone.isHierarchyPublished

    /// A record on the way up, with its draft if it is in the request.
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
        // Only an existing record can lose children: a plain load needs none of this.
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
        // Only an existing record gets a position, which the caller needs next.
        _ = try position(of: parent.name)
        parent.standing = positions[parent.name]
        return parent.position != nil
    }

    /// The place of a record of the request, computed from its parent's if that is known.
    mutating func position(of draft: RecordDraft) throws -> FinalPosition {
        if let known = draft.position { return known }
        guard draft.isSaved, let above = draft.parent?.position else { return try position(of: draft.name) }
        let position = position(of: draft.name, share: draft.newShare, below: above)
        draft.position = position
        return position
    }

    /// The parent and the share mark that a record will have; nil if it will not exist.
    private func place(_ name: RecordName, _ draft: RecordDraft?) throws -> PastNode? {
        if let draft {
            return draft.isSaved ? PastNode(parent: draft.newParent, share: draft.newShare) : nil
        }
        return try zone.node(name).map { PastNode(parent: $0.parent, share: $0.share) }
    }

    /// The place of a record. Places on the way are remembered, so a batch walks over every ancestor once. The answer
    /// is the same as that of a walk that remembers nothing and stops at the depth limit, so the order of calls does
    /// not matter.
    ///
    /// A way up that reaches a record that will not exist ends there: that record's own items are refused.
    ///
    /// The first record on the way that is not in the request is looked up in the cache, which usually knows the rest.
    mutating func position(of name: RecordName) throws -> FinalPosition {
        path.removeAll(keepingCapacity: true)
        var indexOnPath: [RecordName: Int] = [:]
        var current: RecordName? = name
        var end = FinalPosition.placed(level: -1, membership: nil)
        var hasAsked = false
        var walk = WalkReads(in: zone)
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
            if draft == nil { walk.willRead(placeOf: step) }
            guard let place = try place(step, draft) else { break }
            guard path.count <= zone.limits.hierarchyDepth else {
                // Too far for the first record of the path. Nothing is known about the others.
                remember(.tooDeep, of: path[0])
                return .tooDeep
            }
            // The first record of the path is compared by name, and most paths have no second.
            if !path.isEmpty { indexOnPath[step] = path.count }
            path.append(Step(name: step, draft: draft, share: place.share))
            current = place.parent
        }
        for step in path.reversed() {
            end = position(of: step.name, share: step.share, below: end)
            remember(end, of: step)
        }
        // The rest of the path begins with the record itself.
        return path.isEmpty ? knownPosition(name, drafts[name]) ?? end : end
    }

    private func knownPosition(_ name: RecordName, _ draft: RecordDraft?) -> FinalPosition? {
        if let draft { draft.position } else { positions[name] }
    }

    private mutating func remember(_ position: FinalPosition, of step: Step) {
        if let draft = step.draft { draft.position = position } else { positions[step.name] = position }
    }

    /// The place of a record whose parent has the place `above`.
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
