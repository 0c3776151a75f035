// How people join a share by its URLs, through the public API, on LevelDB.

import Dispatch
import Foundation
import StratusKit
import StratusStore
import Testing

@Suite struct ShareAcceptanceTests {
    @Test("[P-06][P-07] a change of the public permission removes participants as it must, and keeps those added again")
    func publicPermission() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            share.addParticipant(try await stage.person(stage.carol))
        }
        try await stage.accept(share, as: stage.bob)
        let newest = try await stage.newest(share)
        newest.publicPermission = .readOnly
        try await stage.owned.save(newest)
        #expect(newest.participants.map(\.role) == [.owner, .publicUser])
        try await stage.accept(newest, as: stage.dave)
        let opened = try await stage.newest(share)
        #expect(opened.participants.count == 3)

        opened.publicPermission = .none
        let bob = try await stage.person(stage.bob)
        opened.addParticipant(bob)
        #expect(opened.participants.count == 3)
        try await stage.owned.save(opened)
        #expect(opened.participants.map(\.role) == [.owner, .privateUser])
        #expect(opened.participants[1].acceptanceStatus == .accepted)
        #expect(try await stage.visible(["note"], to: stage.bob) == ["note"])
        #expect(try await stage.visible(["note"], to: stage.dave) == [])
        #expect(await failure { try await stage.accept(share, as: stage.dave) } == "unknownItem")
    }

    @Test("[M-01][M-02] the metadata contains the root if requested, with the requested fields")
    func roots() async throws {
        let stage = try SharingStage()
        let (root, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        root["text"] = "folder"
        root["colour"] = "blue"
        try await stage.owned.save(root)
        let url = try #require(share.url)
        // Any container will do.
        let elsewhere = stage.store.container("iCloud.com.example.other", signedInAs: stage.bob)
        for keys in [nil, ["colour"], []] as [[String]?] {
            let operation = CKFetchShareMetadataOperation(shareURLs: [url])
            operation.shouldFetchRootRecord = true
            operation.rootRecordDesiredKeys = keys
            let found = Locked<CKShare.Metadata?>(nil)
            operation.perShareMetadataResultBlock = { _, result in
                let metadata = try? result.get()
                found.withLock { $0 = metadata }
            }
            await run(operation, in: elsewhere)
            let metadata = try #require(found.value)
            #expect(metadata.containerIdentifier == SharingStage.containerID)
            #expect(metadata.rootRecord?.recordID == stage.foreignID("root"))
            #expect(metadata.rootRecord?.allKeys() == keys ?? ["colour", "text"])
        }
    }

    @Test("[O-14] a share saved by a long-lived operation is a share again when the operation is fetched again")
    func longLived() async throws {
        let stage = try SharingStage()
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        let root = stage.record("root")
        let share = CKShare(rootRecord: root)
        share.addParticipant(try await stage.person(stage.bob))
        let container = stage.container(stage.alice)
        let operation = CKModifyRecordsOperation(recordsToSave: [root, share])
        operation.configuration.isLongLived = true
        let found = Locked<CKOperation?>(nil)
        let id = operation.operationID
        // Fetched before it has called its last block.
        operation.perRecordSaveBlock = { [weak operation] recordID, _ in
            guard recordID == share.recordID, operation != nil else { return }
            let semaphore = DispatchSemaphore(value: 0)
            container.fetchLongLivedOperation(withID: id) { kept, _ in
                found.withLock { $0 = kept }
                semaphore.signal()
            }
            semaphore.wait()
        }
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            stage.owned.add(operation)
        }
        let kept = try #require(found.value as? CKModifyRecordsOperation)
        let keptShare = try #require(kept.recordsToSave?.last as? CKShare)
        #expect(keptShare.participants.count == 2)
        let replayed = Locked<[CKRecord]>([])
        kept.perRecordSaveBlock = { _, result in
            if let record = try? result.get() { replayed.withLock { $0.append(record) } }
        }
        await withCheckedContinuation { continuation in
            kept.completionBlock = { continuation.resume() }
            stage.owned.add(kept)
        }
        let replayedShare = try #require(replayed.value.last as? CKShare)
        #expect(replayedShare.url == share.url)
        #expect(replayedShare.participants.count == 2)
    }

    @Test("[P-05][M-03][X-14] everyone with the URL can join a public share")
    func publicShare() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.publicPermission = .readOnly }
        let url = try #require(share.url)
        let metadata = try await stage.container(stage.dave).shareMetadata(for: url)
        #expect(metadata.participantRole == .publicUser)
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.share.currentUserParticipant == nil)
        let joined = try await stage.accept(url, as: stage.dave)
        #expect(joined.currentUserParticipant?.role == .publicUser)
        #expect(joined.currentUserParticipant?.permission == .readOnly)
        let newest = try await stage.newest(share)
        newest.publicPermission = .readWrite
        try await stage.owned.save(newest)
        let note = try await stage.shared(stage.dave).record(for: stage.foreignID("note"))
        note["text"] = "by Dave"
        try await stage.shared(stage.dave).save(note)
        newest.publicPermission = .readOnly
        try await stage.owned.save(newest)
        note["text"] = "too late"
        #expect(await failure { try await stage.shared(stage.dave).save(note) } == "permissionFailure")
        #expect(try await stage.visible(["note"], to: stage.dave) == ["note"])
    }

    @Test("[P-16][P-17] a one-time URL exists after the save, works once for anyone, and then becomes the share's")
    func oneTime() async throws {
        let stage = try SharingStage()
        let guest = CKShare.Participant.oneTimeURLParticipant()
        guest.permission = .readWrite
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(guest)
            share.addParticipant(try await stage.person(stage.bob))
        }
        let url = try #require(share.oneTimeURL(for: guest.participantID))
        #expect(url != share.url)
        #expect(guest.userIdentity.lookupInfo == nil)
        #expect(guest.userIdentity.nameComponents == nil)
        #expect(share.oneTimeURL(for: share.owner.participantID) == nil)
        #expect(share.__oneTimeURL(forParticipantID: guest.__participantID) == url)
        #expect(await failure { try await stage.accept(share, as: stage.dave) } == "unknownItem")
        // Bob has an invitation of his own.
        #expect(await failure { try await stage.accept(url, as: stage.bob) } == "participantAlreadyInvited")
        try await stage.accept(url, as: stage.dave)
        #expect(try await stage.visible(["note"], to: stage.dave) == ["note"])
        #expect(await failure { try await stage.accept(url, as: stage.carol) } == "unknownItem")
        let newest = try await stage.newest(share)
        #expect(newest.oneTimeURL(for: guest.participantID) == newest.url)
        #expect(newest.participants[1].userIdentity.userRecordID?.recordName == stage.dave.userRecordName)
    }
}
