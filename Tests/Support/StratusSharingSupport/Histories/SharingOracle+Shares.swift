// What becomes of a step, part two: shares.

import StratusKit

extension SharingOracle {
    package mutating func applyToShare(_ step: SharingStep) -> Answers {
        switch step {
        case .share(let user, let zone, let root, let share): return makeShare(share, root: root, by: user, zone)
        case .shareZone(let user, let zone):
            return makeShare(SharingHistory.zoneShare, root: nil, by: user, zone)
        case .accept(let user, let zone, let share): return accept(share, by: user, zone)
        case .invite(let user, let zone, let share, let other, let permission, let role):
            return invite(other, to: share, permission, role, by: user, zone)
        case .remove(let user, let zone, let share, let other):
            return edit(share, about: other, by: user, zone) { oracle, content in
                // C-17, as the client says.
                guard content.publicPermission == .none else { return .refused(.invalidArguments) }
                if oracle.fault != .removedStays { content.members.removeAll { $0.user == other } }
                return .done
            }
        case .permit(let user, let zone, let share, let other, let permission):
            return edit(share, about: other, by: user, zone) { _, content in
                // it is unknown for public users.
                guard content.member(other)?.role != .publicUser else { return [.done, .refused(.invalidArguments)] }
                content.change(other) { $0.permission = permission }
                return .done
            }
        case .publish(let user, let zone, let share, let permission):
            return edit(share, about: nil, by: user, zone) { oracle, content in
                oracle.publish(&content, permission)
                return .done
            }
        case .rename(let user, let zone, let share, let title):
            return edit(share, about: nil, by: user, zone) { _, content in
                content.title = title
                return .done
            }
        default: return [.strange("not a step about shares")]
        }
    }

    // MARK: Making

    private mutating func makeShare(_ share: String, root: String?, by user: Int, _ zone: Int) -> Answers {
        guard owns(user, zone) else {
            // SH-01: only in the private database.
            let answers: Answers = .refused(.invalidArguments, .permissionFailure)
            guard let content = sees(user, zone) else { return answers.union(Answers.refused(.zoneNotFound)) }
            // A person who sees that very share may learn that it exists.
            let isKnown = content.shares[share] != nil && seesShare(user, share, zone, content)
            return isKnown ? answers.union(Answers.refused(.alreadyShared)) : answers
        }
        guard var content = zones[zone] else { return .refused(.zoneNotFound) }
        // SH-07, SH-08, SH-09: one share of the whole zone, or many that do not overlap.
        if let root {
            let isCovered = chain(root, in: content).contains { self.share(ofRoot: $0, in: content) != nil }
            let isNested = isCovered || hasRoot(atOrBelow: root, in: content)
            if isNested, fault != .nestedShares || self.share(ofRoot: root, in: content) != nil {
                return .refused(.alreadyShared)
            }
            if content.shares[SharingHistory.zoneShare] != nil, fault != .zoneWideBesideOthers {
                return .refused(.alreadyShared)
            }
            if content.records[root] == nil {
                content.records[root] = OracleRecord(parent: nil, value: 0, birth: nextBirth())
            }
        } else if !content.shares.isEmpty {
            let isSecond = content.shares[SharingHistory.zoneShare] != nil
            if isSecond || fault != .zoneWideBesideOthers { return .refused(.alreadyShared) }
        }
        content.shares[share] = OracleShare(root: root)
        zones[zone] = content
        urls[zone, default: [:]][share] = OracleURL(
            zoneBirth: content.birth, root: root, rootBirth: root.flatMap { content.records[$0]?.birth },
            share: fault == .urlOfShare ? share : nil)
        return .done
    }

    // MARK: Changing

