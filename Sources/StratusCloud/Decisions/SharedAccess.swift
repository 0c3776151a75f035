// The access rules in another person's zone. Pure decisions.
//
//   Which share decides   For a record, the share of its nearest root, else that of the whole zone (SH-06, SH-09). For
//                         a share's own record, that share. Reference fields and invitations do not count.
//   What it allows        (accepted role, permission) → the permissions for records in the share and for its own
//                         record
//
// Every path uses these rules, each for its own time: `ZoneAccess` for now, a participant's feed for the past
// (`Admissions`), the outbox for both sides of a commit (`ShareContent.accepted`), lists of zones for visible zones.

import StratusLayout
package import StratusModel

/// What a person who has accepted a share may do.
package struct SharedAccess: Hashable, Sendable {
    package var role: ParticipantRole
    /// For public users, the share's public permission.
    package var permission: ParticipantPermission

    /// The share that decides about a record. `nearest` is the share of the nearest root at or above it, if any.
    static func share(decidingFor nearest: RecordName?) -> RecordName { nearest ?? ShareContent.zoneWideName }

    /// Whether the person sees the share and its records (P-09).
    package var isAdmitted: Bool { permission != .none }

    /// The permissions for records in the share (P-10), except for deleting its root.
    var permissions: TypePermissions {
        switch permission {
        case .readWrite: .readWrite
        case .readOnly: .read
        case .none: []
        }
    }

    /// The permissions for the share's own record: all see it, administrators change it.
    var permissionsForShare: TypePermissions {
        guard isAdmitted else { return [] }
        return role == .administrator ? .readWrite : .read
    }

    /// Whether they may put new or other records into the share (P-11).
    var mayPlace: Bool { permission == .readWrite }

    /// Whether they may delete a record in the share. Only the owner may delete its root (P-12).
    func mayDelete(isRoot: Bool) -> Bool { permission == .readWrite && !isRoot }
}

extension SharedAccess {
    init(_ entry: AcceptanceEntry) { self.init(role: entry.role, permission: entry.permission) }
}

/// The part of a share's content about one person who has accepted.
package struct AcceptedPart: Hashable, Sendable {
    package var access: SharedAccess
    package var participant: ParticipantID
}

extension ShareContent {
    /// Everyone who has accepted, except the owner.
    package var accepted: [UserName: AcceptedPart] {
        var parts: [UserName: AcceptedPart] = [:]
        for participant in participants where participant.status == .accepted && participant.role != .owner {
            guard let user = participant.user, parts[user] == nil else { continue }
            let access = SharedAccess(role: participant.role, permission: permission(of: participant))
            parts[user] = AcceptedPart(access: access, participant: participant.id)
        }
        return parts
    }

    /// The people who see the share, except its owner.
    var viewers: Set<UserName> { Set(accepted.lazy.filter(\.value.access.isAdmitted).map(\.key)) }
}
