// A world as small as it can be: an owner, one person, one share, and a record in every position to it. All that
// matters is plain values, so that every combination can be listed.

import StratusKit
import StratusSharingSupport

/// The state of one person in one share.
struct SmallWorld: Hashable, Sendable, CustomStringConvertible {
    enum Kind: CaseIterable { case hierarchical, zoneWide }
    enum Role: CaseIterable { case owner, administrator, privateUser, publicUser, nobody }
    enum Status: CaseIterable { case pending, accepted, never, removed, left, blocked }

    var kind: Kind
    var role: Role
    var status: Status
    var permission: CKShare.ParticipantPermission
    var publicPermission: CKShare.ParticipantPermission

    /// Every possible combination: the public and the invited are never mixed (P-05), public users have the public
    /// permission and have accepted, administrators keep their own when a share becomes public, and
    /// non-participants have no permission.
    static let all: [SmallWorld] = {
        let permissions: [CKShare.ParticipantPermission] = [.none, .readOnly, .readWrite]
        var worlds: [SmallWorld] = []
        for kind in Kind.allCases {
            for role in Role.allCases {
                for status in Status.allCases {
                    for permission in permissions {
                        worlds += permissions.map {
                            SmallWorld(
                                kind: kind, role: role, status: status, permission: permission, publicPermission: $0)
                        }
                    }
                }
            }
        }
        return worlds.filter(\.canExist)
    }()

    private var canExist: Bool {
        switch role {
        case .owner: status == .accepted && permission == .readWrite
        case .administrator: status == .accepted || publicPermission == .none && status == .pending
        case .privateUser: publicPermission == .none && (status == .pending || status == .accepted)
        case .publicUser: publicPermission != .none && permission == publicPermission && status == .accepted
        case .nobody: permission == .none && status != .pending && status != .accepted
        }
    }

    var description: String {
        "\(kind) share, public \(publicPermission.words), \(role), \(status), \(permission.words)"
    }
}

/// The place of a record. The root and its sibling have the same parent; moves happened after the person joined.
enum SmallPosition: CaseIterable, Sendable {
    case root, child, grandchild, sibling, outside, movedIn, movedOut

    static let leaves: Set<SmallPosition> = [.grandchild, .sibling, .outside, .movedIn, .movedOut]
}

/// An act on a record.
enum SmallAction: CaseIterable, Sendable {
    case read, change, createBelow, delete
    /// Under the root, and without a parent.
    case moveIn, moveOut
}

/// One thing that the person tries.
enum SmallTry: Hashable, Sendable {
    case record(SmallAction, SmallPosition)
    case createRootless
    case readShare
    case changeShare
    case leave
    /// By the URL, after having left, if leaving was possible.
    case joinAgain

    /// In the order of the attempts: those that end something come last.
    static let all: [SmallTry] = {
        var tries: [SmallTry] = []
        for action in SmallAction.allCases {
            // Participants do not see the root's own parent, and cannot save it.
            let isMove = action == .moveIn || action == .moveOut
            for position in SmallPosition.allCases where !isMove || position != .root {
                tries.append(.record(action, position))
            }
        }
        return tries + [.createRootless, .readShare, .changeShare, .leave, .joinAgain]
    }()
}
