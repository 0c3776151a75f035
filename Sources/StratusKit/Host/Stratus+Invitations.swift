// Inviting for people: what the sharing sheet of Apple's systems does, a host does with these calls.
//
// They are made in a person's container and can do what the person can, and no more than the options allow.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// Invites people to a share.
    ///
    /// What would be sent to them by mail or message goes to ``Options/onInvitation``.
    ///
    /// - Parameters:
    ///   - people: By what they are looked up. Whoever has no account can be invited by a handle too (P-01).
    ///   - shareID: The share, as the person names it.
    ///   - container: The container of the person who invites.
    ///   - permission: What they may do with the shared records.
    ///   - role: `privateUser`, or `administrator` for those who may invite others.
    ///   - options: What the person may choose.
    /// - Returns: The share as it was saved.
    /// - Throws: ``StratusError`` with `notAllowed` for what the options do not allow; `CKError` as fetching the
    ///   participants and saving the share do. Either everybody is invited or nobody.
    @discardableResult
    public func invite(
        _ people: [CKUserIdentity.LookupInfo], to shareID: CKRecord.ID, in container: CKContainer,
        permission: CKShare.ParticipantPermission = .readOnly, role: CKShare.ParticipantRole = .privateUser,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try await Self.invite(people, to: shareID, in: container, permission: permission, role: role, allowing: options)
    }

    static func invite(
        _ people: [CKUserIdentity.LookupInfo], to shareID: CKRecord.ID, in container: CKContainer,
        permission: CKShare.ParticipantPermission, role: CKShare.ParticipantRole,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try options.require(.specifiedRecipientsOnly)
        try options.require(permission)
        try options.require(role)
        let found = try await container.shareParticipants(for: people)
        let participants = try people.compactMap { try found[$0]?.get() }
        for participant in participants {
            participant.permission = permission
            participant.role = role
        }
        return try await container.change(shareID) { share in
            // Copies, because an attempt that failed has added them to a share already.
            for case let participant as CKShare.Participant in participants.map({ $0.copy() }) {
                share.addParticipant(participant)
            }
        }
    }

    /// Lets everybody who has the URL of a share join it, or with `none` nobody but those who are invited: that removes
    /// everybody (P-07).
    ///
    /// - Parameters:
    ///   - permission: What they may do with the shared records.
    ///   - shareID: The share, as the person names it.
    ///   - container: The container of the person who opens it.
    ///   - options: What the person may choose.
    /// - Returns: The share as it was saved.
    /// - Throws: ``StratusError`` with `notAllowed` for what the options do not allow; `CKError` as saving the share does.
    @discardableResult
    public func setPublicPermission(
        _ permission: CKShare.ParticipantPermission, of shareID: CKRecord.ID, in container: CKContainer,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try await Self.setPublicPermission(permission, of: shareID, in: container, allowing: options)
    }

    static func setPublicPermission(
        _ permission: CKShare.ParticipantPermission, of shareID: CKRecord.ID, in container: CKContainer,
        allowing options: CKAllowedSharingOptions = .standard
    ) async throws -> CKShare {
        try options.require(permission == .none ? .specifiedRecipientsOnly : .anyoneWithLink)
        try options.require(permission)
        return try await container.change(shareID) { $0.publicPermission = permission }
    }

    /// Lets outsiders who have the URL of a share ask for access, or not (P-20).
    ///
    /// - Parameters:
    ///   - isAllowed: Whether they may.
    ///   - shareID: The share, as the person names it.
    ///   - container: The container of the person who decides.
    ///   - options: What the person may choose.
    /// - Returns: The share as it was saved.
    /// - Throws: ``StratusError`` with `notAllowed` for what the options do not allow; `CKError` as saving the share does.
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
        let option: CKSharingParticipantPermissionOption
        switch permission {
        case .readOnly: option = .readOnly
        case .readWrite: option = .readWrite
        case .none: return
        // What it comes to is the server's to say, so nobody has allowed it.
        case .unknown: throw Self.notAllowed("the permission \(permission)")
        }
        guard allowedParticipantPermissionOptions.contains(option) else {
            throw Self.notAllowed("the permission \(permission)")
        }
    }

    fileprivate func require(_ role: CKShare.ParticipantRole) throws {
        guard role != .administrator || allowsParticipantsToInviteOthers else {
            throw Self.notAllowed("participants who invite others")
        }
    }
}

extension CKContainer {
    /// How often a share is fetched anew that somebody else has saved meanwhile.
    private static let attemptCount = 4

