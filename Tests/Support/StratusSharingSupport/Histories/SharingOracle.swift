// Sharing, implemented naively: dictionaries that are searched completely. It shares no code with the server; each
// decision is a sentence of the rules, and an answer is the set of all allowed ones.

import StratusKit

/// A wrong rule, to show that the checker of histories finds it.
package enum SharingFault: String, CaseIterable, Sendable {
    case pendingSees, permissionNoneSees, readOnlyWrites, looseCreation, participantsDeleteRoots, parentsCanBeDeleted
    case nestedShares, zoneWideBesideOthers, anybodyChangesShares, administratorsChangeNothing, leavingEndsAll
    case removedStays, stoppingEndsNothing, rootKeepsShare, pendingOutlastsPublishing, publicPermissionIsKept
    case unpublishingKeepsAll, publishedStayPrivate, strangersJoin, suspendedSees, urlOfShare, rootParentIsSeen
    case everybodySeesPending, movedOutStays, zoneOutlivesLastShare, acceptingTwiceFails, unseenDeletionFails
    case uninvitedMayAsk, blockedMayAsk, blockedMayJoin, deniedGoOnAsking, blockedForEver, requestersAreSeen
    case invitedGoOnAsking, outsidersLearnNothing, oneTimeForMany, oneTimeBesideInvitation, twoWaysIn
    case nobodyLeavesNothing
}

/// How a person joined a share.
package enum OracleWay: Hashable, Sendable {
    case email
    case userRecord
    case oneTime(Int)
    /// By the URL of a public share.
    case open
}

/// Somebody in a share.
package struct OracleMember: Hashable, Sendable {
    /// Nil for the first user of a one-time URL.
    package var user: Int?
    package var role: Role
    package var permission: Permission
    package var way = OracleWay.email
    package var hasAccepted = false
    /// Whether they had requested access.
    package var isApproved = false
}

/// A share, of a record or of the whole zone.
package struct OracleShare: Hashable, Sendable {
    /// Nil for the whole zone.
    package var root: String?
    package var publicPermission = Permission.none
    package var title: Int?
    /// All but the owner.
    package var members: [OracleMember] = []
    package var allowsRequests = false
    package var requesters: [Int] = []
    package var blocked: [Int] = []

    package func member(_ user: Int) -> OracleMember? { members.first { $0.user == user } }

    package mutating func change(_ user: Int, _ change: (inout OracleMember) -> Void) {
        for index in members.indices where members[index].user == user { change(&members[index]) }
    }
}

/// A record that is no share.
package struct OracleRecord: Hashable, Sendable {
    package var parent: String?
    package var value: Int
    /// The time of its creation: a root that was deleted and recreated is another root.
    package var birth: Int
}

/// Everything in a zone.
package struct OracleZone: Hashable, Sendable {
    package var birth: Int
    package var records: [String: OracleRecord] = [:]
    package var shares: [String: OracleShare] = [:]
}

/// What a URL belongs to: a root, or a zone, as long as it lives.
package struct OracleURL: Hashable, Sendable {
    package var zoneBirth: Int
    package var root: String?
    package var rootBirth: Int?
    /// Only if the oracle has a wrong rule.
    package var share: String?
}

/// Everyone's data, and what each of them may see of it.
package struct SharingOracle: Sendable {
    package var fault: SharingFault?
    package var zones: [Int: OracleZone] = [:]
    package var suspended: Set<Int> = []
    /// A share's last URL, by zone and name.
    package var urls: [Int: [String: OracleURL]] = [:]
    /// The zone and the share of every known one-time URL.
    package var oneTimeURLs: [Int: (zone: Int, share: String)] = [:]
    private var births = 0

    package init(fault: SharingFault? = nil) { self.fault = fault }

    package mutating func nextBirth() -> Int {
        births += 1
        return births
    }

    // MARK: Hierarchy

    /// The record itself and its ancestors, from below. The rules exclude cycles.
    package func chain(_ name: String, in zone: OracleZone) -> [String] {
        var chain = [name]
        while let parent = zone.records[chain[chain.count - 1]]?.parent, !chain.contains(parent) {
            chain.append(parent)
        }
        return chain
    }

    package func children(of name: String, in zone: OracleZone) -> [String] {
        zone.records.filter { $0.value.parent == name }.keys.sorted()
    }

    package func share(ofRoot name: String, in zone: OracleZone) -> String? {
        zone.shares.first { $0.value.root == name }?.key
    }

    /// The share that a record is in: that of the zone, or of the first root on its way up (SH-05, SH-06).
    package func share(covering name: String, in zone: OracleZone) -> String? {
        if zone.shares[SharingHistory.zoneShare] != nil { return SharingHistory.zoneShare }
        if fault == .movedOutStays, zone.records[name]?.parent == nil { return zone.shares.keys.sorted().first }
        return chain(name, in: zone).lazy.compactMap { share(ofRoot: $0, in: zone) }.first
    }

    /// Whether a root is at a record or below it.
    package func hasRoot(atOrBelow name: String, in zone: OracleZone) -> Bool {
        zone.shares.values.contains { share in
            share.root.map { chain($0, in: zone).contains(name) } ?? false
        }
    }

    // MARK: Access

    package func owns(_ user: Int, _ zone: Int) -> Bool { SharingHistory.owners[zone] == user }

    /// What a person who is not the owner may do with a share, and with its contents.
    package func permission(of user: Int, in share: String?, _ zone: OracleZone) -> Permission {
        guard let share, let content = zone.shares[share], let member = content.member(user) else { return .none }
        guard member.hasAccepted || fault == .pendingSees else { return .none }
        if member.permission == .none, fault == .permissionNoneSees { return .readOnly }
        if member.permission == .readOnly, fault == .readOnlyWrites { return .readWrite }
        return member.permission
    }

    /// Whether the zone exists for a person: their own, or one in which they see something.
    package func sees(_ user: Int, _ zone: Int) -> OracleZone? {
        guard let content = zones[zone] else { return nil }
        if owns(user, zone) { return content }
        let isVisible = content.shares.keys.contains { permission(of: user, in: $0, content) != .none }
        return isVisible || fault == .zoneOutlivesLastShare ? content : nil
    }

    package func reads(_ user: Int, _ name: String, _ zone: Int, _ content: OracleZone) -> Bool {
        owns(user, zone) || permission(of: user, in: share(covering: name, in: content), content) != .none
    }

    package func writes(_ user: Int, _ name: String, _ zone: Int, _ content: OracleZone) -> Bool {
        owns(user, zone) || permission(of: user, in: share(covering: name, in: content), content) == .readWrite
    }

    ///
    package func administers(_ user: Int, _ share: OracleShare, _ zone: Int) -> Bool {
        if owns(user, zone) || fault == .anybodyChangesShares { return true }
        return share.member(user)?.role == .administrator && fault != .administratorsChangeNothing
    }
}
