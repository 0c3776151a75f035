// What each of them sees, in words: what a fetch finds of every record and share, and the zones of the shared database.

import StratusKit

extension SharingOracle {
    /// Whether somebody sees the share's own record: its owner, and whoever has accepted it with a permission.
    package func seesShare(_ user: Int, _ share: String, _ zone: Int, _ content: OracleZone) -> Bool {
        owns(user, zone) || permission(of: user, in: share, content) != .none
    }

    /// X-15: owner and administrators see everybody, others those who have accepted.
    package func visibleMembers(of share: OracleShare, to user: Int, _ zone: Int) -> [OracleMember] {
        let isKeeper = owns(user, zone) || share.member(user)?.role == .administrator
        return share.members.filter {
            isKeeper || $0.hasAccepted || $0.user == user || fault == .everybodySeesPending
        }
    }

    /// The zones of somebody's shared database, one shared as a whole with a star; or an error.
    package func sharedZones(of user: Int) -> String {
        if suspended.contains(user), fault != .suspendedSees { return "notAuthenticated" }
        let names = zones.keys.sorted().filter { !owns(user, $0) }.compactMap { zone in
            sees(user, zone).map { content in
                SharingHistory.zoneNames[zone] + (content.shares[SharingHistory.zoneShare] == nil ? "" : "*")
            }
        }
        return names.joined(separator: " ")
    }

    /// What a fetch finds.
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
                isSelf: member.user == user)
        }
        let owner = RecordView.text(
            user: SharingHistory.owners[zone], role: .owner, permission: .readWrite, hasAccepted: true,
            isSelf: owns(user, zone))
        return RecordView.text(
            publicPermission: share.publicPermission, title: share.title, participants: members + [owner])
    }
}

/// How the oracle and the runner write down what is seen.
package enum RecordView {
    package static func text(value: Int, parent: String?, share: String?) -> String {
        "value \(value) under \(parent ?? "-")" + (share.map { " shared as \($0)" } ?? "")
    }

    package static func text(publicPermission: Permission, title: Int?, participants: [String]) -> String {
        "public \(publicPermission.words), title \(title.map { "\($0)" } ?? "-"): "
            + participants.sorted().joined(separator: ", ")
    }

    package static func text(user: Int, role: Role, permission: Permission, hasAccepted: Bool, isSelf: Bool) -> String {
        "\(user) \(role.rawValue) \(permission.words) \(hasAccepted ? "accepted" : "pending")\(isSelf ? " (self)" : "")"
    }
}
