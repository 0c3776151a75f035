// Who may do what in another's zone: the one rule of sharing, and pure.
//
//   which share decides   of a record that of its nearest root, else that of the whole zone (SH-06, SH-09); of a share's own
//                         record that share. Nothing else counts: no reference field, no invitation.
//   what it lets do       (role, permission) as accepted → what may be done with records in it and with its own record
//
// Every path asks here, for its own moment: `ZoneAccess` what holds now, a participant's feed the past (`Admissions`), the
// outbox both sides of a commit (`ShareContent.accepted`), the lists of zones whether there is anything to see.

import StratusLayout
package import StratusModel

/// What somebody who has accepted a share may do.
package struct SharedAccess: Hashable, Sendable {
    package var role: ParticipantRole
    /// Of public users the share's public permission.
    package var permission: ParticipantPermission

    package init(role: ParticipantRole, permission: ParticipantPermission) {
        self.role = role
        self.permission = permission
    }

    init(_ entry: AcceptanceEntry) { self.init(role: entry.role, permission: entry.permission) }

    /// The share that decides about a record: `nearest` is that of the nearest root at or above it, if there is one.
    static func share(decidingFor nearest: RecordName?) -> RecordName { nearest ?? ShareContent.zoneWideName }

    /// Whether the person sees the share, and what lies in it (P-09).
    package var isAdmitted: Bool { permission != .none }

    /// What they may do with records that lie in the share (P-10), but for deleting its root.
    var permissions: RecordPermissions {
        switch permission {
        case .readWrite: .readWrite
        case .readOnly: .read
        case .none: []
        }
    }

    /// What they may do with the share's own record: all see it, administrators change it.
    var permissionsForShare: RecordPermissions {
        guard isAdmitted else { return [] }
        return role == .administrator ? .readWrite : .read
    }

    /// Whether they may put records into the share, new ones or others (P-11).
    var mayPlace: Bool { permission == .readWrite }

    /// Whether they may delete a record that lies in the share. Its root is only its owner's to delete (P-12).
    func mayDelete(isRoot: Bool) -> Bool { permission == .readWrite && !isRoot }
}

/// What a share's content says of one person who has accepted.
package struct AcceptedPart: Hashable, Sendable {
    package var access: SharedAccess
    package var participant: ParticipantID

    package init(role: ParticipantRole, permission: ParticipantPermission, participant: ParticipantID) {
        access = SharedAccess(role: role, permission: permission)
        self.participant = participant
    }
}

extension ShareContent {
    /// Everybody who has accepted, but for the owner.
    package var accepted: [UserName: AcceptedPart] {
        var parts: [UserName: AcceptedPart] = [:]
        for participant in participants where participant.status == .accepted && participant.role != .owner {
            guard let user = participant.user, parts[user] == nil else { continue }
            parts[user] = AcceptedPart(
                role: participant.role, permission: permission(of: participant), participant: participant.id)
        }
        return parts
    }

    /// Who sees the share, its owner not among them.
    var viewers: Set<UserName> { Set(accepted.lazy.filter(\.value.access.isAdmitted).map(\.key)) }
}
