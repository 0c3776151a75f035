// Who can see a record, as a host reads it: page by page, and consistent with each person's view.

import Foundation
import StratusKit
import Testing

@Suite("Who can see a record") struct PeopleTests {
    private func page(
        _ stage: SharingStage, _ name: String, after position: Stratus.RecordPeoplePage.Position? = nil,
        limit: Int = 200
    ) async throws -> Stratus.RecordPeoplePage {
        let (store, alice, id) = (stage.store, stage.alice, stage.id(name))
        return try await onThread {
            try store.people(
                whoCanSee: id, of: alice, inContainer: SharingStage.containerID, after: position, limit: limit)
        }
    }

    /// Somebody in words.
    private func text(_ person: Stratus.RecordPerson, _ stage: SharingStage) -> String {
        let accounts = [stage.alice, stage.bob, stage.carol, stage.dave]
        let account = accounts.first { $0.userRecordName == person.userRecordName }
        let may = [(Stratus.RecordPermissions.read, "read"), (.change, "change")]
            .filter { person.permissions.contains($0.0) }.map(\.1)
        let share = [
            person.role.map { "\($0)" }, person.permission.map { "\($0)" }, person.acceptanceStatus.map { "\($0)" },
        ].compactMap { $0 }
        return ([account?.externalID ?? person.handle ?? "somebody"] + share + may).joined(separator: " ")
    }

    private func texts(_ people: [Stratus.RecordPerson], _ stage: SharingStage) -> [String] {
        people.map { text($0, stage) }
    }

    /// A folder that Bob may change and Carol read, with Dave invited; and a record deep in it.
    private func shared() async throws -> (stage: SharingStage, share: CKShare) {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { share in
            share.addParticipant(try await stage.person(stage.bob))
            share.addParticipant(try await stage.person(stage.carol, .readOnly))
            share.addParticipant(try await stage.person(stage.dave))
        }
        try await stage.owned.save(stage.record("deep", under: "note"))
        try await stage.accept(share, as: stage.bob)
        try await stage.accept(share, as: stage.carol)
        return (stage, share)
    }

