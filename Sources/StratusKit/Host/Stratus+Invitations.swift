// Inviting for people: what the sharing sheet of Apple's systems does, a host does with these calls.
//
// They are made in a person's container and can do what the person can, and no more than the options allow.

import Foundation
import StratusCloud

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
