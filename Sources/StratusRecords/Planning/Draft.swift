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
    let oldLive: LiveRecord?
    let oldParent: RecordName?
    let oldShare: RecordName?
    let newParent: RecordName?
    let newShare: RecordName?
    /// Whether anything is written: deleting what does not exist is not.
    let isEffective: Bool
    /// Whether the record hangs elsewhere afterwards than before, appears or disappears.
    let isPlacedAnew: Bool
    /// Whether its share mark appears, goes or changes.
    let isMarkedAnew: Bool
    /// Whether it was there and will not stay where it is, as it is: what lies below it stands elsewhere then.
    var isMoving: Bool { oldLive != nil && (isPlacedAnew || isMarkedAnew) }
    /// Whether it becomes a share root by this request.
    let becomesRoot: Bool
    /// The old place in the hierarchy. Loaded when the place changes; nil otherwise and for a record that is new.
    var oldNode: HierarchyNode?
    /// Where it will stand, once that is known.
    var position: FinalPosition?
    /// The sequence number of this write; 0 when nothing is written.
    var sequence: UInt64 = 0

    init(name: RecordName, old: RecordState, new: Record?) {
        self.name = name
        self.old = old
        self.new = new
        var live: LiveRecord?
        if case .live(let found) = old { live = found }
        isSaved = new != nil
        oldLive = live
        oldParent = live?.header.parent
        oldShare = live?.header.share
        newParent = new?.parent
        newShare = new?.share
        isEffective = isSaved || live != nil
        isPlacedAnew = live != nil && isSaved ? oldParent != newParent : isEffective
        isMarkedAnew = oldShare != newShare
        becomesRoot = oldShare == nil && newShare != nil
    }
}
