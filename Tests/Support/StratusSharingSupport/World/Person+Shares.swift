// People's acts on shares.

package import Foundation
package import StratusKit

extension Person {
    /// Shares a record under a name of the share. A root that cannot be fetched is created with it.
    package func share(_ root: String, as name: String, in place: Place) async -> Outcome {
        let record = (try? await record(root, in: place)) ?? fresh(root, in: place)
        let share = CKShare(rootRecord: record, shareID: recordID(name, in: place))
        return await save(share, with: record, in: place)
    }

    /// Saves a new share and its root in one request; the outcome is the share's own.
    package func save(_ share: CKShare, with root: CKRecord, in place: Place) async -> Outcome {
        do {
            let answers = try await database(place).modifyRecords(saving: [root, share], deleting: []).saveResults
            let own = Outcome(answers[share.recordID])
            return own == .refused(.batchRequestFailed) ? Outcome(answers[root.recordID]) : own
        } catch { return Outcome(error) }
    }

    /// Shares the whole zone.
    package func shareZone(_ place: Place) async -> Outcome {
        await Outcome.of { _ = try await database(place).save(CKShare(recordZoneID: zoneID(place))) }
    }

    package func shareRecord(_ name: String, in place: Place) async throws -> CKShare {
        guard let share = try await record(name, in: place) as? CKShare else {
            throw TownError(description: "the record \(name) is no CKShare")
        }
        return share
    }

    /// Fetches a share, changes it and saves it.
    package func edit(
        _ name: String, in place: Place, _ change: (CKShare) async throws -> Void
    ) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            try await change(share)
            _ = try await database(place).save(share)
        }
    }

    /// Invites a person by e-mail address; an existing participant is changed.
    package func invite(
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

    /// Removes a person from a share; nothing is saved if this person does not see them in it.
    package func remove(_ other: Person, from name: String, in place: Place) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let participant = entry(of: other, in: share) else { return }
            share.removeParticipant(participant)
            _ = try await database(place).save(share)
        }
    }

    /// Changes a person's entry; nothing is saved if this person does not see them in the share.
    package func change(
        _ other: Person, of name: String, in place: Place, _ change: (CKShare.Participant) -> Void
    ) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let participant = entry(of: other, in: share) else { return }
            change(participant)
            _ = try await database(place).save(share)
        }
    }

    /// Changes what everyone with the URL may do.
    package func publish(
        _ name: String, _ permission: CKShare.ParticipantPermission, in place: Place
    ) async -> Outcome {
        await edit(name, in: place) { $0.publicPermission = permission }
    }

    /// Changes the title of a share, as an example of any change of its keys.
    package func rename(_ name: String, _ title: String, in place: Place) async -> Outcome {
        await edit(name, in: place) { $0[CKShare.SystemFieldKey.title] = title }
    }

    /// Fetches the share of the URL, and accepts it.
    package func accept(_ url: URL) async -> Outcome {
        await Outcome.of { _ = try await container.accept(try await container.shareMetadata(for: url)) }
    }

    package func requestAccess(_ url: URL) async -> Outcome {
        await Outcome.of {
            guard let answer = try await container.requestShareAccess(for: [url])[url] else {
                throw TownError(description: "the request for access has no answer")
            }
            try answer.get()
        }
    }
}

// MARK: Other ways in

extension Person {
    /// Invites a person by their user record.
    package func inviteByRecord(
        _ other: Person, to name: String, permission: CKShare.ParticipantPermission, in place: Place
    ) async -> Outcome {
        await edit(name, in: place) { share in
            let id = CKRecord.ID(recordName: other.userName)
            let participant = try await container.shareParticipant(forUserRecordID: id)
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    /// Invites the first user of a URL; returns the URL.
    package func inviteOnce(
        to name: String, permission: CKShare.ParticipantPermission, in place: Place
    ) async throws -> (participant: CKShare.Participant.ID, url: URL) {
        let share = try await shareRecord(name, in: place)
        let participant = CKShare.Participant.oneTimeURLParticipant()
        participant.permission = permission
        share.addParticipant(participant)
        _ = try await database(place).save(share)
        guard let url = share.oneTimeURL(for: participant.participantID) else {
            throw TownError(description: "the saved share \(name) has no one-time URL")
        }
        return (participant.participantID, url)
    }

    /// Removes a participant from a share; nothing is saved if this person does not see them in it.
    package func remove(
        participant id: CKShare.Participant.ID, from name: String, in place: Place
    ) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let participant = share.participants.first(where: { $0.participantID == id }) else { return }
            share.removeParticipant(participant)
            _ = try await database(place).save(share)
        }
    }

    /// Answers a person's request for access; nothing is saved if this person does not see it.
    package func answer(
        _ other: Person, of name: String, in place: Place,
        _ answer: (CKShare, CKShare.AccessRequester) async throws -> Void
    ) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let request = request(of: other, in: share) else { return }
            try await answer(share, request)
            _ = try await database(place).save(share)
        }
    }

    /// Invites a requester by the data in the request (P-20).
    package func approve(
        _ other: Person, for name: String, permission: CKShare.ParticipantPermission, in place: Place
    ) async -> Outcome {
        await answer(other, of: name, in: place) { share, request in
            guard let email = request.participantLookupInfo.emailAddress else {
                throw TownError(description: "the request of \(other) says no address")
            }
            let participant = try await container.shareParticipant(forEmailAddress: email)
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    /// Unblocks a person; nothing is saved if this person does not see that they are blocked.
    package func unblock(_ other: Person, from name: String, in place: Place) async -> Outcome {
        await Outcome.of {
            let share = try await shareRecord(name, in: place)
            guard let block = block(of: other, in: share) else { return }
            share.unblockIdentities([block])
            _ = try await database(place).save(share)
        }
    }
}

extension Person {
    /// A person's entry, as seen by this person, who has fetched the share.
    package func entry(of other: Person, in share: CKShare) -> CKShare.Participant? {
        share.participants.first { isIdentity($0.userIdentity, of: other) }
    }

    package func request(of other: Person, in share: CKShare) -> CKShare.AccessRequester? {
        share.requesters.first {
            isIdentity($0.userIdentity, of: other) || $0.participantLookupInfo.emailAddress == other.email
        }
    }

    package func block(of other: Person, in share: CKShare) -> CKShare.BlockedIdentity? {
        share.blockedIdentities.first { isIdentity($0.userIdentity, of: other) }
    }

    /// Everybody's own user record is named otherwise to themselves (D-02).
    package func isIdentity(_ identity: CKUserIdentity, of other: Person) -> Bool {
        if let name = identity.userRecordID?.recordName {
            return name == other.userName || name == CKCurrentUserDefaultName && other == self
        }
        return identity.lookupInfo?.emailAddress == other.email
    }
}
