// What a client may not do with a share, by any means: through the public API, on LevelDB.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import Testing

@testable import StratusKit

@Suite struct ShareForgeryTests {
    /// The archive of a share after its block of people was edited by hand.
    private func forged(_ share: CKShare, _ edit: (inout [String: Any]) -> Void) throws -> CKShare {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: archiver)
        var facts = try #require(share.sharing.value.base)
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(facts))
        var block = try #require(json as? [String: Any])
        edit(&block)
        facts = try JSONDecoder().decode(ShareFacts.self, from: JSONSerialization.data(withJSONObject: block))
        let recordID = share.recordID
        return CKShare(recordID, share.parts) { mark in
            var state = ShareState(facts, in: recordID.zoneID, viewer: nil, mark: mark)
            state.base = facts
            return state
        }
    }

    private func people(_ block: inout [String: Any], _ edit: (Int, inout [String: Any]) -> Void) {
        var people = block["participants"] as? [[String: Any]] ?? []
        for index in people.indices { edit(index, &people[index]) }
        block["participants"] = people
    }

    @Test("[X-22] no one can become owner or administrator, not even by an edited archive")
    func roles() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        let bobs = try await stage.accept(share, as: stage.bob)
        let own = try #require(bobs.currentUserParticipant?.participantID)
        for role in [CKShare.ParticipantRole.owner, .administrator] {
            let forgery = try forged(bobs) { block in
                people(&block) { _, person in
                    if person["id"] as? String == own { person["role"] = role.rawValue }
                }
                if role == .owner { block["ownerID"] = own }
            }
            let code = await failure { try await stage.shared(stage.bob).save(forgery) }
            #expect(code == "permissionFailure" || code == "invalidArguments")
        }
        let newest = try await stage.newest(share)
        #expect(newest.participants.map(\.role) == [.owner, .privateUser])
    }

    @Test("[X-22] an acceptance in an archive does not count, and public users cannot be added")
    func statuses() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        let accepted = try forged(share) { block in
            people(&block) { _, person in person["status"] = CKShare.ParticipantAcceptanceStatus.accepted.rawValue }
        }
        try await stage.owned.save(accepted)
        #expect(try await stage.newest(share).participants.map(\.acceptanceStatus) == [.accepted, .pending])
        #expect(try await stage.visible(["root"], to: stage.bob) == [])

        let newest = try await stage.newest(share)
        let stranger = try await stage.person(stage.dave)
        stranger.role = .publicUser
        newest.addParticipant(stranger)
        #expect(await failure { try await stage.owned.save(newest) } == "invalidArguments")
        let secondOwner = try await stage.newest(share)
        let dave = try await stage.person(stage.dave)
        dave.role = .owner
        secondOwner.addParticipant(dave)
        #expect(await failure { try await stage.owned.save(secondOwner) } == "invalidArguments")
        #expect(try await stage.newest(share).participants.count == 2)
    }

    @Test("[X-22][M-05] forged metadata have no effect: only the URL counts")
    func metadata() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        let told = try await stage.container(stage.bob).shareMetadata(for: try #require(share.url))
        // Bob's metadata in Dave's hands.
        let archive = try ArchiveSamples.archive(told)
        let stolen = try StratusArchive.decode(CKShare.Metadata.self, from: archive)
        #expect(stolen == told)
        #expect(await failure { try await stage.container(stage.dave).accept(stolen) } == "unknownItem")
        #expect(await failure { try await stage.container(stage.bob).accept(stolen) } == "ok")
        let elsewhere = stage.store.container("iCloud.com.example.other", signedInAs: stage.bob)
        #expect(await failure { try await elsewhere.accept(stolen) } == "badContainer")
        for text in ["https://stratus.invalid/share/AAAAAAAAAAAAAAAAAAAAAA", "https://example.com", "x:", "/"] {
            let url = try #require(URL(string: text))
            #expect(await failure { try await stage.container(stage.bob).shareMetadata(for: url) } == "unknownItem")
        }
    }

    @Test("[X-23] a record, or a share, that one account fetched cannot be saved by another")
    func otherAccounts() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            share.addParticipant(try await stage.person(stage.carol))
        }
        let bobs = try await stage.accept(share, as: stage.bob)
        try await stage.accept(share, as: stage.carol)
        let note = try await stage.shared(stage.bob).record(for: stage.foreignID("note"))
        note["text"] = "from Bob's hands"
        #expect(await failure { try await stage.shared(stage.carol).save(note) } == "invalidArguments")
        #expect(await failure { try await stage.shared(stage.carol).save(bobs) } == "invalidArguments")
        #expect(await failure { try await stage.owned.save(bobs) } == "invalidArguments")
        let told = try await stage.container(stage.bob).shareMetadata(for: try #require(share.url))
        #expect(await failure { try await stage.shared(stage.carol).save(told.share) } == "invalidArguments")
    }

    @Test("[C-12][C-16][C-17][X-25] mistakes with a share fail its save with invalidArguments and their text")
    func mistakes() async throws {
        let stage = try SharingStage()
        let (root, share) = try await stage.shareFolder()
        share.removeParticipant(ShareSamples.person("x", email: "x@example.com"))
        let error = await #expect(throws: CKError.self) { try await stage.owned.save(share) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("not in this share") == true)
        let wrong = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "elsewhere"))
        let answers = try await stage.owned.modifyRecords(saving: [root, wrong], deleting: [])
        let refusal = #expect(throws: CKError.self) { try answers.saveResults[wrong.recordID]?.get() }
        #expect(refusal?.code == .invalidArguments)
        #expect(refusal?.localizedDescription == "Share must be in the same zone as the current record")
        let plain = CKRecord(recordType: CKRecord.SystemType.share, recordID: stage.id("plain"))
        #expect(await failure { try await stage.owned.save(plain) } == "invalidArguments")
    }

    @Test("[SH-01][SH-04][X-21] a share without its root, in the default zone or in the public database is refused")
    func places() async throws {
        let stage = try SharingStage()
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        let root = stage.record("root")
        let alone = CKShare(rootRecord: root)
        let error = await #expect(throws: CKError.self) { try await stage.owned.save(alone) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("without its rootRecord") == true)

        let home = CKRecord(recordType: "Item")
        let inDefault = CKShare(rootRecord: home)
        let answers = try await stage.owned.modifyRecords(saving: [home, inDefault], deleting: [])
        #expect(answers.saveResults[inDefault.recordID].map { outcome($0) } == "invalidArguments")
        let database = stage.container(stage.alice).publicCloudDatabase
        let code: String
        do {
            let answers = try await database.modifyRecords(saving: [home, CKShare(rootRecord: home)], deleting: [])
            code = answers.saveResults.filter { $0.key != home.recordID }.values.map { outcome($0) }.first ?? "none"
        } catch {
            code = outcome(error)
        }
        #expect(code == "badDatabase")
    }

    @Test("[SH-07][X-01][X-02] a second share is refused with the conflicting one, its rule and its root")
    func alreadyShared() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder()
        let note = try await stage.owned.record(for: stage.id("note"))
        let second = CKShare(rootRecord: note)
        let answers = try await stage.owned.modifyRecords(saving: [note, second], deleting: [], atomically: false)
        let error = #expect(throws: CKError.self) { try answers.saveResults[second.recordID]?.get() }
        #expect(error?.code == .alreadyShared)
        let blocking = try #require(error?.serverRecord as? CKShare)
        #expect(blocking.recordID == share.recordID)
        #expect(blocking.url == share.url)
        for key in ["record", "root", "share", "rule"] { #expect(error?.userInfo[key] is String) }
    }

    @Test("[X-01][SH-08] a shared root cannot be shared again, and a share that was never saved leaves nothing behind")
    func again() async throws {
        let stage = try SharingStage()
        let (root, share) = try await stage.shareFolder()
        let second = CKShare(rootRecord: root)
        let answers = try await stage.owned.modifyRecords(saving: [root, second], deleting: [])
        let error = #expect(throws: CKError.self) { try answers.saveResults[second.recordID]?.get() }
        #expect(error?.code == .alreadyShared)
        #expect(error?.serverRecord?.recordID == share.recordID)
        try await stage.owned.save(root)
        #expect(root.share?.recordID == share.recordID)

        let outside = try await stage.owned.record(for: stage.id("outside"))
        _ = CKShare(rootRecord: outside)
        #expect(outside.share != nil)
        outside["text"] = "alone"
        try await stage.owned.save(outside)
        #expect(outside.share == nil)
    }

    @Test("[L-12][X-10] one participant too many is refused, and no one is invited")
    func tooMany() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder()
        let emails = (1...101).map { "guest\($0)@example.com" }
        let found = try await stage.container(stage.alice).shareParticipants(forEmailAddresses: emails)
        for email in emails { share.addParticipant(try #require(found[email]).get()) }
        #expect(await failure { try await stage.owned.save(share) } == "tooManyParticipants")
        #expect(try await stage.newest(share).participants.count == 1)
        share.removeParticipant(share.participants[101])
        try await stage.owned.save(share)
        #expect(share.participants.count == 101)
    }

    @Test("[P-19] with sharing disabled, saving shares, reading URLs and requesting access are refused")
    func switchedOff() async throws {
        let stage = try SharingStage { $0.isSharingEnabled = false }
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        let root = stage.record("root")
        let share = CKShare(rootRecord: root)
        let answers = try await stage.owned.modifyRecords(saving: [root, share], deleting: [])
        let error = #expect(throws: CKError.self) { try answers.saveResults[share.recordID]?.get() }
        #expect(error?.code == .permissionFailure)
        let text = "Shared zone update is not enabled for container"
        #expect(error?.localizedDescription.hasPrefix(text) == true)
        let url = try #require(URL(string: "https://stratus.invalid/share/AAAAAAAAAAAAAAAAAAAAAA"))
        let bob = stage.container(stage.bob)
        #expect(await failure { try await bob.shareMetadata(for: url) } == "permissionFailure")
        #expect(await failure { try await bob.requestShareAccess(for: [url]) } == "permissionFailure")
    }

    @Test("[P-19] sharing can be disabled for one container, and stays enabled for the others")
    func switchedOffForOne() async throws {
        let stage = try SharingStage { $0.containersWithoutSharing = ["iCloud.com.example.private"] }
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        func other(_ account: Stratus.Account) -> CKContainer {
            stage.store.container("iCloud.com.example.private", signedInAs: account)
        }
        let database = other(stage.alice).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: stage.zoneID))
        let root = stage.record("root")
        #expect(await failure { try await database.modifyRecords(saving: [root], deleting: []) } == "ok")
        let refused = CKShare(rootRecord: stage.record("folder"))
        let answers = try await database.modifyRecords(saving: [stage.record("folder"), refused], deleting: [])
        #expect(await failure { try answers.saveResults[refused.recordID]?.get() } == "permissionFailure")
        #expect(
            await failure { try await database.save(CKShare(recordZoneID: stage.zoneID)) } == "permissionFailure")
        let url = try #require(share.url)
        #expect(await failure { try await other(stage.bob).shareMetadata(for: url) } == "permissionFailure")
        try await stage.accept(share, as: stage.bob)
        #expect(try await stage.visible(["note"], to: stage.bob) == ["note"])
    }
}
