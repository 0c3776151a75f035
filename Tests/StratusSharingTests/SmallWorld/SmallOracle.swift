// The rules, naively, for a world without changes: each line is one sentence of the specification.

import StratusKit
import StratusSharingSupport

/// A wrong rule, to show that trying finds it.
enum SmallFault: CaseIterable, Sendable {
    case pendingSees, nobodySees, permissionNoneSees, readOnlyWrites, siblingsAreCovered, childrenOnlyAreCovered
    case movedInIsOut, movedOutIsIn, zoneWideNeedsRoot, creatingNeedsNoParent, rootCanBeDeleted, parentsCanBeDeleted
    case unseenDeletionFails, writersChangeShare, administratorsChangeNothing, onlyOwnersEnd, blockedMayJoin
    case strangersMayJoin, nobodyMayRejoin, nobodyLeavesNothing
}

/// What a person may do in a small world.
struct SmallOracle: Sendable {
    let world: SmallWorld
    var fault: SmallFault?

    private var isOwner: Bool { world.role == .owner }

    /// An accepted participant with a permission sees something (M-08, P-09); others have no such zone.
    var sees: Bool {
        switch world.status {
        case .accepted: world.permission != .none || fault == .permissionNoneSees
        case .pending: fault == .pendingSees && world.permission != .none
        default: fault == .nobodySees
        }
    }

    /// P-10.
    var writes: Bool { isOwner || world.permission == .readWrite || fault == .readOnlyWrites }

    /// SH-05, D-03, D-04: the root and its current descendants, or everything.
    func covers(_ position: SmallPosition) -> Bool {
        if isOwner { return true }
        if world.kind == .zoneWide, fault != .zoneWideNeedsRoot { return true }
        switch position {
        case .root: return true
        case .child: return true
        case .grandchild: return fault != .childrenOnlyAreCovered
        case .movedIn: return fault != .movedInIsOut
        case .sibling: return fault == .siblingsAreCovered
        case .movedOut: return fault == .movedOutIsIn
        case .outside: return false
        }
    }

    func outcome(_ attempt: SmallTry) -> Outcome {
        if attempt == .joinAgain { return joining }
        // P-13: a place without any permission can be given up too.
        if attempt == .leave, world.status == .accepted, !sees, fault != .nobodyLeavesNothing { return .done }
        guard sees else { return .refused(.zoneNotFound) }
        switch attempt {
        case .record(let action, let position): return outcome(action, position)
        // P-11: only a shared zone accepts records without a parent.
        case .createRootless:
            let isFree = isOwner || world.kind == .zoneWide || fault == .creatingNeedsNoParent
            return isFree && writes ? .done : .refused(.permissionFailure)
        case .readShare: return .done
        //
        case .changeShare:
            let mayChange =
                isOwner || world.role == .administrator && fault != .administratorsChangeNothing
                || fault == .writersChangeShare && writes
            return mayChange ? .done : .refused(.permissionFailure)
        // P-13, SH-10.
        case .leave: return isOwner || fault != .onlyOwnersEnd ? .done : .refused(.permissionFailure)
        case .joinAgain: return joining
        }
    }

    private func outcome(_ action: SmallAction, _ position: SmallPosition) -> Outcome {
        let isCovered = covers(position)
        let isWritable = isCovered && writes
        switch action {
        case .read: return isCovered ? .done : .refused(.unknownItem)
        case .change, .createBelow, .moveIn: return isWritable ? .done : .refused(.permissionFailure)
        // Nobody but the owner moves anything out of the tree (P-11).
        case .moveOut:
            let isFree = isOwner || world.kind == .zoneWide && fault != .zoneWideNeedsRoot
            return isWritable && isFree ? .done : .refused(.permissionFailure)
        case .delete:
            // What one does not see is not there, and deleting that succeeds (S-20).
            if !isCovered { return fault == .unseenDeletionFails ? .refused(.unknownItem) : .done }
            if !isWritable { return .refused(.permissionFailure) }
            let isRoot = position == .root && world.kind == .hierarchical
            if isRoot, !isOwner, fault != .rootCanBeDeleted { return .refused(.permissionFailure) }
            let isLeaf = SmallPosition.leaves.contains(position) || fault == .parentsCanBeDeleted
            return isLeaf ? .done : .refused(.referenceViolation)
        }
    }

    /// What the URL leads to after `leave` was tried (M-04, M-05, M-06, P-05, X-18).
    private var joining: Outcome {
        if isOwner { return .refused(.unknownItem) }
        let isParticipant = !sees && world.status == .pending
        let isOpen = world.publicPermission != .none && fault != .nobodyMayRejoin || fault == .strangersMayJoin
        let isBlocked = world.status == .blocked && fault != .blockedMayJoin
        return isParticipant || isOpen && !isBlocked ? .done : .refused(.unknownItem)
    }

    // MARK: Effects

    /// Whether an attempt of this kind has changed the owner's view of the record.
    func hasEffect(_ action: SmallAction, _ position: SmallPosition) -> Bool {
        sees && covers(position) && outcome(action, position) == .done
    }
}
