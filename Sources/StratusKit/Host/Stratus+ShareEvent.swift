// What happened to the shares of a zone: who shared, joined, left, was removed, what changed, and when.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// One thing that happened to a share. It stays with its zone, and goes with it.
    public struct ShareEvent: Hashable, Sendable {
        /// What happened.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// The share was made.
            case shared
            /// The share was deleted by its owner.
            case stopped
            /// Somebody was added who has not accepted.
            case invited
            /// Somebody accepted, or came by the link of a public share.
            case joined
            /// Somebody left of their own accord, or deleted their account.
            case left
            /// The owner or an administrator has taken somebody off.
            case removed
            /// A participant's permission changed.
            case permissionChanged
            /// A participant's role changed.
            case roleChanged
            /// What everybody may do changed.
            case publicPermissionChanged
            /// Somebody has asked for access (P-20).
            case accessRequested
            /// A request for access was denied; they may ask again.
            case requestDenied
            /// Somebody who had asked was blocked.
            case blocked
            /// Somebody was unblocked, and is an outsider.
            case unblocked
        }

        /// When it happened.
        public let date: Date
        /// ``Account/userRecordName`` of who did it.
        public let actorUserRecordName: String
        /// What happened.
        public let kind: Kind
        /// The share, as its owner names it.
        public let shareID: CKRecord.ID
        /// The root of the hierarchy; nil for a share of a whole zone.
        public let rootRecordID: CKRecord.ID?
        /// The name within the share of the person it was done to; nil where it concerns nobody in particular.
        public let participantID: CKShare.Participant.ID?
        /// ``Account/userRecordName`` of that person, as far as it was known then.
        public let userRecordName: String?
        /// The handle by which that person was invited.
        public let handle: String?
        /// The permission before, where it changed.
        public let oldPermission: CKShare.ParticipantPermission?
        /// The permission since, where it changed.
        public let newPermission: CKShare.ParticipantPermission?
        /// The role before, where it changed.
        public let oldRole: CKShare.ParticipantRole?
        /// The role since, where it changed.
        public let newRole: CKShare.ParticipantRole?

        init(_ event: StratusModel.ShareEvent, in zoneID: CKRecordZone.ID) {
            date = event.date
            actorUserRecordName = event.actor.text
            kind = Kind(event.kind)
            shareID = CKRecord.ID(recordName: event.share.text, zoneID: zoneID)
            rootRecordID = event.root.map { CKRecord.ID(recordName: $0.text, zoneID: zoneID) }
            participantID = event.participant?.text
            userRecordName = event.user?.text
            handle = event.handle?.text
            oldPermission = event.oldPermission.map { CKShare.ParticipantPermission($0) }
            newPermission = event.newPermission.map { CKShare.ParticipantPermission($0) }
            oldRole = event.oldRole.map { CKShare.ParticipantRole($0) }
            newRole = event.newRole.map { CKShare.ParticipantRole($0) }
        }
    }

    /// Events in the order in which they happened.
    public struct ShareEventPage: Sendable {
        /// Where a page ends.
        public struct Position: Hashable, Sendable {
            let position: ShareEventPosition
        }

        /// The events.
        public let events: [ShareEvent]
        /// Where the next page begins; nil after the last one.
        public let next: Position?
    }

    /// What happened to the shares of a person's zone: who shared, invited, joined, left, removed or changed what, and when.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - account: Whose it is.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - position: Where a page before this one ended; nil for the first.
    ///   - limit: How many events a page has at most: 1 to 1,000.
    /// - Returns: The page.
    /// - Throws: ``StratusError`` with `unknownZone` where there is no such zone.
    public func shareEvents(
        of zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        after position: ShareEventPage.Position? = nil, limit: Int = 200
    ) throws -> ShareEventPage {
        let zone = ZoneID(
            database: DatabaseID(
                container: ContainerName(container), owner: UserName(account.userRecordName), scope: .private),
            name: ZoneName(zoneID.zoneName))
        let page = try asking { try $0.shareEvents(of: zone, after: position?.position, limit: limit) }
        return ShareEventPage(
            events: page.events.map { ShareEvent($0, in: zoneID) },
            next: page.next.map { ShareEventPage.Position(position: $0) })
    }
}

extension Stratus.ShareEvent.Kind {
    fileprivate init(_ kind: ShareEventKind) {
        switch kind {
        case .shared: self = .shared
        case .stopped: self = .stopped
        case .invited: self = .invited
        case .joined: self = .joined
        case .left: self = .left
        case .removed: self = .removed
        case .permissionChanged: self = .permissionChanged
        case .roleChanged: self = .roleChanged
        case .publicPermissionChanged: self = .publicPermissionChanged
        case .accessRequested: self = .accessRequested
        case .requestDenied: self = .requestDenied
        case .blocked: self = .blocked
        case .unblocked: self = .unblocked
        }
    }
}
