// What people do with shares.

import Foundation
import StratusKit

extension Person {
    /// Shares a record under a name of the share. A root that cannot be fetched is made with it.
    func share(_ root: String, as name: String, in place: Place) async -> Outcome {
        let record = (try? await record(root, in: place)) ?? fresh(root, in: place)
        let share = CKShare(rootRecord: record, shareID: recordID(name, in: place))
        return await save(share, with: record, in: place)
    }

    /// Saves a new share and its root in one request; the outcome is the share's own.
    func save(_ share: CKShare, with root: CKRecord, in place: Place) async -> Outcome {
        do {
            let answers = try await database(place).modifyRecords(saving: [root, share], deleting: []).saveResults
            let own = Outcome(answers[share.recordID])
            return own == .refused(.batchRequestFailed) ? Outcome(answers[root.recordID]) : own
        } catch { return Outcome(error) }
    }

    /// Shares the whole zone.
    func shareZone(_ place: Place) async -> Outcome {
        await Outcome.of { _ = try await database(place).save(CKShare(recordZoneID: zoneID(place))) }
    }

    func shareRecord(_ name: String, in place: Place) async throws -> CKShare {
        guard let share = try await record(name, in: place) as? CKShare else {
            throw TownError(description: "the record \(name) is no CKShare")
        }
        return share
    }

    /// Fetches a share, changes it and saves it.
    func edit(
        _ name: String, in place: Place, _ change: (CKShare) async throws -> Void
    ) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            try await change(share)
            _ = try await database(place).save(share)
        }
    }

    /// Invites somebody by e-mail address; who takes part already is changed.
    func invite(
        _ other: Person, to name: String, permission: CKShare.ParticipantPermission = .readOnly,
        role: CKShare.ParticipantRole = .privateUser, in place: Place
    ) async -> Outcome {
        await edit(name, in: place) { share in
            let participant = try await container.shareParticipant(forEmailAddress: other.email)
            participant.permission = permission
            participant.role = role
            share.addParticipant(participant)
        }
    }

    /// Takes somebody out of a share; nothing is saved where this person does not see them in it.
    func remove(_ other: Person, from name: String, in place: Place) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let participant = entry(of: other, in: share) else { return }
            share.removeParticipant(participant)
            _ = try await database(place).save(share)
        }
    }

    /// Changes somebody's entry; nothing is saved where this person does not see them in the share.
    func change(
        _ other: Person, of name: String, in place: Place, _ change: (CKShare.Participant) -> Void
    ) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let participant = entry(of: other, in: share) else { return }
            change(participant)
            _ = try await database(place).save(share)
        }
    }

    /// Changes what everybody with the URL may do.
    func publish(
        _ name: String, _ permission: CKShare.ParticipantPermission, in place: Place
    ) async -> Outcome {
        await edit(name, in: place) { $0.publicPermission = permission }
    }

    /// Changes the title of a share, which any change of its keys stands for.
    func rename(_ name: String, _ title: String, in place: Place) async -> Outcome {
        await edit(name, in: place) { $0[CKShare.SystemFieldKey.title] = title }
    }

    /// Fetches what the URL leads to, and accepts it.
    func accept(_ url: URL) async -> Outcome {
        await Outcome.of { _ = try await container.accept(try await container.shareMetadata(for: url)) }
    }

    func requestAccess(_ url: URL) async -> Outcome {
        await Outcome.of {
            guard let answer = try await container.requestShareAccess(for: [url])[url] else {
                throw TownError(description: "the request for access has no answer")
            }
            try answer.get()
        }
    }
}

extension Person {
    /// The entry of somebody, as this person sees it, who has fetched the share.
    func entry(of other: Person, in share: CKShare) -> CKShare.Participant? {
        share.participants.first { isIdentity($0.userIdentity, of: other) }
    }

    func request(of other: Person, in share: CKShare) -> CKShare.AccessRequester? {
        share.requesters.first {
            isIdentity($0.userIdentity, of: other) || $0.participantLookupInfo.emailAddress == other.email
        }
    }

    func block(of other: Person, in share: CKShare) -> CKShare.BlockedIdentity? {
        share.blockedIdentities.first { isIdentity($0.userIdentity, of: other) }
    }

    /// Everybody's own user record is named otherwise to themselves (D-02).
    func isIdentity(_ identity: CKUserIdentity, of other: Person) -> Bool {
        if let name = identity.userRecordID?.recordName {
            return name == other.userName || name == CKCurrentUserDefaultName && other == self
        }
        return identity.lookupInfo?.emailAddress == other.email
    }
}