    @Test("[X-15][P-10] the owner comes first, then accepted people with their permission; invited people are separate")
    func members() async throws {
        let (stage, share) = try await shared()
        for name in ["root", "note", "deep"] {
            let page = try await page(stage, name)
            #expect(page.viewers.first.map { text($0, stage) } == "Alice owner readWrite accepted read change")
            #expect(
                Set(texts(page.viewers, stage).dropFirst()) == [
                    "Bob privateUser readWrite accepted read change", "Carol privateUser readOnly accepted read",
                ])
            #expect(texts(page.others, stage) == ["dave@example.com privateUser readWrite pending"])
            #expect(page.others.first?.participantID != nil)
            #expect(page.viewers[0].participantID == nil)
            #expect(page.shareID == share.recordID)
            #expect(page.rootRecordID == stage.id("root"))
            #expect(page.publicPermission == .none)
            #expect(page.everybody == [])
            #expect(page.next == nil)
        }
        // A record that is not shared belongs to its owner only, and no one is reported as invited.
        let outside = try await page(stage, "outside")
        #expect(texts(outside.viewers, stage) == ["Alice owner readWrite accepted read change"])
        #expect(outside.others.isEmpty)
        #expect(outside.shareID == nil)
        #expect(outside.rootRecordID == nil)
        // The share's own record.
        let ofShare = try await page(stage, share.recordID.recordName)
        #expect(ofShare.viewers.count == 3)
        #expect(ofShare.others.count == 1)
    }

    @Test(
        "[X-16][P-10][P-11] the answer matches each person's requests, through moves, removals and reduced permissions")
    func agreement() async throws {
        let (stage, share) = try await shared()
        let names = ["root", "note", "deep", "outside"]
        let accounts = [stage.alice, stage.bob, stage.carol, stage.dave]
        func check(_ step: String) async throws {
            for name in names {
                let viewers = try await page(stage, name).viewers
                let (store, alice, id) = (stage.store, stage.alice, stage.id(name))
                for account in accounts {
                    let permissions = try await onThread {
                        try store.permissions(
                            for: [id], of: alice, inContainer: SharingStage.containerID, account: account)[id]
                    }
                    let told = viewers.first { $0.userRecordName == account.userRecordName }?.permissions
                    #expect(told ?? [] == permissions, "\(step): \(name) and \(account.externalID ?? "")")
                }
            }
        }
        try await check("at first")
        // Out of the folder, and another into it.
        let deep = try await stage.owned.record(for: stage.id("deep"))
        deep.setParent(nil as CKRecord?)
        let outside = try await stage.owned.record(for: stage.id("outside"))
        outside.setParent(stage.id("note"))
        for result in try await stage.owned.modifyRecords(saving: [deep, outside], deleting: []).saveResults.values {
            _ = try result.get()
        }
        #expect(texts(try await page(stage, "deep").viewers, stage).count == 1)
        #expect(texts(try await page(stage, "outside").viewers, stage).count == 3)
        try await check("moved")
        try await stage.store.setStanding(.suspended, of: stage.carol)
        #expect(
            Set(texts(try await page(stage, "note").others, stage)) == [
                "Carol privateUser readOnly accepted", "dave@example.com privateUser readWrite pending",
            ])
        try await check("suspended")
        try await stage.store.setStanding(.good, of: stage.carol)
        let newest = try await stage.newest(share)
        for participant in newest.participants where participant.role != .owner {
            let email = participant.userIdentity.lookupInfo?.emailAddress
            if email == "carol@example.com" { newest.removeParticipant(participant) }
            if email == "bob@example.com" { participant.permission = .none }
        }
        try await stage.owned.save(newest)
        let last = try await page(stage, "note")
        #expect(texts(last.viewers, stage) == ["Alice owner readWrite accepted read change"])
        #expect(
            Set(texts(last.others, stage)) == [
                "Bob privateUser none accepted", "dave@example.com privateUser readWrite pending",
            ])
        try await check("removed")
    }

    @Test("[X-14] a public share reports the permission of its URL, and a person who joined by it is a public user")
    func publicShare() async throws {
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.publicPermission = .readOnly }
        #expect(try await page(stage, "note").publicPermission == .readOnly)
        #expect(try await page(stage, "note").viewers.count == 1)
        let (store, url, dave) = (stage.store, try #require(share.url), stage.dave)
        _ = try await onThread { try store.open(url, as: dave).participantRole }
        let page = try await page(stage, "note")
        #expect(texts(page.viewers, stage).last == "Dave publicUser readOnly accepted read")
        #expect(page.viewers.count == 2)
        #expect(page.others.isEmpty)
    }

    @Test("[C-13] a zone-wide share has no root, and every record in the zone has the same people")
    func zoneWide() async throws {
        let stage = try SharingStage()
        try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        try await stage.owned.save(stage.record("any"))
        let share = CKShare(recordZoneID: stage.zoneID)
        share.addParticipant(try await stage.person(stage.bob, .readOnly))
        try await stage.owned.save(share)
        try await stage.accept(share, as: stage.bob)
        let page = try await page(stage, "any")
        #expect(texts(page.viewers, stage).last == "Bob privateUser readOnly accepted read")
        #expect(page.shareID == share.recordID)
        #expect(page.rootRecordID == nil)
    }

    @Test("every person is on exactly one page of any size, also when others leave and join between pages")
    func paging() async throws {
        let stage = try SharingStage()
        let container = stage.container(stage.alice)
        let (_, share) = try await stage.shareFolder { share in
            for number in 0..<7 {
                share.addParticipant(
                    try await container.shareParticipant(forEmailAddress: "guest\(number)@example.com"))
            }
        }
        func read(limit: Int, between body: (Stratus.RecordPeoplePage) async throws -> Void = { _ in }) async throws
            -> [String]
        {
            var (found, position, hasMore): ([String], Stratus.RecordPeoplePage.Position?, Bool) = ([], nil, true)
            while hasMore {
                let page = try await page(stage, "note", after: position, limit: limit)
                let people = page.viewers + page.others
                #expect((1...limit).contains(people.count))
                found += people.map { text($0, stage) }
                try await body(page)
                (position, hasMore) = (page.next, page.next != nil)
            }
            return found
        }
        let all = try await read(limit: 200)
        #expect(all.count == 8)
        #expect(all.first?.hasPrefix("Alice") == true)
        #expect(Set(all).count == 8)
        for limit in 1...9 { #expect(try await read(limit: limit) == all, "\(limit)") }

        // The last person of a page is removed, and another one is added.
        var isChanged = false
        let found = try await read(limit: 3) { page in
            guard !isChanged, let last = page.others.last else { return }
            isChanged = true
            let newest = try await stage.newest(share)
            for participant in newest.participants where participant.participantID == last.participantID {
                newest.removeParticipant(participant)
            }
            newest.addParticipant(try await container.shareParticipant(forEmailAddress: "late@example.com"))
            try await stage.owned.save(newest)
        }
        #expect(found.filter { !$0.hasPrefix("late") } == all)
        #expect(found.count { $0.hasPrefix("late") } <= 1)
        for limit in [0, -1, 1_001] {
            let error = await #expect(throws: StratusError.self) { try await page(stage, "note", limit: limit) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test("[S-18] a public record reports its creator, and what everyone may do")
    func publicRecord() async throws {
        let stage = try SharingStage()
        let record = CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: "post"))
        try await stage.container(stage.bob).publicCloudDatabase.save(record)
        let (store, id) = (stage.store, record.recordID)
        let page = try await onThread {
            try store.people(whoCanSee: id, of: nil, inContainer: SharingStage.containerID)
        }
        #expect(texts(page.viewers, stage) == ["Bob read change"])
        #expect(page.everybody == .read)
        #expect(page.everybodyWithAccount == .read)
        #expect(page.shareID == nil)
    }

    @Test("a missing record is unknownRecord, for every owner in its identifier")
    func unknown() async throws {
        let (stage, _) = try await shared()
        let (store, container) = (stage.store, SharingStage.containerID)
        let missing: [(CKRecord.ID, Stratus.Account?)] = [
            (stage.id("missing"), stage.alice), (stage.id("note"), stage.bob), (stage.id("note"), nil),
            (CKRecord.ID(recordName: "note", zoneID: CKRecordZone.ID(zoneName: "Missing")), stage.alice),
        ]
        for (id, owner) in missing {
            let error = await #expect(throws: StratusError.self) {
                try await onThread { try store.people(whoCanSee: id, of: owner, inContainer: container).viewers.count }
            }
            #expect(error?.code == .unknownRecord)
        }
    }
}