    /// Changes the newest version of a share and saves it.
    fileprivate func change(_ shareID: CKRecord.ID, _ body: (CKShare) -> Void) async throws -> CKShare {
        let isOwn = shareID.zoneID.ownerName == CKCurrentUserDefaultName
        let database = isOwn ? privateCloudDatabase : sharedCloudDatabase
        var attempt = 1
        while true {
            guard let share = try await database.record(for: shareID) as? CKShare else {
                throw StratusError(
                    .invalidArgument, "The record is no share: give the identifier of one.",
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

// What a host is told when somebody was invited to a share.

extension Stratus {
    /// An invitation: all that a mail or a message would carry. Whoever has its URL and is the person may accept.
    ///
    /// Its description does not show the URL, which is a secret.
    public struct Invitation: Hashable, Sendable, CustomStringConvertible {
        /// The container of the share.
        public let containerIdentifier: String
        /// The share, as its owner names it.
        public let shareID: CKRecord.ID
        /// ``Account/userRecordName`` of the owner.
        public let ownerUserRecordName: String
        /// ``Account/userRecordName`` of who has invited: the owner or an administrator.
        public let inviterUserRecordName: String
        /// The name of the participant within the share.
        public let participantID: CKShare.Participant.ID
        /// The e-mail address that was invited, in the form in which it is compared.
        public let emailAddress: String?
        /// The telephone number that was invited, in the form in which it is compared.
        public let phoneNumber: String?
        /// ``Account/userRecordName`` of who was invited, where it is known. Without it and without a handle, whoever comes
        /// first may use the URL (P-16).
        public let userRecordName: String?
        /// What the person would be to the share.
        public let role: CKShare.ParticipantRole
        /// What the person could do with the shared records.
        public let permission: CKShare.ParticipantPermission
        /// Where to accept: the share's URL, or the participant's own.
        public let url: URL
        /// What the share is called; nil where it was not said.
        public let title: String?

        /// Nil where the URL cannot be one: what the host lets URLs begin with is none.
        init?(_ invitation: ShareInvitation) {
            guard let url = URL(string: invitation.url) else { return nil }
            containerIdentifier = invitation.container.text
            shareID = CKRecord.ID(
                recordName: invitation.share.text, zoneID: CKRecordZone.ID(zoneName: invitation.zone.text))
            ownerUserRecordName = invitation.owner.text
            inviterUserRecordName = invitation.inviter.text
            participantID = invitation.participant.text
            switch invitation.handle {
            case .email(let address): (emailAddress, phoneNumber) = (address, nil)
            case .phone(let number): (emailAddress, phoneNumber) = (nil, number)
            case nil: (emailAddress, phoneNumber) = (nil, nil)
            }
            userRecordName = invitation.user?.text
            role = CKShare.ParticipantRole(invitation.role)
            permission = CKShare.ParticipantPermission(invitation.permission)
            self.url = url
            title = invitation.title
        }

        /// Who was invited to what.
        public var description: String {
            let person = emailAddress ?? phoneNumber ?? userRecordName ?? "whoever has the URL"
            return "\(person) to \(shareID.recordName) of \(ownerUserRecordName) in \(containerIdentifier)"
        }
    }
}

// What a host does with the URL of a share that somebody has opened.

extension Stratus {
    /// What a tap on a share's URL does: finds the share in whatever container it is, accepts it for the account, and tells
    /// of it. Who takes part already is told, too.
    ///
    /// The person must be the owner, invited by a handle that is theirs or by their user record, the first to use a
    /// one-time URL, or anybody where the share is public.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - account: Who has opened it.
    /// - Returns: The share's metadata, with its root.
    /// - Throws: ``StratusError`` with `unknownShare` where there is no share, or none that the person may know of (M-04,
    ///   M-05); with `accessNotGranted` where they may ask for access; with `alreadyInvited` for another's one-time URL
    ///   (P-17), `shareIsFull`, and `unknownAccount` for an account that cannot be used.
    @discardableResult
    public func open(_ url: URL, as account: Account) throws -> CKShare.Metadata {
        session.metadata(try openShare(url.absoluteString, as: account.accountID), as: account.accountID)
    }

    /// The same in the server's words.
    func openShare(_ url: String, as account: AccountID) throws -> ClientShareMetadata {
        do {
            return try server.withService { try $0.openShare(url, as: account) }
        } catch let error as CloudError {
            throw StratusError(ofShare: error)
        }
    }
}

extension CloudSession {
    /// What somebody is told of a share that they have opened.
    func metadata(_ told: ClientShareMetadata, as account: AccountID) -> CKShare.Metadata {
        let context = RequestContext(
            session: self, caller: Caller(container: told.container, account: account),
            database: .shared, callbacks: CallbackQueue(pool: nil))
        return context.metadata(told)
    }
}

extension StratusError {
    /// A server's refusal of something that a host has asked of a share.
    fileprivate init(ofShare error: CloudError) {
        let code: Code
        switch error.code {
        case .unknownItem: code = .unknownShare
        case .permissionFailure, .participantMayNeedVerification: code = .accessNotGranted
        case .participantAlreadyInvited: code = .alreadyInvited
        case .tooManyParticipants: code = .shareIsFull
        default:
            self.init(error)
            return
        }
        self.init(code, text: error.message, error.fields, cause: error.cause)
    }
}
