// The pages about sharing and access.

import CloudKit

extension Guide {
    /// Shares a folder: the share is saved together with its root.
    public static func share(_ folder: CKRecord, in database: CKDatabase) async throws -> CKShare {
        // snippet
        let share = CKShare(rootRecord: folder)
        share[CKShare.SystemFieldKey.title] = "Our trip" as CKRecordValue
        let (results, _) = try await database.modifyRecords(saving: [folder, share], deleting: [])
        for result in results.values { _ = try result.get() }
        // end
        return share
    }

    /// Invites a person by e-mail address, only with CloudKit's calls.
    public static func invite(_ email: String, to share: CKShare, in container: CKContainer) async throws {
        // snippet
        let guest = try await container.shareParticipant(forEmailAddress: email)
        guest.permission = .readWrite
        share.addParticipant(guest)
        try await container.privateCloudDatabase.save(share)
        // end
    }

    /// Invites in one call, as a sharing sheet would.
    public static func inviteFromHost(
        _ email: String, to share: CKShare, in container: CKContainer, of cloud: Stratus
    ) async throws -> CKShare {
        // snippet
        try await cloud.invite(
            [CKUserIdentity.LookupInfo(emailAddress: email)], to: share.recordID, in: container,
            permission: .readWrite)
        // end
    }

    /// Opens a share's URL for a person and reads what is shared.
    public static func accept(_ url: URL, as bob: Stratus.Account, of cloud: Stratus) async throws -> [CKRecord.ID] {
        // snippet
        let metadata = try await cloud.open(url, as: bob)

        let container = cloud.container(metadata.containerIdentifier, signedInAs: bob)
        let shared = container.sharedCloudDatabase
        let zones = try await shared.allRecordZones()
        let changes = try await shared.recordZoneChanges(inZoneWith: zones[0].zoneID, since: nil)
        // end
        return Array(changes.modificationResultsByID.keys)
    }

    /// Removes a person from a share, and ends the share.
    public static func stopSharing(
        _ shareID: CKRecord.ID, with email: String, in database: CKDatabase
    ) async throws -> Int {
        // snippet
        guard let share = try await database.record(for: shareID) as? CKShare else { return 0 }
        for participant in share.participants
        where participant.userIdentity.lookupInfo?.emailAddress == email {
            share.removeParticipant(participant)
        }
        try await database.save(share)
        // end
        return share.participants.count
    }

    /// Explains a person's permissions.
    public static func explain(
        _ record: CKRecord, of alice: Stratus.Account, for bob: Stratus.Account, in cloud: Stratus
    ) async throws -> Stratus.AccessExplanation {
        // snippet
        let explanation = try await cloud.explainAccess(
            to: record.recordID, of: alice, inContainer: "iCloud.com.example.app", for: bob)
        print(explanation)  // the chain, the share, the participant, the verdict: a line each
        if explanation.mayChange { print("… so the edit button may be shown.") }
        // end
        return explanation
    }

    /// Who can see a record, page by page.
    public static func viewers(
        of record: CKRecord, of alice: Stratus.Account, in cloud: Stratus
    ) async throws -> [Stratus.RecordPerson] {
        // snippet
        var viewers: [Stratus.RecordPerson] = []
        var position: Stratus.RecordPeoplePage.Position?
        repeat {
            let page = try await cloud.people(
                whoCanSee: record.recordID, of: alice, inContainer: "iCloud.com.example.app", after: position)
            viewers += page.viewers  // page.others are invited, or may do nothing now
            position = page.next
        } while position != nil
        // end
        return viewers
    }

    /// Reads a person's permissions for many records, cheaply.
    public static func permissions(
        _ recordIDs: [CKRecord.ID], of alice: Stratus.Account, for bob: Stratus.Account, in cloud: Stratus
    ) async throws -> [CKRecord.ID] {
        // snippet
        let permissions = try await cloud.permissions(
            for: recordIDs, of: alice, inContainer: "iCloud.com.example.app", account: bob)
        let visible = recordIDs.filter { permissions[$0]?.contains(.read) == true }
        // end
        return visible
    }
}
