// Sharing on behalf of people: inviting, opening shares, and handling the URLs of shares. On Apple's systems the
// sharing sheet does this.
//
// A call runs in a person's container, with the rights of the person, within the allowed options.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// Invites people to a share.
    ///
    /// ``Options/onInvitation`` gets what a mail or message to them would contain.
    ///
    /// - Parameters:
    ///   - people: How to look them up. You can also invite a handle without an account (P-01).
    ///   - shareID: The share, as the person names it.
    ///   - container: The container of the person who invites.
    ///   - permission: What they may do with the shared records.
    ///   - role: `privateUser`, or `administrator` for people who may invite others.
    ///   - options: What the person may choose.
    /// - Returns: The saved share.
    /// - Throws: ``StratusError`` with `notAllowed` if the options do not allow it; `CKError` as fetching the
    ///   participants and saving the share do. Either all people are invited or none.
    @discardableResult
    public func invite(
        _ people: [CKUserIdentity.LookupInfo], to shareID: CKRecord.ID, in container: CKContainer,
        permission: CKShare.ParticipantPermission = .readOnly, role: CKShare.ParticipantRole = .privateUser,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try await container.invite(people, to: shareID, permission: permission, role: role, allowing: options)
    }

    /// Lets everyone who has the URL of a share join it. With `none`, only invited people may join; this removes all
    /// participants (P-07).
    ///
    /// - Parameters:
    ///   - permission: What they may do with the shared records.
    ///   - shareID: The share, as the person names it.
    ///   - container: The container of the person who opens it.
    ///   - options: What the person may choose.
    /// - Returns: The saved share.
    /// - Throws: ``StratusError`` with `notAllowed` if the options do not allow it; `CKError` as saving the share does.
    @discardableResult
    public func setPublicPermission(
        _ permission: CKShare.ParticipantPermission, of shareID: CKRecord.ID, in container: CKContainer,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try await container.setPublicPermission(permission, of: shareID, allowing: options)
    }

    /// Sets whether outsiders who have the URL of a share may request access (P-20).
    ///
    /// - Parameters:
    ///   - isAllowed: Whether they may.
    ///   - shareID: The share, as the person names it.
    ///   - container: The container of the person who decides.
    ///   - options: What the person may choose.
    /// - Returns: The saved share.
    /// - Throws: ``StratusError`` with `notAllowed` if the options do not allow it; `CKError` as saving the share does.
    @discardableResult
    public func setAllowsAccessRequests(
        _ isAllowed: Bool, of shareID: CKRecord.ID, in container: CKContainer,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        guard options.allowsAccessRequests || !isAllowed else {
            throw CKAllowedSharingOptions.notAllowed("requests for access")
        }
        return try await container.change(shareID) { $0.allowsAccessRequests = isAllowed }
    }

    /// An invitation: everything that a mail or a message would contain. The invited person can accept with the URL.
    ///
    /// Its description does not show the URL, which is a secret.
    public struct Invitation: Hashable, Sendable, CustomStringConvertible {
        /// The container of the share.
        public let containerIdentifier: String
        /// The share, as its owner names it.
        public let shareID: CKRecord.ID
        /// ``Account/userRecordName`` of the owner.
        public let ownerUserRecordName: String
        /// ``Account/userRecordName`` of the person who invited: the owner or an administrator.
        public let inviterUserRecordName: String
        /// The participant's identifier within the share.
        public let participantID: CKShare.Participant.ID
        /// The invited e-mail address, normalised.
        public let emailAddress: String?
        /// The invited telephone number, normalised.
        public let phoneNumber: String?
        /// ``Account/userRecordName`` of the invited person, if known. If this and the handles are nil, the first
        /// person who uses the URL takes the place (P-16).
        public let userRecordName: String?
        /// The role that accepting gives.
        public let role: CKShare.ParticipantRole
        /// The permission that accepting gives.
        public let permission: CKShare.ParticipantPermission
        /// Where to accept: the URL of the share or of the participant.
        public let url: URL
        /// The title of the share, or nil.
        public let title: String?

        /// Returns nil if the URL is invalid, because the host's URL base is.
        init?(_ invitation: ShareInvitation) {
            guard let url = URL(string: invitation.url) else { return nil }
            containerIdentifier = invitation.container.text
            shareID = CKRecord.ID(
                recordName: invitation.share.text, zoneID: CKRecordZone.ID(zoneName: invitation.zone.text))
            ownerUserRecordName = invitation.owner.text
            inviterUserRecordName = invitation.inviter.text
            participantID = invitation.participant.text
            emailAddress = invitation.handle?.email
            phoneNumber = invitation.handle?.phoneNumber
            userRecordName = invitation.user?.text
            role = CKShare.ParticipantRole(invitation.role)
            permission = CKShare.ParticipantPermission(invitation.permission)
            self.url = url
            title = invitation.title
        }

        /// Who was invited to what.
        public var description: String {
            let person = emailAddress ?? phoneNumber ?? userRecordName ?? "anyone with the URL"
            return "\(person) to \(shareID.recordName) of \(ownerUserRecordName) in \(containerIdentifier)"
        }
    }

    /// Handles a tap on a share's URL: finds the share in any container, accepts it for the account, and returns its
    /// metadata. Also works for people who already take part.
    ///
    /// The person must be the owner, be invited by one of their handles or by their user record, or be the first to use
    /// a one-time URL. If the share is public, anyone may join.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - account: The person who has opened it.
    /// - Returns: The share's metadata, with its root.
    /// - Throws: ``StratusError`` with `unknownShare` if the share does not exist or the person may not know of it
    ///   (M-04, M-05); with `accessNotGranted` if they may request access; with `alreadyInvited` for another person's
    ///   one-time URL (P-17), `shareIsFull`, and `unknownAccount` for an account that cannot be used.
    @discardableResult
    public func open(_ url: URL, as account: Account) throws -> CKShare.Metadata {
        session.metadata(try openShare(url.absoluteString, as: account.accountID), as: account.accountID)
    }

    /// The same in the server's terms.
    func openShare(_ url: String, as account: AccountID) throws -> ClientShareMetadata {
        do {
            return try server.withService { try $0.openShare(url, as: account) }
        } catch let error as CloudError {
            let code: StratusError.Code? =
                switch error.code {
                case .unknownItem: .unknownShare
                case .permissionFailure, .participantMayNeedVerification: .accessNotGranted
                case .participantAlreadyInvited: .alreadyInvited
                case .tooManyParticipants: .shareIsFull
                default: nil
                }
            throw StratusError(error, code: code)
        }
    }
}

