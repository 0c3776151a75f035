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
        let zone = ZoneID(zoneID.zoneName, of: account, inContainer: container)
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

// Who can see a record: the question of access, asked the other way round, a page at a time. `stratus who` asks the same
// function of the server.

extension Stratus {
    /// Somebody who can see a record, or takes part in its share and cannot.
    public struct RecordPerson: Hashable, Sendable {
        /// ``Account/userRecordName`` of the person; nil while it is not known who they are, as of somebody who is invited
        /// by a handle that no account has.
        public let userRecordName: String?
        /// The name of the participant within the share; nil for the owner, and for the creator of a public record.
        public let participantID: CKShare.Participant.ID?
        /// The e-mail address or telephone number by which the person was invited, as the server compares it.
        public let handle: String?
        /// What the person is to the share: `owner` also where the record is in no share; nil for the creator of a public
        /// record.
        public let role: CKShare.ParticipantRole?
        /// What the share lets the person do: `readWrite` for the owner; nil for the creator of a public record. What it
        /// comes to now is in ``permissions``.
        public let permission: CKShare.ParticipantPermission?
        /// Whether the person has accepted; nil for the creator of a public record.
        public let acceptanceStatus: CKShare.ParticipantAcceptanceStatus?
        /// What the person may do with the record now: nothing for those who cannot see it.
        public let permissions: RecordPermissions

        fileprivate init(_ viewer: RecordAudience.Viewer, isPublic: Bool) {
            self.init(
                viewer.participant, user: viewer.user, isOwner: !isPublic && viewer.participant == nil,
                may: RecordPermissions(viewer.permissions))
        }

        fileprivate init(
            _ participant: ShareParticipant?, user: UserName?, isOwner: Bool = false, may permissions: RecordPermissions
        ) {
            userRecordName = user?.text
            participantID = participant?.id.text
            if case .handle(let address)? = participant?.invitation { handle = address.text } else { handle = nil }
            role = isOwner ? .owner : participant.map { CKShare.ParticipantRole($0.role) }
            permission = isOwner ? .readWrite : participant.map { CKShare.ParticipantPermission($0.permission) }
            acceptanceStatus = isOwner ? .accepted : participant.map { CKShare.ParticipantAcceptanceStatus($0.status) }
            self.permissions = permissions
        }
    }

    /// Some of the people of a record, and what holds for everybody else.
    public struct RecordPeoplePage: Sendable {
        /// Where a page ends.
        public struct Position: Hashable, Sendable {
            let participant: ParticipantID
        }

        /// Those who can see the record. The owner is on the first page, in the first place.
        public let viewers: [RecordPerson]
        /// Those who are invited or take part, and cannot see it: they have not accepted, may do nothing (P-09), or have an
        /// account that may not be used.
        public let others: [RecordPerson]
        /// The share that the record lies in, or that of its whole zone; nil where there is none.
        public let shareID: CKRecord.ID?
        /// The share's root; nil for one of a whole zone.
        public let rootRecordID: CKRecord.ID?
        /// What anybody who has the share's URL may do once they join; `none` where nobody may join by it alone.
        public let publicPermission: CKShare.ParticipantPermission
        /// What everybody may do with a record of the public database, also without an account.
        public let everybody: RecordPermissions
        /// What everybody with an account may do with a record of the public database.
        public let everybodyWithAccount: RecordPermissions
        /// Where the next page begins; nil after the last one.
        public let next: Position?

        fileprivate init(_ audience: RecordAudience, of recordID: CKRecord.ID, isPublic: Bool) {
            viewers = audience.viewers.map { RecordPerson($0, isPublic: isPublic) }
            others = (audience.excluded + audience.invited).map { RecordPerson($0, user: $0.user, may: []) }
            shareID = audience.share.map { CKRecord.ID(recordName: $0.text, zoneID: recordID.zoneID) }
            rootRecordID = audience.root.map { CKRecord.ID(recordName: $0.text, zoneID: recordID.zoneID) }
            publicPermission = CKShare.ParticipantPermission(audience.publicPermission)
            everybody = RecordPermissions(audience.world)
            everybodyWithAccount = RecordPermissions(audience.anyUser)
            next = audience.next.map { Position(participant: $0) }
        }
    }

    /// Who can see a record: its owner, those who take part in its share, or the creator of a public one. Each of them is
    /// asked for in the place where requests are (P-10, P-11); `explainAccess(to:of:inContainer:for:)` says why.
    ///
    /// Do not show it to clients: it names people whom participants may not see. Those who were removed are on no page
    /// . A person who takes part while all pages are fetched is on exactly one of them.
    ///
    /// - Parameters:
    ///   - recordID: The record, as its owner names it.
    ///   - owner: Whose private database it lies in; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - position: Where a page before this one ended; nil for the first.
    ///   - limit: How many people a page has at most: 1 to 1,000.
    /// - Returns: The page.
    /// - Throws: ``StratusError`` with `unknownRecord` where there is no such record, with `invalidArgument` for another
    ///   limit, and where the store fails or was closed.
    public func people(
        whoCanSee recordID: CKRecord.ID, of owner: Account?, inContainer container: String,
        after position: RecordPeoplePage.Position? = nil, limit: Int = 200
    ) throws -> RecordPeoplePage {
        guard (1...1_000).contains(limit) else {
            throw StratusError(
                .invalidArgument, "A page has 1 to 1,000 people: ask for so many.", ["limit": "\(limit)"])
        }
        let zone = ZoneID(recordID.zoneID.zoneName, of: owner, inContainer: container)
        let page = AudiencePage(after: position?.participant, limit: limit)
        let audience = try StratusError.wrapping {
            try server.withService { service in
                do throws(CloudError) {
                    return try service.audience(of: RecordName(recordID.recordName), in: zone, page: page)
                } catch {
                    guard error.code == .unknownItem else { throw error }
                    throw StratusError(.unknownRecord, text: error.message, error.fields, cause: error.cause)
                }
            }
        }
        return RecordPeoplePage(audience, of: recordID, isPublic: owner == nil)
    }
}
