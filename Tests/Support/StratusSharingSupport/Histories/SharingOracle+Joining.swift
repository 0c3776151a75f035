// The effects of a step, part three: joining a share, and being kept out.

import StratusKit

extension SharingOracle {
    package mutating func apply(_ step: JoiningStep) -> Answers {
        let (user, zone, share) = (step.user, step.zone, step.share)
        switch step.deed {
        case .ask: return ask(for: share, by: user, zone)
        case .acceptOnce(let url): return accept(once: url, by: user)
        case .allowRequests(let isOn):
            return decide(share, by: user, zone) { _, content in content.allowsRequests = isOn }
        case .deny(let other):
            return decide(share, about: other, \.requesters, by: user, zone) { oracle, content in
                if oracle.fault != .deniedGoOnAsking { content.requesters.removeAll { $0 == other } }
            }
        case .block(let other):
            return decide(share, about: other, \.requesters, by: user, zone) { _, content in
                content.requesters.removeAll { $0 == other }
                content.blocked.append(other)
            }
        case .unblock(let other):
            return decide(share, about: other, \.blocked, by: user, zone) { oracle, content in
                if oracle.fault != .blockedForEver { content.blocked.removeAll { $0 == other } }
            }
        case .approve(let other, let permission):
            // A request that is not visible cannot be approved.
            guard let stored = fetched(share, by: user, zone) else { return edit(share, about: nil, by: user, zone) }
            guard isKeeper(user, stored, zone), stored.requesters.contains(other) else { return .done }
            return invite(other, to: share, permission, .privateUser, by: user, zone)
        case .inviteByRecord(let other, let permission):
            return invite(other, to: share, permission, .privateUser, .userRecord, by: user, zone)
        case .inviteOnce(let url, let permission): return invite(once: url, share, permission, by: user, zone)
        case .revoke(let url):
            guard let stored = fetched(share, by: user, zone) else { return edit(share, about: nil, by: user, zone) }
            let isShown = visibleMembers(of: stored, to: user, zone).contains { $0.way == .oneTime(url) }
            guard isShown else { return .done }
            return edit(share, about: nil, by: user, zone) { oracle, content in
                guard content.publicPermission == .none else { return .refused(.invalidArguments) }
                content.members.removeAll { $0.way == .oneTime(url) }
                return .done
            }
        }
    }

    /// The share that a person fetches before changing it; nil if they do not see it.
    private func fetched(_ share: String, by user: Int, _ zone: Int) -> OracleShare? {
        guard let content = sees(user, zone), seesShare(user, share, zone, content) else { return nil }
        return content.shares[share]
    }

    // MARK: Asking

    /// P-20: a person outside the share who may ask is recorded, once; others learn only that the request was sent.
    private mutating func ask(for share: String, by user: Int, _ zone: Int) -> Answers {
        guard let name = target(of: share, zone), var content = zones[zone]?.shares[name] else {
            return .refused(.unknownItem)
        }
        if owns(user, zone) || content.member(user) != nil { return .done }
        let isBlocked = content.blocked.contains(user) && fault != .blockedMayAsk
        // A person who can join need not ask.
        if !content.blocked.contains(user), content.publicPermission != .none { return .done }
        guard content.allowsRequests || fault == .uninvitedMayAsk else { return .refused(.unknownItem) }
        if isBlocked || content.requesters.contains(user) { return .done }
        content.requesters.append(user)
        zones[zone]?.shares[name] = content
        return .done
    }

    /// M-04: an outsider learns of a share only if requests are allowed.
    package func outsiderAnswer(_ content: OracleShare) -> Answers {
        content.allowsRequests && fault != .outsidersLearnNothing
            ? .refused(.permissionFailure) : .refused(.unknownItem)
    }

    /// A person fetches a share, decides about requests for access and saves it. To others than owner and
    /// administrators it is a mistake that their own object remembers (P-14). Where `other` is not seen on the list,
    /// there is nothing to decide.
    private mutating func decide(
        _ share: String, about other: Int? = nil, _ list: KeyPath<OracleShare, [Int]>? = nil, by user: Int, _ zone: Int,
        _ change: (SharingOracle, inout OracleShare) -> Void
    ) -> Answers {
        guard let content = sees(user, zone) else { return .refused(.zoneNotFound) }
        guard let stored = content.shares[share], seesShare(user, share, zone, content) else {
            return .refused(.unknownItem)
        }
        let isKeeper = isKeeper(user, stored, zone)
        if let other, let list, !isKeeper || !stored[keyPath: list].contains(other) { return .done }
        guard isKeeper else { return .refused(.permissionFailure, .invalidArguments) }
        return edit(share, about: nil, by: user, zone) { oracle, content in
            change(oracle, &content)
            return .done
        }
    }

    // MARK: One-time URLs

    private mutating func invite(
        once url: Int, _ share: String, _ permission: Permission, by user: Int, _ zone: Int
    ) -> Answers {
        let answers = edit(share, about: nil, by: user, zone) { _, content in
            guard content.publicPermission == .none else { return .refused(.invalidArguments) }
            content.members.append(
                OracleMember(user: nil, role: .privateUser, permission: permission, way: .oneTime(url)))
            return .done
        }
        if answers == .done { oneTimeURLs[url] = (zone, share) }
        return answers
    }

    /// P-16, P-17: the first user, unless they are invited otherwise.
    private mutating func accept(once url: Int, by user: Int) -> Answers {
        func holds(_ share: OracleShare) -> Bool { share.members.contains { $0.way == .oneTime(url) } }
        guard let zone = zones.first(where: { $0.value.shares.values.contains(where: holds) })?.key,
            let name = zones[zone]?.shares.first(where: { holds($0.value) })?.key,
            var content = zones[zone]?.shares[name]
        else { return .refused(.unknownItem) }
        if owns(user, zone) { return .done }
        if let member = content.member(user) {
            if member.hasAccepted { return .done }
            if fault != .oneTimeBesideInvitation { return .refused(.participantAlreadyInvited) }
        }
        if content.blocked.contains(user) { return outsiderAnswer(content) }
        guard let index = content.members.firstIndex(where: { $0.way == .oneTime(url) }) else {
            return .refused(.unknownItem)
        }
        if content.members[index].user != nil {
            guard fault == .oneTimeForMany else { return outsiderAnswer(content) }
            content.members[index].user = nil
        }
        content.members[index].user = user
        content.members[index].hasAccepted = true
        content.requesters.removeAll { $0 == user }
        zones[zone]?.shares[name] = content
        return .done
    }
}