extension CKAllowedSharingOptions {
    fileprivate static func notAllowed(_ subject: String) -> StratusError {
        StratusError(.notAllowed, "The sharing options do not allow this.", ["subject": subject])
    }

    fileprivate func require(_ access: CKSharingParticipantAccessOption) throws {
        guard allowedParticipantAccessOptions.contains(access) else {
            throw Self.notAllowed(access == .anyoneWithLink ? "anyone with the link" : "specified recipients")
        }
    }

    fileprivate func require(_ permission: CKShare.ParticipantPermission) throws {
        let isAllowed =
            switch permission {
            case .readOnly: allowedParticipantPermissionOptions.contains(.readOnly)
            case .readWrite: allowedParticipantPermissionOptions.contains(.readWrite)
            case .none: true
            // The server decides what it means, so no option can allow it.
            case .unknown: false
            }
        guard isAllowed else { throw Self.notAllowed("the permission \(permission)") }
    }

    fileprivate func require(_ role: CKShare.ParticipantRole) throws {
        guard role != .administrator || allowsParticipantsToInviteOthers else {
            throw Self.notAllowed("participants who invite others")
        }
    }
}

extension CKContainer {
    /// As `Stratus.invite(_:to:in:permission:role:allowing:)`, also in a store that another process has open.
    @discardableResult
    package func invite(
        _ people: [CKUserIdentity.LookupInfo], to shareID: CKRecord.ID, permission: CKShare.ParticipantPermission,
        role: CKShare.ParticipantRole, allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try options.require(.specifiedRecipientsOnly)
        try options.require(permission)
        try options.require(role)
        let found = try await shareParticipants(for: people)
        let participants = try people.compactMap { try found[$0]?.get() }
        for participant in participants {
            participant.permission = permission
            participant.role = role
        }
        return try await change(shareID) { share in
            // Copies, because a failed attempt has already added them to a share.
            for case let participant as CKShare.Participant in participants.map({ $0.copy() }) {
                share.addParticipant(participant)
            }
        }
    }

    /// As `Stratus.setPublicPermission(_:of:in:allowing:)`, also in a store that another process has open.
    @discardableResult
    package func setPublicPermission(
        _ permission: CKShare.ParticipantPermission, of shareID: CKRecord.ID,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try options.require(permission == .none ? .specifiedRecipientsOnly : .anyoneWithLink)
        try options.require(permission)
        return try await change(shareID) { $0.publicPermission = permission }
    }

    /// How often a share is fetched again after another client has saved it.
    private static let attemptCount = 4

    /// Changes the newest version of a share and saves it.
    fileprivate func change(_ shareID: CKRecord.ID, _ body: (CKShare) -> Void) async throws -> CKShare {
        let isOwn = shareID.zoneID.ownerName == CKCurrentUserDefaultName
        let database = isOwn ? privateCloudDatabase : sharedCloudDatabase
        var attempt = 1
        while true {
            guard let share = try await database.record(for: shareID) as? CKShare else {
                throw StratusError(
                    .invalidArgument, "The record is not a share. Pass the identifier of a share.",
                    ["record": shareID.recordName])
            }
            body(share)
            do {
                try await database.save(share)
                return share
            } catch let error as CKError {
                guard error.code == .serverRecordChanged, attempt < Self.attemptCount else { throw error }
                attempt += 1
            }
        }
    }
}

extension CloudSession {
    /// The metadata of a share that a person has opened.
    func metadata(_ told: ClientShareMetadata, as account: AccountID) -> CKShare.Metadata {
        let context = RequestContext(
            session: self, caller: Caller(container: told.container, account: account),
            database: .shared, callbacks: CallbackQueue(pool: nil))
        return context.metadata(told)
    }
}
