// Sharing as several people see it, through the public face, on LevelDB.

import Foundation
import StratusKit
import StratusStore
import Testing

@Suite struct ShareJourneyTests {
    @Test("[SH-02][SH-03][SH-15][C-04] a folder is shared with title, thumbnail and type, as in the documentation")
    func creating() async throws {
        let stage = try SharingStage()
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        let root = stage.record("root")
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "My Share"
        share[CKShare.SystemFieldKey.thumbnailImageData] = Data([1, 2, 3])
        share[CKShare.SystemFieldKey.shareType] = "com.example.folder"
        share.publicPermission = .none

        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [root, share])
        operation.perRecordSaveBlock = { id, result in
            trace.note("\(id == share.recordID ? "share" : "root") \(outcome(result))")
        }
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            stage.owned.add(operation)
        }
        #expect(trace.all == ["root ok", "share ok", "ok"])
        #expect(share.url?.absoluteString.hasPrefix("https://stratus.invalid/share/") == true)
        #expect(share.recordChangeTag != nil)
        #expect(share.changedKeys().isEmpty)
        #expect(share.participants.count == 1)
        #expect(share.owner.role == .owner)
        #expect(share.owner.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(share.owner.userIdentity.nameComponents?.givenName == "Alice")

        let fetched = try await stage.newest(share)
        #expect(fetched.url == share.url)
        #expect(fetched["cloudkit.title"] as? String == "My Share")
        #expect(fetched["cloudkit.thumbnailImageData"] as? Data == Data([1, 2, 3]))
        let fetchedRoot = try await stage.owned.record(for: root.recordID)
        #expect(fetchedRoot.share?.recordID == share.recordID)
        #expect(root.share?.recordID == share.recordID)
    }

    @Test("[P-01][X-11] participants are fetched with a result for each: known, unknown and malformed")
    func participants() async throws {
        let stage = try SharingStage()
        let infos =
            CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["bob@example.com", "new@example.com", "no address"])
            + [
                CKUserIdentity.LookupInfo(phoneNumber: "0049 30 1234567"),
                CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: "_nobody")),
            ]
        let found = Locked<[CKUserIdentity.LookupInfo: String]>([:])
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        operation.perShareParticipantResultBlock = { info, result in
            let text: String
            switch result {
            case .success(let participant):
                let identity = participant.userIdentity
                text = "\(identity.nameComponents?.givenName ?? "nil") \(identity.hasiCloudAccount)"
            case .failure(let error): text = outcome(error)
            }
            found.withLock { $0[info] = text }
        }
        await run(operation, in: stage.container(stage.alice))
        #expect(
            infos.map { found.value[$0] } == ["Bob true", "nil false", "invalidArguments", "Bob true", "unknownItem"])
    }

    @Test(
        "[P-02][P-03][P-05][P-10][P-11][P-15][X-16][D-01][D-02][D-03][D-11][M-06] invited, accepted, read, edited, refused, removed"
    )
    func invitation() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            share.addParticipant(try await stage.person(stage.carol, .readOnly))
        }
        let url = try #require(share.url)
        #expect(share.participants.map(\.acceptanceStatus) == [.accepted, .pending, .pending])
        #expect(share.participants[1].dateAddedToShare != nil)

        // Nothing is visible before acceptance.
        #expect(try await stage.visible(["root", "note"], to: stage.bob) == [])
        let metadata = try await stage.container(stage.bob).shareMetadata(for: url)
        #expect(metadata.participantRole == .privateUser)
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.ownerIdentity.nameComponents?.givenName == "Alice")
        #expect(metadata.rootRecord == nil)
        #expect(metadata.hierarchicalRootRecordID == stage.foreignID("root"))
        let accepted = try await stage.container(stage.bob).accept(metadata)
        #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(accepted.recordID.zoneID.ownerName == stage.alice.userRecordName)
        try await stage.accept(url, as: stage.carol)

        let zones = try await stage.shared(stage.bob).allRecordZones()
        #expect(zones.map(\.zoneID) == [stage.foreignID("root").zoneID])
        for person in [stage.bob, stage.carol] {
            #expect(try await stage.visible(["root", "note", "outside"], to: person) == ["root", "note"])
        }

        // Bob edits and adds; Carol only reads.
        let note = try await stage.shared(stage.bob).record(for: stage.foreignID("note"))
        note["text"] = "edited"
        try await stage.shared(stage.bob).save(note)
        let seen = try await stage.owned.record(for: stage.id("note"))
        #expect(seen["text"] as? String == "edited")
        #expect(seen.lastModifiedUserRecordID?.recordName == stage.bob.userRecordName)
        let added = CKRecord(recordType: "Item", recordID: stage.foreignID("added"))
        added.setParent(stage.foreignID("root"))
        try await stage.shared(stage.bob).save(added)
        #expect(try await stage.visible(["added"], to: stage.carol) == ["added"])
        let rootless = CKRecord(recordType: "Item", recordID: stage.foreignID("rootless"))
        #expect(await failure { try await stage.shared(stage.bob).save(rootless) } == "permissionFailure")
        let carols = try await stage.shared(stage.carol).record(for: stage.foreignID("note"))
        carols["text"] = "mine"
        #expect(await failure { try await stage.shared(stage.carol).save(carols) } == "permissionFailure")

        // Alice removes Bob, who is an outsider at once.
        let newest = try await stage.newest(share)
        let bob = try #require(
            newest.participants.first { $0.userIdentity.userRecordID?.recordName == stage.bob.userRecordName })
        #expect(bob.acceptanceStatus == .accepted)
        #expect(bob.userIdentity.nameComponents?.givenName == "Bob")
        newest.removeParticipant(bob)
        try await stage.owned.save(newest)
        #expect(newest.participants.count == 2)
        #expect(try await stage.visible(["root", "note", "added"], to: stage.bob) == [])
        #expect(try await stage.shared(stage.bob).allRecordZones().isEmpty)
        #expect(await failure { try await stage.container(stage.bob).shareMetadata(for: url) } == "unknownItem")
        note["text"] = "again"
        #expect(await failure { try await stage.shared(stage.bob).save(note) } != "ok")
        #expect(try await stage.visible(["root"], to: stage.carol) == ["root"])
    }

    @Test("[X-12][X-13][P-04][P-14] role and permission change by the owner's and an administrator's save alone")
    func roles() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            let carol = try await stage.person(stage.carol, .readOnly)
            carol.role = .administrator
            share.addParticipant(carol)
        }
        let bobs = try await stage.accept(share, as: stage.bob)
        let carols = try await stage.accept(share, as: stage.carol)
        bobs["cloudkit.title"] = "Bob's"
        #expect(await failure { try await stage.shared(stage.bob).save(bobs) } == "permissionFailure")
        let managed = try #require(carols.participants.first { $0.role == .privateUser })
        managed.permission = .readOnly
        try await stage.shared(stage.carol).save(carols)
        let note = try await stage.shared(stage.bob).record(for: stage.foreignID("note"))
        note["text"] = "too late"
        #expect(await failure { try await stage.shared(stage.bob).save(note) } == "permissionFailure")
        #expect(try await stage.visible(["note"], to: stage.bob) == ["note"])
    }

    @Test("[S-03][S-05][S-06] a share is saved by its tag whatever the policy, and the conflict's shares can be merged")
    func conflict() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder()
        let other = try await stage.newest(share)
        other.addParticipant(try await stage.person(stage.bob))
        try await stage.owned.save(other)
        share.addParticipant(try await stage.person(stage.carol))
        let answer = try await stage.owned.modifyRecords(saving: [share], deleting: [], savePolicy: .allKeys)
        let error = try #require(
            #expect(throws: CKError.self) { try answer.saveResults[share.recordID]?.get() })
        #expect(error.code == .serverRecordChanged)
        let server = try #require(error.serverRecord as? CKShare)
        #expect(server.participants.count == 2)
        #expect(error.clientRecord === share)
        #expect((error.ancestorRecord as? CKShare)?.participants.count == 1)
        server.addParticipant(try await stage.person(stage.carol))
        try await stage.owned.save(server)
        #expect(try await stage.newest(share).participants.count == 3)
    }

    @Test("[P-20][P-22][M-04] access can be requested, approved, denied and blocked")
    func accessRequests() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder()
        let url = try #require(share.url)
        func ask(_ account: Stratus.Account) async throws -> String {
            outcome(try await stage.container(account).requestShareAccess(for: [url])[url] ?? .success(()))
        }
        #expect(try await ask(stage.bob) == "unknownItem")
        share.allowsAccessRequests = true
        try await stage.owned.save(share)
        #expect(
            await failure { try await stage.container(stage.bob).shareMetadata(for: url) } == "permissionFailure")
        for person in [stage.bob, stage.carol, stage.dave] { #expect(try await ask(person) == "ok") }

        var newest = try await stage.newest(share)
        #expect(
            newest.requesters.map { $0.userIdentity.nameComponents?.givenName } == ["Bob", "Carol", "Dave"])
        #expect(newest.requesters.map(\.contact.givenName) == ["Bob", "Carol", "Dave"])
        let approved = try await stage.container(stage.alice).shareParticipants(
            for: [newest.requesters[0].participantLookupInfo])
        newest.addParticipant(try #require(approved.values.first).get())
        newest.denyRequesters([newest.requesters[1]])
        newest.blockRequesters([newest.requesters[1]])
        try await stage.owned.save(newest)
        newest = try await stage.newest(share)
        #expect(newest.requesters.isEmpty)
        #expect(newest.blockedIdentities.map { $0.userIdentity.nameComponents?.givenName } == ["Dave"])
        #expect(newest.participants.last?.isApprovedRequester == true)
        try await stage.accept(url, as: stage.bob)
        #expect(try await stage.visible(["note"], to: stage.bob) == ["note"])

        // A denied person may ask again, a blocked one gets the same answer and has no effect.
        #expect(try await ask(stage.carol) == "ok")
        #expect(try await ask(stage.dave) == "ok")
        newest = try await stage.newest(share)
        #expect(newest.requesters.map { $0.userIdentity.nameComponents?.givenName } == ["Carol"])
        newest.unblockIdentities(newest.blockedIdentities)
        try await stage.owned.save(newest)
        #expect(try await ask(stage.dave) == "ok")
        #expect(try await stage.newest(share).requesters.count == 2)
    }

    @Test("[P-13][SH-10][X-26] leaving affects only the participant, stopping affects everyone; the URL returns")
    func ending() async throws {
        let stage = try SharingStage()
        let (root, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            share.addParticipant(try await stage.person(stage.carol))
        }
        let url = try #require(share.url)
        let bobs = try await stage.accept(share, as: stage.bob)
        try await stage.accept(share, as: stage.carol)
        try await stage.shared(stage.bob).deleteRecord(withID: bobs.recordID)
        #expect(try await stage.visible(["root", "note"], to: stage.bob) == [])
        #expect(try await stage.visible(["root", "note"], to: stage.carol) == ["root", "note"])
        #expect(try await stage.newest(share).participants.count == 2)

        try await stage.owned.deleteRecord(withID: share.recordID)
        #expect(try await stage.visible(["root", "note"], to: stage.carol) == [])
        #expect(await failure { try await stage.container(stage.carol).shareMetadata(for: url) } == "unknownItem")
        let unshared = try await stage.owned.record(for: root.recordID)
        #expect(unshared.share == nil)
        #expect(try await stage.owned.record(for: stage.id("note"))["text"] as? String == "text")

        let again = CKShare(rootRecord: unshared)
        _ = try await stage.owned.modifyRecords(saving: [unshared, again], deleting: []).saveResults[again.recordID]?
            .get()
        #expect(again.url == url)
    }

    @Test("[SH-09][D-04][C-11] a shared zone is visible whole, and reports that it is shared")
    func zoneWide() async throws {
        let stage = try SharingStage()
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        try await stage.owned.save(stage.record("note"))
        let share = CKShare(recordZoneID: stage.zoneID)
        share.addParticipant(try await stage.person(stage.bob))
        try await stage.owned.save(share)
        try await stage.accept(share, as: stage.bob)
        #expect(try await stage.visible(["note"], to: stage.bob) == ["note"])
        let free = CKRecord(recordType: "Item", recordID: stage.foreignID("free"))
        try await stage.shared(stage.bob).save(free)
        #expect(try await stage.owned.recordZone(for: stage.zoneID).share?.recordID == share.recordID)
        let second = CKShare(recordZoneID: stage.zoneID)
        let error = await #expect(throws: CKError.self) { try await stage.owned.save(second) }
        #expect(error?.code == .alreadyShared)
        #expect((error?.serverRecord as? CKShare)?.url == share.url)
    }

    @Test("[D-07][D-08][P-13] a participant leaves a shared zone by deleting it, and the owner keeps it")
    func leavingZone() async throws {
        let stage = try SharingStage()
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        try await stage.owned.save(stage.record("note"))
        let share = CKShare(recordZoneID: stage.zoneID)
        share.addParticipant(try await stage.person(stage.bob))
        try await stage.owned.save(share)
        try await stage.accept(share, as: stage.bob)
        let (shared, zoneID) = (stage.shared(stage.bob), stage.foreignID("note").zoneID)
        let joined = try await shared.databaseChanges(since: nil)
        #expect(joined.modifications.map(\.zoneID) == [zoneID])

        try await shared.deleteRecordZone(withID: zoneID)
        let left = try await shared.databaseChanges(since: joined.changeToken)
        #expect(left.deletions.map(\.zoneID) == [zoneID])
        #expect(try await shared.allRecordZones().isEmpty)
        #expect(try await stage.newest(share).participants.count == 1)
        #expect(try await stage.owned.record(for: stage.id("note"))["text"] as? String == "text")
        let again = await #expect(throws: CKError.self) { try await shared.deleteRecordZone(withID: zoneID) }
        #expect(again?.code == .zoneNotFound)
    }
}
