// The view of each person, in words: what a fetch finds of every record and share, and the zones of the shared
// database.

import StratusKit

extension SharingOracle {
    /// Whether a person sees the share's own record: its owner, and people who have accepted it with a permission.
    package func seesShare(_ user: Int, _ share: String, _ zone: Int, _ content: OracleZone) -> Bool {
        owns(user, zone) || permission(of: user, in: share, content) != .none
    }

    /// X-15: owner and administrators see everyone, others those who have accepted.
    package func visibleMembers(of share: OracleShare, to user: Int, _ zone: Int) -> [OracleMember] {
        let isKeeper = isKeeper(user, share, zone)
        return share.members.filter {
            isKeeper || $0.hasAccepted || $0.user == user || fault == .everybodySeesPending
        }
    }

    /// Whether a person decides about a share: its owner, and its administrators (P-14).
    package func isKeeper(_ user: Int, _ share: OracleShare, _ zone: Int) -> Bool {
        owns(user, zone) || share.member(user)?.role == .administrator
    }

    /// The zones of a person's shared database, one shared as a whole with a star; or an error.
    package func sharedZones(of user: Int) -> String {
        if suspended.contains(user), fault != .suspendedSees { return "notAuthenticated" }
        let names = zones.keys.sorted().filter { !owns(user, $0) }.compactMap { zone in
            sees(user, zone).map { content in
                SharingHistory.zoneNames[zone] + (content.shares[SharingHistory.zoneShare] == nil ? "" : "*")
            }
        }
        return names.joined(separator: " ")
    }

    /// The result of a fetch.
    package func view(_ name: String, of user: Int, _ zone: Int) -> String {
        if suspended.contains(user), fault != .suspendedSees { return "notAuthenticated" }
        guard let content = sees(user, zone) else { return "zoneNotFound" }
        if let share = content.shares[name] {
            return seesShare(user, name, zone, content) ? view(share, of: user, zone) : "unknownItem"
        }
        guard let record = content.records[name], reads(user, name, zone, content) else { return "unknownItem" }
        let share = share(ofRoot: name, in: content)
        // X-06.
        let isParentHidden = share != nil && !owns(user, zone) && fault != .rootParentIsSeen
        let parent = isParentHidden ? nil : record.parent
        return RecordView.text(value: record.value, parent: parent, share: share)
    }

    private func view(_ share: OracleShare, of user: Int, _ zone: Int) -> String {
        let members = visibleMembers(of: share, to: user, zone).map { member in
            RecordView.text(
                user: member.user, role: member.role, permission: member.permission, hasAccepted: member.hasAccepted,
                isSelf: member.user == user, isApproved: member.isApproved)
        }
        let owner = RecordView.text(
            user: SharingHistory.owners[zone], role: .owner, permission: .readWrite, hasAccepted: true,
            isSelf: owns(user, zone))
        // X-15.
        let isTold = isKeeper(user, share, zone) || fault == .requestersAreSeen
        return RecordView.text(
            publicPermission: share.publicPermission, title: share.title, participants: members + [owner],
            allowsRequests: share.allowsRequests, requesters: isTold ? share.requesters : [],
            blocked: isTold ? share.blocked : [])
    }
}

/// How the oracle and the runner describe views.
package enum RecordView {
    package static func text(value: Int, parent: String?, share: String?) -> String {
        "value \(value) under \(parent ?? "-")" + (share.map { " shared as \($0)" } ?? "")
    }

    package static func text(
        publicPermission: Permission, title: Int?, participants: [String], allowsRequests: Bool, requesters: [Int],
        blocked: [Int]
    ) -> String {
        var text = "public \(publicPermission.words), title \(title.map { "\($0)" } ?? "-"): "
        text += participants.sorted().joined(separator: ", ")
        if allowsRequests { text += "; takes requests" }
        if !requesters.isEmpty { text += "; asked for by \(requesters.sorted())" }
        if !blocked.isEmpty { text += "; blocked \(blocked.sorted())" }
        return text
    }

    package static func text(
        user: Int?, role: Role, permission: Permission, hasAccepted: Bool, isSelf: Bool, isApproved: Bool = false
    ) -> String {
        "\(user.map { "\($0)" } ?? "somebody") \(role.rawValue) \(permission.words) "
            + "\(hasAccepted ? "accepted" : "pending")\(isApproved ? " approved" : "")\(isSelf ? " (self)" : "")"
    }
}
