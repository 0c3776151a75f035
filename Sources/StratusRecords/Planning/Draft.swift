// One item of a request while it is being planned: what is stored, and what will be.

import StratusLayout
import StratusModel

/// A record of the request with its old state and its new one.
struct Draft {
    let name: RecordName
    let old: RecordState
    /// What is to be stored; nil for a deletion.
    let new: Record?
    /// The old place in the hierarchy. Loaded when the place changes; nil otherwise and for a record that is new.
    var oldNode: HierarchyNode?
    /// The sequence number of this write; 0 when nothing is written.
    var sequence: UInt64 = 0

    var oldLive: LiveRecord? {
        if case .live(let live) = old { live } else { nil }
    }

    var oldParent: RecordName? { oldLive?.header.parent }
    var oldShare: RecordName? { oldLive?.header.share }

    /// Whether anything is written: deleting what does not exist is not.
    var isEffective: Bool { new != nil || oldLive != nil }

    /// Whether the record hangs elsewhere afterwards than before, appears or disappears.
    var isPlacedAnew: Bool {
        guard let oldLive, let new else { return isEffective }
        return oldLive.header.parent != new.parent
    }

    /// Whether its share mark appears, goes or changes.
    var isMarkedAnew: Bool { oldShare != new?.share }

    /// Whether it becomes a share root by this request.
    var becomesRoot: Bool { oldShare == nil && new?.share != nil }
}
