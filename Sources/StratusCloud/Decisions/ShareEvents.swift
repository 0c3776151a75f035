// What happened to a share, derived from its content before and after: (before, after, actor) → events. So every change
// is in the trail, from any writer. Only the approval of requesters is not in the contents, because people are invited
// by any address: the decision about the save names them.

import StratusModel

enum ShareEvents {
    /// The events, in the order of the trail. A nil content means that the share does not exist. `approved` are the
    /// people who had requested access and are invited now.
    static func between(
        _ old: ShareContent?, _ new: ShareContent?, approved: [UserName] = [], share: RecordName, stamp: Stamp
    ) -> [ShareTrailEvent] {
        func event(_ kind: ShareEventKind) -> ShareTrailEvent {
            ShareTrailEvent(date: stamp.date, actor: stamp.user, kind: kind, share: share, root: new?.root ?? old?.root)
        }
        guard let new else { return old == nil ? [] : [event(.stopped)] }
        guard let old else {
            let nobody = ShareContent(root: new.root, token: new.token, participants: [])
            return [event(.shared)] + comings(nobody, new, event)
                + requests(nobody, new, approved, event)
        }
        var events: [ShareTrailEvent] = []
        if old.publicPermission != new.publicPermission {
            var change = event(.publicPermissionChanged)
            (change.oldPermission, change.newPermission) = (old.publicPermission, new.publicPermission)
            events.append(change)
        }
        events += goings(old, new, actor: stamp.user, event)
        events += comings(old, new, event)
        events += requests(old, new, approved, event)
        return events
    }

    private typealias Maker = (ShareEventKind) -> ShareTrailEvent

    /// Participants who left or were removed. For a blocked one there is only the event of blocking.
    private static func goings(
        _ old: ShareContent, _ new: ShareContent, actor: UserName, _ make: Maker
    ) -> [ShareTrailEvent] {
        let staying = Set(new.participants.map(\.id))
        let blocked = Set(new.blocked.map(\.user))
        return old.participants.compactMap { participant in
            guard !staying.contains(participant.id) else { return nil }
            if let user = participant.user, blocked.contains(user) { return nil }
            let hasLeft = participant.status == .accepted && participant.user == actor
            return make(hasLeft ? .left : .removed).about(participant)
        }
    }

    /// Participants who are new, have accepted, or have another role or permission.
    private static func comings(_ old: ShareContent, _ new: ShareContent, _ make: Maker) -> [ShareTrailEvent] {
        let before = Dictionary(old.participants.map { ($0.id, $0) }) { first, _ in first }
        var events: [ShareTrailEvent] = []
        for participant in new.participants where participant.role != .owner {
            guard let known = before[participant.id] else {
                let kind: ShareEventKind = participant.status == .accepted ? .joined : .invited
                events.append(make(kind).about(participant))
                continue
            }
            if known.status == .pending, participant.status == .accepted {
                events.append(make(.joined).about(participant))
            }
            if known.role != participant.role {
                var change = make(.roleChanged).about(participant)
                (change.oldRole, change.newRole) = (known.role, participant.role)
                events.append(change)
            }
            // Public users have the share's public permission, and change with it.
            if known.permission != participant.permission, participant.role != .publicUser {
                var change = make(.permissionChanged).about(participant)
                (change.oldPermission, change.newPermission) = (known.permission, participant.permission)
                events.append(change)
            }
        }
        return events
    }

    /// People who have asked, were denied, blocked or unblocked.
    private static func requests(
        _ old: ShareContent, _ new: ShareContent, _ approved: [UserName], _ make: Maker
    ) -> [ShareTrailEvent] {
        let admitted = Set(approved).union(new.participants.compactMap(\.user))
        let (before, after) = (Set(old.requesters.map(\.user)), Set(new.requesters.map(\.user)))
        let (blockedBefore, blockedAfter) = (Set(old.blocked.map(\.user)), Set(new.blocked.map(\.user)))
        let asked = new.requesters.filter { !before.contains($0.user) }
        let denied = old.requesters.filter { requester in
            !after.contains(requester.user) && !blockedAfter.contains(requester.user)
                && !admitted.contains(requester.user)
        }
        let blocked = new.blocked.filter { !blockedBefore.contains($0.user) }
        let unblocked = old.blocked.filter { !blockedAfter.contains($0.user) }
        return asked.map { make(.accessRequested).about($0) } + denied.map { make(.requestDenied).about($0) }
            + blocked.map { make(.blocked).about($0) } + unblocked.map { make(.unblocked).about($0) }
    }
}

extension ShareTrailEvent {
    fileprivate func about(_ participant: ShareParticipant) -> ShareTrailEvent {
        var event = self
        event.participant = participant.id
        event.user = participant.user
        if case .handle(let handle)? = participant.invitation { event.handle = handle }
        return event
    }

    fileprivate func about(_ petitioner: SharePetitioner) -> ShareTrailEvent {
        var event = self
        event.participant = petitioner.id
        event.user = petitioner.user
        event.handle = petitioner.handle
        return event
    }
}