    /// A person fetches a share, changes it as `change` says and saves it. With `other` the change is one of their
    /// entry, and there is none if the person does not see them in the share.
    package mutating func edit(
        _ share: String, about other: Int?, by user: Int, _ zone: Int,
        _ change: (SharingOracle, inout OracleShare) -> Answers = { _, _ in .done }
    ) -> Answers {
        guard let content = sees(user, zone) else { return .refused(.zoneNotFound) }
        guard var changed = content.shares[share], seesShare(user, share, zone, content) else {
            return .refused(.unknownItem)
        }
        if let other, !visibleMembers(of: changed, to: user, zone).contains(where: { $0.user == other }) {
            return .done
        }
        let mayChange = administers(user, changed, zone)
        let answers = change(self, &changed)
        guard mayChange else {
            // A mistake in the client's own object may be noticed first.
            return answers.subtracting(.done).union(Answers.refused(.permissionFailure))
        }
        if answers == .done { zones[zone]?.shares[share] = changed }
        return answers
    }

    package mutating func invite(
        _ other: Int, to share: String, _ permission: Permission, _ role: Role, _ way: OracleWay = .email,
        by user: Int, _ zone: Int
    ) -> Answers {
        edit(share, about: nil, by: user, zone) { oracle, content in
            guard content.publicPermission == .none else { return .refused(.invalidArguments) }
            guard let present = content.member(other) else {
                // P-20: a blocked person is unblocked first.
                guard !content.blocked.contains(other) else { return .refused(.invalidArguments) }
                content.members.append(
                    OracleMember(
                        user: other, role: role, permission: permission, way: way,
                        isApproved: content.requesters.contains(other)))
                if oracle.fault != .invitedGoOnAsking { content.requesters.removeAll { $0 == other } }
                return .done
            }
            // C-16: an existing participant is changed. P-17: not by another handle, unless both resolve to their user
            // record, to which an address of a suspended account does not.
            let isNamed = present.hasAccepted || present.way == .userRecord
            let isFound = way == .userRecord || !oracle.suspended.contains(other)
            let isKnown = way == present.way || isNamed && isFound
            guard isKnown || oracle.fault == .twoWaysIn else { return .refused(.participantAlreadyInvited) }
            content.change(other) { member in
                member.role = role
                member.permission = permission
            }
            return .done
        }
    }

    /// P-06, P-07, X-14.
    private func publish(_ content: inout OracleShare, _ permission: Permission) {
        guard permission != content.publicPermission else { return }
        if fault != .pendingOutlastsPublishing { content.members.removeAll { !$0.hasAccepted } }
        content.publicPermission = permission
        if permission == .none {
            if fault != .unpublishingKeepsAll { content.members = [] }
            return
        }
        for index in content.members.indices where content.members[index].hasAccepted {
            // An administrator is neither private nor public, and stays unchanged.
            if content.members[index].role == .administrator { continue }
            if fault != .publishedStayPrivate { content.members[index].role = .publicUser }
            if fault != .publicPermissionIsKept { content.members[index].permission = permission }
        }
    }

    // MARK: Joining

    private mutating func accept(_ share: String, by user: Int, _ zone: Int) -> Answers {
        guard let name = target(of: share, zone), var joined = zones[zone]?.shares[name] else {
            return .refused(.unknownItem)
        }
        if owns(user, zone) { return .done }
        if let member = joined.member(user) {
            if member.hasAccepted, fault == .acceptingTwiceFails { return .refused(.participantAlreadyInvited) }
            joined.change(user) { $0.hasAccepted = true }
        } else if joined.blocked.contains(user), fault != .blockedMayJoin {
            //
            return outsiderAnswer(joined)
        } else if joined.publicPermission != .none || fault == .strangersJoin {
            // P-05.
            joined.members.append(
                OracleMember(
                    user: user, role: .publicUser, permission: joined.publicPermission, way: .open, hasAccepted: true))
        } else {
            return outsiderAnswer(joined)
        }
        joined.requesters.removeAll { $0 == user }
        zones[zone]?.shares[name] = joined
        return .done
    }

    /// The share that a share's last URL opens now.
    package func target(of share: String, _ zone: Int) -> String? {
        guard let url = urls[zone]?[share], let content = zones[zone], content.birth == url.zoneBirth,
            url.root.map({ content.records[$0]?.birth == url.rootBirth }) ?? true
        else { return nil }
        return content.shares.first { $0.value.root == url.root }?.key
    }
}
