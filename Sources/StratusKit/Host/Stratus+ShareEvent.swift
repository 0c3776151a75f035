// The events of shares, and the people who can see a record.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// An event of a share. It is kept with its zone, and deleted with it.
    public struct ShareEvent: Hashable, Sendable {
        /// What happened.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// The share was created.
            case shared
            /// The share was deleted by its owner.
            case stopped
            /// A person was added who has not accepted.
            case invited
            /// A person accepted, or joined by the link of a public share.
            case joined
            /// A person left, or deleted their account.
            case left
            /// The owner or an administrator has removed a person.
            case removed
            /// A participant's permission changed.
            case permissionChanged
            /// A participant's role changed.
            case roleChanged
            /// The permission of the public changed.
            case publicPermissionChanged
            /// A person has requested access (P-20).
            case accessRequested
            /// A request for access was denied; they may ask again.
            case requestDenied
            /// A person who had requested access was blocked.
            case blocked
            /// A person was unblocked, and is an outsider.
            case unblocked

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

        /// When it happened.
        public let date: Date
        /// ``Account/userRecordName`` of the person who did it.
        public let actorUserRecordName: String
        /// What happened.
        public let kind: Kind
        /// The share, as its owner names it.
        public let shareID: CKRecord.ID
        /// The root of the hierarchy; nil for a share of a whole zone.
        public let rootRecordID: CKRecord.ID?
        /// The participant identifier of the person concerned; nil if the event concerns no particular person.
        public let participantID: CKShare.Participant.ID?
        /// ``Account/userRecordName`` of that person, if it was known then.
        public let userRecordName: String?
        /// The handle by which that person was invited.
        public let handle: String?
        /// The permission before the event, if it changed.
        public let oldPermission: CKShare.ParticipantPermission?
        /// The permission after the event, if it changed.
        public let newPermission: CKShare.ParticipantPermission?
        /// The role before the event, if it changed.
        public let oldRole: CKShare.ParticipantRole?
        /// The role after the event, if it changed.
        public let newRole: CKShare.ParticipantRole?

        init(_ event: ShareTrailEvent, in zoneID: CKRecordZone.ID) {
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
        /// The end of a page.
        public struct Position: Hashable, Sendable {
            let position: ShareEventPosition
        }

        /// The events.
        public let events: [ShareEvent]
        /// Where the next page begins; nil after the last one.
        public let next: Position?
    }

    /// The events of the shares in a person's zone, in order: who shared, invited, joined, left, removed or changed
    /// what, and when.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - account: The owner.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - position: The end of the previous page; nil for the first page.
    ///   - limit: The most events on a page: 1 to 1,000.
    /// - Returns: The page.
    /// - Throws: ``StratusError`` with `unknownZone` if the zone does not exist.
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

    // The people who can see a record, a page at a time. `stratus who` calls the same function of the server.

    /// A person who can see a record, or takes part in its share and cannot see it.
    public struct RecordPerson: Hashable, Sendable {
        /// ``Account/userRecordName`` of the person; nil if unknown, as for a person invited by a handle without an
        /// account.
        public let userRecordName: String?
        /// The participant's identifier within the share; nil for the owner, and for the creator of a public record.
        public let participantID: CKShare.Participant.ID?
        /// The e-mail address or telephone number that was invited, normalised.
        public let handle: String?
        /// The person's role in the share. `owner` also if the record is in no share; nil for the creator of a public
        /// record.
        public let role: CKShare.ParticipantRole?
        /// The permission that the share gives the person. `readWrite` for the owner; nil for the creator of a public
        /// record. ``permissions`` has the effective permissions.
        public let permission: CKShare.ParticipantPermission?
        /// Whether the person has accepted; nil for the creator of a public record.
        public let acceptanceStatus: CKShare.ParticipantAcceptanceStatus?
        /// What the person may do with the record now. Empty for people who cannot see it.
        public let permissions: RecordPermissions

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

    /// Some of the people of a record, and the permissions of everyone else.
    public struct RecordPeoplePage: Sendable {
        /// The end of a page.
        public struct Position: Hashable, Sendable {
            let participant: ParticipantID
        }

        /// People who can see the record. The owner is the first person on the first page.
        public let viewers: [RecordPerson]
        /// People who are invited or take part and cannot see it: they have not accepted, have no permission (P-09), or
        /// have an account that may not be used.
        public let others: [RecordPerson]
        /// The record's share, or the share of its zone; nil if there is none.
        public let shareID: CKRecord.ID?
        /// The share's root; nil for a share of a whole zone.
        public let rootRecordID: CKRecord.ID?
        /// What anyone who has the share's URL may do after joining; `none` if the URL alone does not let people join.
        public let publicPermission: CKShare.ParticipantPermission
        /// What everyone may do with a record of the public database, even without an account.
        public let everybody: RecordPermissions
        /// What everyone with an account may do with a record of the public database.
        public let everybodyWithAccount: RecordPermissions
        /// Where the next page begins; nil after the last one.
        public let next: Position?

        fileprivate init(_ audience: RecordAudience, of recordID: CKRecord.ID, isPublic: Bool) {
            viewers = audience.viewers.map { viewer in
                RecordPerson(
                    viewer.participant, user: viewer.user, isOwner: !isPublic && viewer.participant == nil,
                    may: RecordPermissions(viewer.permissions))
            }
            others = (audience.excluded + audience.invited).map { RecordPerson($0, user: $0.user, may: []) }
            shareID = audience.share.map { CKRecord.ID(recordName: $0.text, zoneID: recordID.zoneID) }
            rootRecordID = audience.root.map { CKRecord.ID(recordName: $0.text, zoneID: recordID.zoneID) }
            publicPermission = CKShare.ParticipantPermission(audience.publicPermission)
            everybody = RecordPermissions(audience.world)
            everybodyWithAccount = RecordPermissions(audience.anyUser)
            next = audience.next.map { Position(participant: $0) }
        }
    }

    /// The people who can see a record: its owner, the participants of its share, or the creator of a public record.
    /// The same code decides it as for requests (P-10, P-11); `explainAccess(to:of:inContainer:for:)` says why.
    ///
    /// Do not show the people to clients: participants may not see all of them. Removed people are on no page
    /// . A person who takes part while you fetch all pages is on exactly one of them.
    ///
    /// - Parameters:
    ///   - recordID: The record, as its owner names it.
    ///   - owner: The owner of the private database; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - position: The end of the previous page; nil for the first page.
    ///   - limit: The most people on a page: 1 to 1,000.
    /// - Returns: The page.
    /// - Throws: ``StratusError`` with `unknownRecord` if the record does not exist, with `invalidArgument` for another
    ///   limit, and if the store fails or was closed.
    public func people(
        whoCanSee recordID: CKRecord.ID, of owner: Account?, inContainer container: String,
        after position: RecordPeoplePage.Position? = nil, limit: Int = 200
    ) throws -> RecordPeoplePage {
        guard (1...1_000).contains(limit) else {
            throw StratusError(
                .invalidArgument, "A page has 1 to 1,000 people. Pass such a limit.", ["limit": "\(limit)"])
        }
        let zone = ZoneID(recordID.zoneID.zoneName, of: owner, inContainer: container)
        let page = AudiencePage(after: position?.participant, limit: limit)
        let audience = try asking { service in
            do throws(CloudError) {
                return try service.audience(of: RecordName(recordID.recordName), in: zone, page: page)
            } catch {
                guard error.code == .unknownItem else { throw error }
                throw StratusError(error, code: .unknownRecord)
            }
        }
        return RecordPeoplePage(audience, of: recordID, isPublic: owner == nil)
    }
}
