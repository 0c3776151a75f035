// What a host does about shares: opened URLs, invitations to be sent, inviting for its users.

import Foundation
import StratusKit
import StratusStore
import Testing

@Suite struct ShareHostTests {
    @Test("[X-08] opening a URL finds the share in its container, binds the person by a handle, and accepts")
    func opening() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            let participants = try await stage.container(stage.alice).shareParticipants(
                forPhoneNumbers: ["0049 (30) 1234567"])
            for result in participants.values { share.addParticipant(try result.get()) }
        }
        let url = try #require(share.url)
        let store = stage.store
        let error = #expect(throws: StratusError.self) { try store.open(url, as: stage.dave) }
        #expect(error?.code == .unknownShare)
        let metadata = try await store.open(url, as: stage.bob)
        #expect(metadata.containerIdentifier == SharingStage.containerID)
        #expect(metadata.participantStatus == .accepted)
        #expect(metadata.rootRecord?["text"] as? String == "text")
        #expect(metadata.share.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(try await stage.visible(["note"], to: stage.bob) == ["note"])
        // Again, and by the owner: no harm.
        #expect(try await store.open(url, as: stage.bob).participantStatus == .accepted)
        #expect(try await store.open(url, as: stage.alice).participantRole == .owner)
        // The root belongs to the shared database of the person who fetched it.
        let root = try #require(metadata.rootRecord)
        root["text"] = "no"
        #expect(await failure { try await stage.shared(stage.bob).save(root) } == "permissionFailure")
    }

    @Test("[X-08][X-09] a handle that the host adds later opens the share, and a suspended account opens nothing")
    func laterHandle() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            let container = stage.container(stage.alice)
            share.addParticipant(try await container.shareParticipant(forEmailAddress: "new@example.com"))
        }
        let url = try #require(share.url)
        #expect(throws: StratusError.self) { try stage.store.open(url, as: stage.dave) }
        try await stage.store.setHandles(emails: ["dave@example.com", "NEW@example.com"], of: stage.dave)
        #expect(try await stage.store.open(url, as: stage.dave).participantStatus == .accepted)
        #expect(try await stage.visible(["note"], to: stage.dave) == ["note"])
        try await stage.store.setStanding(.suspended, of: stage.dave)
        #expect(throws: StratusError.self) { try stage.store.open(url, as: stage.dave) }
        #expect(await failure { try await stage.shared(stage.dave).record(for: stage.foreignID("note")) } != "ok")
        try await stage.store.setStanding(.good, of: stage.dave)
        #expect(try await stage.visible(["note"], to: stage.dave) == ["note"])
    }

    @Test("every invitation reaches the host once, after the commit, with the data for a message")
    func invitations() async throws {
        let invitations = Locked<[Stratus.Invitation]>([])
        let stage = try SharingStage { options in
            options.onInvitation = { invitation in invitations.withLock { $0.append(invitation) } }
            options.shareURLBase = "https://notes.example.com/s/"
        }
        let guest = CKShare.Participant.oneTimeURLParticipant()
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            share.addParticipant(guest)
        }
        try await stage.owned.save(share)
        #expect(share.url?.absoluteString.hasPrefix("https://notes.example.com/s/") == true)
        let sent = invitations.value
        #expect(sent.count == 2)
        let bobs = try #require(sent.first { $0.emailAddress == "bob@example.com" })
        #expect(bobs.url == share.url)
        #expect(bobs.title == "Folder")
        #expect(bobs.permission == .readWrite)
        #expect(bobs.shareID == share.recordID)
        #expect(bobs.containerIdentifier == SharingStage.containerID)
        #expect(bobs.inviterUserRecordName == stage.alice.userRecordName)
        #expect(bobs.role == .privateUser)
        #expect(bobs.ownerUserRecordName == stage.alice.userRecordName)
        #expect(!bobs.description.contains(bobs.url.lastPathComponent))
        let once = try #require(sent.first { $0.participantID == guest.participantID })
        #expect(once.url == share.oneTimeURL(for: guest.participantID))
        #expect(once.emailAddress == nil)
        #expect(try await stage.store.open(once.url, as: stage.dave).participantStatus == .accepted)
    }

    @Test("a host invites on behalf of a person, within the sharing options")
    func inviting() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder()
        let container = stage.container(stage.alice)
        let observed = Trace()
        let observer = CKSystemSharingUIObserver(container: container)
        observer.systemSharingUIDidSaveShareBlock = { observed.note("\($0.recordName) \(outcome($1))") }
        let bob = [CKUserIdentity.LookupInfo(emailAddress: "bob@example.com")]
        let carol = [CKUserIdentity.LookupInfo(emailAddress: "carol@example.com")]
        let readers = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .specifiedRecipientsOnly)
        func code(_ body: () async throws -> CKShare) async -> StratusError.Code? {
            do {
                _ = try await body()
                return nil
            } catch {
                return (error as? StratusError)?.code
            }
        }
        let store = stage.store
        let id = share.recordID
        #expect(
            await code { try await store.invite(bob, to: id, in: container, permission: .readWrite, allowing: readers) }
                == .notAllowed)
        #expect(await code { try await store.invite(bob, to: id, in: container, role: .administrator) } == .notAllowed)
        #expect(await code { try await store.invite(bob, to: id, in: container, permission: .unknown) } == .notAllowed)
        #expect(
            await code { try await store.setPublicPermission(.readOnly, of: id, in: container, allowing: readers) }
                == .notAllowed)
        #expect(await code { try await store.setAllowsAccessRequests(true, of: id, in: container) } == .notAllowed)
        #expect(try await stage.newest(share).participants.count == 1)

        let saved = try await store.invite(bob, to: id, in: container, allowing: readers)
        #expect(saved.participants.count == 2)
        #expect(saved.participants.last?.permission == .readOnly)
        let all = CKAllowedSharingOptions.standard
        all.allowsParticipantsToInviteOthers = true
        all.allowsAccessRequests = true
        _ = try await store.invite(
            carol, to: id, in: container, permission: .readWrite, role: .administrator, allowing: all)
        #expect(
            try await store.setAllowsAccessRequests(true, of: id, in: container, allowing: all).allowsAccessRequests)
        let opened = try await store.setPublicPermission(.readOnly, of: id, in: container)
        #expect(opened.publicPermission == .readOnly)
        #expect(observed.all == Array(repeating: "\(id.recordName) ok", count: 4))
        #expect(await code { try await store.invite(bob, to: stage.id("note"), in: container) } == .invalidArgument)
        withExtendedLifetime(observer) {}
    }

    @Test("[SH-10][SH-11][P-13] an observer gets a share that is stopped or left, or deleted with its root or zone")
    func endedShares() async throws {
        let stage = try SharingStage()
        let trace = Trace()
        let observers = [("alice", stage.alice), ("bob", stage.bob)].map { name, account in
            let observer = CKSystemSharingUIObserver(container: stage.container(account))
            observer.systemSharingUIDidStopSharingBlock = { trace.note("\(name) \($0.recordName) \(outcome($1))") }
            return observer
        }
        let (root, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        try await stage.accept(share, as: stage.bob)
        let name = share.recordID.recordName
        try await stage.shared(stage.bob).deleteRecord(withID: stage.foreignID(name))
        // A record in use cannot be deleted, and a test's planned fault for its own fetch is kept for it.
        stage.store.faults.fail(.operation(.fetchRecords), with: .zoneBusy)
        #expect(await failure { try await stage.owned.deleteRecord(withID: root.recordID) } == "referenceViolation")
        #expect(stage.store.faults.count == 1)
        #expect(await failure { try await stage.owned.record(for: root.recordID) } == "zoneBusy")
        let note = stage.id("note")
        _ = try await stage.owned.modifyRecords(saving: [], deleting: [root.recordID, note])
        _ = try await stage.owned.deleteRecordZone(withID: stage.zoneID)
        let (_, second) = try await stage.shareFolder()
        #expect(await failure { try await stage.owned.deleteRecord(withID: second.recordID) } == "ok")
        // No share is deleted with the zone now.
        _ = try await stage.owned.deleteRecordZone(withID: stage.zoneID)
        let (_, third) = try await stage.shareFolder()
        _ = try await stage.owned.deleteRecordZone(withID: stage.zoneID)
        let others = [second, third].map { "alice \($0.recordID.recordName) ok" }
        #expect(trace.all == ["bob \(name) ok", "alice \(name) ok"] + others)
        withExtendedLifetime(observers) {}
    }

    @Test("the trail of a zone contains who shared, invited, joined, changed, removed and stopped, page by page")
    func trail() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob)) }
        try await stage.accept(share, as: stage.bob)
        let newest = try await stage.newest(share)
        newest.participants[1].permission = .readOnly
        try await stage.owned.save(newest)
        newest.removeParticipant(newest.participants[1])
        try await stage.owned.save(newest)
        try await stage.owned.deleteRecord(withID: share.recordID)

        var events: [Stratus.ShareEvent] = []
        var next: Stratus.ShareEventPage.Position?
        repeat {
            let page = try await stage.store.shareEvents(
                of: stage.zoneID, of: stage.alice, inContainer: SharingStage.containerID, after: next, limit: 2)
            #expect(page.events.count <= 2)
            events += page.events
            next = page.next
        } while next != nil
        #expect(events.map(\.kind) == [.shared, .invited, .joined, .permissionChanged, .removed, .stopped])
        let (alice, bob) = (stage.alice.userRecordName, stage.bob.userRecordName)
        #expect(events.map(\.actorUserRecordName) == [alice, alice, bob, alice, alice, alice])
        #expect(events.allSatisfy { $0.shareID == share.recordID && $0.rootRecordID == stage.id("root") })
        #expect(events[1].handle == "bob@example.com")
        #expect(events[2].userRecordName == bob)
        #expect(events[3].oldPermission == .readWrite)
        #expect(events[3].newPermission == .readOnly)
        let error = #expect(throws: StratusError.self) {
            try stage.store.shareEvents(
                of: stage.zoneID, of: stage.bob, inContainer: SharingStage.containerID)
        }
        #expect(error?.code == .unknownZone)
    }

    @Test("an explanation of access contains chain, share, participant and verdict, in words and as JSON")
    func explanations() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob, .readOnly)) }
        func explain(_ name: String, _ account: Stratus.Account) throws -> Stratus.AccessExplanation {
            try stage.store.explainAccess(
                to: stage.id(name), of: stage.alice, inContainer: SharingStage.containerID, for: account)
        }
        #expect(try explain("note", stage.bob).relation == .invited)
        #expect(try explain("note", stage.bob).mayRead == false)
        try await stage.accept(share, as: stage.bob)
        let bobs = try explain("note", stage.bob)
        #expect(bobs.relation == .member)
        #expect(bobs.mayRead)
        #expect(!bobs.mayChange)
        #expect(!bobs.mayDelete)
        #expect(!bobs.mayCreateBelow)
        #expect(bobs.chain == [stage.id("note"), stage.id("root")])
        #expect(bobs.shareID == share.recordID)
        #expect(bobs.rootRecordID == stage.id("root"))
        #expect(bobs.participantID == share.participants[1].participantID)
        #expect(bobs.description == bobs.reasons.joined(separator: "\n"))
        #expect(bobs.reasons.last?.contains("may") == true)
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(bobs)) as? [String: Any]
        #expect(json?["chain"] as? [String] == ["note", "root"])
        #expect((json?["verdict"] as? [String: Any])?["mayRead"] as? Bool == true)
        let alices = try explain("note", stage.alice)
        #expect(alices.relation == .owner)
        #expect(alices.mayChange)
        #expect(alices.mayDelete)
        #expect(try explain("outside", stage.bob).shareID == nil)
        #expect(try explain("note", stage.dave).relation == .outsider)
        #expect(try !explain("nothing", stage.bob).exists)
    }

    @Test("a URL prefix without a scheme is refused when the store is opened")
    func base() {
        let error = #expect(throws: StratusError.self) { try Stratus.tested { $0.shareURLBase = "no url here " } }
        #expect(error?.code == .invalidArgument)
    }
}
