// The feed of a private database: which zones changed, and which were deleted and why.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Feeds of databases")
struct DatabaseFeedTests {
    private func zoneID(_ name: String) -> CKRecordZone.ID { CKRecordZone.ID(zoneName: name) }

    @Test("[T-02][T-06][T-08] existing zones come first, then changed ones, then deleted ones")
    func zones() async throws {
        let tree = try await TreeTown()
        let owner = tree.owner
        let old = Place("Old", of: owner)
        #expect(await owner.make(old) == .done)
        #expect(await owner.drop(old) == .done)
        let first = try await owner.pullZones()
        #expect(first.changed == [zoneID("Docs")])
        #expect(first.deleted == [:])
        let more = try await tree.secondPlace()
        let second = try await owner.pullZones(since: first.token)
        #expect(second.changed == [zoneID("More")])
        #expect(try await owner.pullZones(since: second.token).changed == [])
        #expect(await owner.change("leaf", to: 2, in: tree.place) == .done)
        #expect(await owner.drop(more) == .done)
        let third = try await owner.pullZones(since: second.token)
        #expect(third.changed == [zoneID("Docs")])
        #expect(third.deleted == [zoneID("More"): .deleted])
        // Recreated it is a zone like any other.
        try await TreeTown.fill(more, by: owner)
        let last = try await owner.pullZones(since: second.token)
        #expect(last.changed == [zoneID("Docs"), zoneID("More")])
        #expect(last.deleted == [:])
        #expect(try await owner.pullZones(since: third.token).changed == [zoneID("More")])
        // No one else is notified.
        #expect(try await tree.ann.pullZones().changed == [])
    }

    @Test("[D-06][Z-07] a shared zone that is recreated with fewer changes than before is reported as changed")
    func createdAgain() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        for value in 2..<9 { #expect(await owner.change("leaf", to: value, in: place) == .done) }
        let before = try await ann.pullZones(isShared: true)
        #expect(before.changed == [ann.zoneID(place)])
        #expect(await owner.drop(place) == .done)
        #expect(await owner.make(place) == .done)
        #expect(await owner.create("new", in: place) == .done)
        try await tree.share("new", with: ann)
        let after = try await ann.pullZones(isShared: true, since: before.token)
        #expect(after.changed == [ann.zoneID(place)])
        #expect(after.deleted == [:])
        #expect(try await ann.pull(place).names == ["Share", "new"])
    }

    @Test("[T-03][T-04][T-14] a database operation delivers tokens between pages, or fetches one page")
    func paging() async throws {
        let tree = try await TreeTown()
        for name in ["P", "Q"] { #expect(await tree.owner.make(Place(name, of: tree.owner)) == .done) }
        let database = tree.owner.container.privateCloudDatabase
        let all = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        all.resultsLimit = 1
        let log = await all.trace(in: database)
        #expect(log.all.count { $0.hasPrefix("changed ") } == 3)
        #expect(log.count(of: "token") == 2, "\(log.all)")
        #expect(log.all.last == "end", "\(log.all)")
        #expect(log.all.suffix(2).first != "token", "\(log.all)")
        let rest = try await tree.owner.pullZones(since: log.allTokens.dropFirst().first)
        #expect(rest.changed.count == 1)

        let one = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        one.resultsLimit = 2
        one.fetchAllChanges = false
        let page = await one.trace(in: database)
        #expect(page.all.count { $0.hasPrefix("changed ") } == 2)
        #expect(page.all.last == "more", "\(page.all)")
        #expect(page.count(of: "token") == 0, "\(page.all)")
    }

    @Test("[T-10][T-13][Z-07][Z-08] a purged zone is reported as purged if the block is set, otherwise as deleted")
    func purged() async throws {
        let tree = try await TreeTown()
        let owner = tree.owner
        let more = try await tree.secondPlace()
        let tokens = (try await owner.pull(tree.place).token, try await owner.pull(more).token)
        let before = try await owner.pullZones().token
        let store = tree.town.store
        try await store.purgeZone(owner.zoneID(tree.place), of: owner.account, inContainer: Town.containerName)
        try await store.purgeZone(
            owner.zoneID(more), of: owner.account, inContainer: Town.containerName, reason: .encryptedDataReset)
        #expect(
            try await owner.pullZones(since: before).deleted
                == [zoneID("Docs"): .purged, zoneID("More"): .encryptedDataReset])
        let database = owner.container.privateCloudDatabase
        let plain = await CKFetchDatabaseChangesOperation(previousServerChangeToken: before).trace(in: database)
        #expect(plain.all.sorted() == ["deleted Docs", "deleted More", "end"])
        let told = await CKFetchDatabaseChangesOperation(previousServerChangeToken: before)
            .trace(in: database, isPurgeHandled: true)
        #expect(told.all.sorted() == ["end", "purged Docs", "reset More"])
        #expect(await owner.pulling(tree.place, since: tokens.0) == .refused(.userDeletedZone))
        #expect(await owner.pulling(more, since: tokens.1) == .refused(.zoneNotFound))
        // Without a token deletions are not reported.
        #expect(try await owner.pullZones().deleted == [:])
    }

    @Test("[T-10] a participant gets a purged zone as a deleted one")
    func purgedShare() async throws {
        let tree = try await TreeTown()
        let (owner, ann) = (tree.owner, tree.ann)
        try await tree.share("top", with: ann)
        let before = try await ann.pullZones(isShared: true).token
        try await tree.town.store.purgeZone(
            owner.zoneID(tree.place), of: owner.account, inContainer: Town.containerName)
        let zones = try await ann.pullZones(isShared: true, since: before)
        #expect(Set(zones.deleted.keys) == [ann.zoneID(tree.place)])
        #expect(zones.changed == [])
    }
}
