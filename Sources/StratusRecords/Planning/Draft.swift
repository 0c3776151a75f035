// One item of a request while it is being planned: what is stored, and what will be.

import StratusLayout
import StratusModel

/// A record of the request with its old state and its new one.
///
/// A class, because the steps look it up by name again and again: copying its parts each time would cost more than the
/// steps do.
final class Draft {
    let name: RecordName
    let old: RecordState
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

    init(_ mutation: RecordMutation, old: RecordState) {
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
    let draft: Draft?
    /// Where a parent that is none of the request's stands, once that is known.
    private var standing: FinalPosition?

    init(name: RecordName, draft: Draft?) {
        self.name = name
        self.draft = draft
        draft?.isNamedParent = true
    }

    /// Where it will stand, once that is known.
    var position: FinalPosition? { if let draft { draft.position } else { standing } }

    func stand(at position: FinalPosition?) { standing = position }
}
