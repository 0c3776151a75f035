// The feeds of participants: exactly what enters and leaves their sight.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Feeds of participants")
struct SharedFeedTests {
    @Test("[M-08][D-06] before acceptance nothing is reported, then a new zone with its tree")
    func accepting() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        let before = try await ann.pullZones(isShared: true)
        #expect(before.changed == [])
        #expect(await owner.share("top", as: "Share", in: place) == .done)
        #expect(await owner.invite(ann, to: "Share", in: place) == .done)
        #expect(try await ann.pullZones(isShared: true, since: before.token).changed == [])
        #expect(await ann.pulling(place, since: nil) == .refused(.zoneNotFound))
        let url = try #require(try await owner.shareRecord("Share", in: place).url)
        #expect(await ann.accept(url) == .done)
        let zones = try await ann.pullZones(isShared: true, since: before.token)
        #expect(zones.changed == [ann.zoneID(place)])
        let pulled = try await ann.pull(place)
        #expect(pulled.names == ["Share", "leaf", "left", "right", "top"])
        #expect(pulled.records.values.allSatisfy { $0.recordID.zoneID == ann.zoneID(place) })
    }

    @Test("[D-03][D-06] a second share of a visible zone is a change of the zone, also for old tokens")
    func secondShare() async throws {
        let tree = try await TreeTown()
        let (ann, place) = (tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let zones = try await ann.pullZones(isShared: true)
        let token = try await ann.pull(place).token
        try await tree.share("lone", with: ann, as: "Lone")
        let changed = try await ann.pullZones(isShared: true, since: zones.token)
        #expect(changed.changed == [ann.zoneID(place)])
        #expect(changed.deleted == [:])
        let pulled = try await ann.pull(place, since: token)
        #expect(pulled.names == ["Lone", "lone"])
        #expect(pulled.deleted == [:])
    }

    @Test("[T-07][D-12] a record that changes again during a participant's page is in it once, in its last state")
    func severalRounds() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        // The first page leaves most of its round to the next one, followed by the round of these changes.
        let first = try await ann.pull(place, limit: 1)
        #expect(first.isMoreComing)
        #expect(await owner.change("top", to: 2, in: place) == .done)
        #expect(await owner.change("right", to: 3, in: place) == .done)
        #expect(await owner.delete("leaf", in: place) == .done)
        let rest = try await ann.pull(place, since: first.token)
        #expect(!rest.isMoreComing)
        #expect(Set(first.names + rest.names) == ["Share", "left", "right", "top"])
        #expect(rest.records["top"]?["value"] as? Int == 2)
        #expect(rest.records["right"]?["value"] as? Int == 3)
        #expect(rest.deleted.keys.allSatisfy { $0 == "leaf" })
    }

    enum Loss: CaseIterable, Sendable { case stopped, removed, left, permissionNone }

    private func lose(_ share: String, _ loss: Loss, _ tree: TreeTown) async -> Outcome {
        switch loss {
        case .stopped: await tree.owner.delete(share, in: tree.place)
        case .removed: await tree.owner.remove(tree.ann, from: share, in: tree.place)
        case .left: await tree.ann.delete(share, in: tree.place)
        case .permissionNone:
            await tree.owner.change(tree.ann, of: share, in: tree.place) { $0.permission = .none }
        }
    }

    @Test(
        "[D-08][P-13][P-15][X-16] losing the last share of a zone reports the zone as deleted", arguments: Loss.allCases
    )
    func lastShare(loss: Loss) async throws {
        let tree = try await TreeTown()
        let (ann, place) = (tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let token = try await ann.pull(place).token
        let zones = try await ann.pullZones(isShared: true)
        #expect(await lose("Share", loss, tree) == .done)
        let gone = try await ann.pullZones(isShared: true, since: zones.token)
        #expect(gone.deleted == [ann.zoneID(place): .deleted])
        #expect(gone.changed == [])
        #expect(await ann.pulling(place, since: token) == .refused(.zoneNotFound))
        #expect(try await ann.pullZones(isShared: true).deleted == [:])
        // And changes of the zone are none of theirs from then on.
        #expect(await tree.owner.change("leaf", to: 9, in: place) == .done)
        let later = try await ann.pullZones(isShared: true, since: gone.token)
        #expect(later.changed == [])
        #expect(later.deleted == [:])
    }

    @Test("[D-08] losing one of several shares reports its records as deleted", arguments: Loss.allCases)
    func oneOfSeveral(loss: Loss) async throws {
        let tree = try await TreeTown()
        let (ann, place) = (tree.ann, tree.place)
        try await tree.share("top", with: ann)
        try await tree.share("lone", with: ann, as: "Lone")
        let token = try await ann.pull(place).token
        let zones = try await ann.pullZones(isShared: true)
        #expect(await lose("Share", loss, tree) == .done)
        let changed = try await ann.pullZones(isShared: true, since: zones.token)
        #expect(changed.changed == [ann.zoneID(place)])
        #expect(changed.deleted == [:])
        let pulled = try await ann.pull(place, since: token)
        #expect(
            pulled.deleted == [
                "Share": "cloudkit.share", "leaf": "Item", "left": "Item", "right": "Item", "top": "Item",
            ])
        #expect(pulled.names == [])
    }

    @Test("[D-12] a record moved out of a shared tree is deleted with its descendants, and one moved in is added")
    func moving() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let start = try await ann.pull(place).token
        #expect(await owner.move("left", under: "lone", in: place) == .done)
        let out = try await ann.pull(place, since: start)
        #expect(out.deleted == ["leaf": "Item", "left": "Item"])
        #expect(out.names == [])
        // Invisible changes are not reported.
        #expect(await owner.change("leaf", to: 5, in: place) == .done)
        #expect(await owner.create("hidden", under: "left", in: place) == .done)
        let silent = try await ann.pull(place, since: out.token)
        #expect(silent.names == [])
        #expect(silent.deleted == [:])
        #expect(await owner.delete("hidden", in: place) == .done)
        #expect(await owner.move("lone", under: "right", in: place) == .done)
        for token in [start, out.token, silent.token] {
            let pulled = try await ann.pull(place, since: token)
            #expect(pulled.names.filter { $0 != "left" && $0 != "leaf" } == ["lone"])
            #expect(pulled.deleted == [:])
        }
        let back = try await ann.pull(place, since: silent.token)
        #expect(back.names == ["leaf", "left", "lone"])
        #expect(back.records["leaf"]?["value"] as? Int == 5)
    }

    @Test("[D-12] a request that swaps two subtrees is reported to both readers")
    func swapping() async throws {
        let tree = try await TreeTown()
        let (owner, ann, ben, place) = (tree.owner, tree.ann, tree.ben, tree.place)
        #expect(await owner.create("below", under: "lone", in: place) == .done)
        try await tree.share("top", with: ann)
        try await tree.share("lone", with: ben, as: "Lone")
        let (hers, his) = (try await ann.pull(place).token, try await ben.pull(place).token)
        let (left, below) = (try await owner.record("left", in: place), try await owner.record("below", in: place))
        left.setParent(owner.recordID("lone", in: place))
        below.setParent(owner.recordID("right", in: place))
        let leaf = try await owner.record("leaf", in: place)
        leaf.setParent(owner.recordID("below", in: place))
        let answers = try await owner.database(place).modifyRecords(saving: [left, below, leaf], deleting: [])
        #expect(answers.saveResults.values.allSatisfy { Outcome($0).isDone })
        let (herPull, hisPull) = (try await ann.pull(place, since: hers), try await ben.pull(place, since: his))
        #expect(herPull.names == ["below", "leaf"])
        #expect(herPull.deleted == ["left": "Item"])
        #expect(hisPull.names == ["left"])
        #expect(hisPull.deleted == ["below": "Item"])
    }

    @Test("[X-03][SH-10] when a share is stopped its root is reported, without the share")
    func stopping() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        try await tree.share("top", with: tree.ann)
        let pulled = try await owner.pull(place)
        #expect(pulled.records["top"]?.share?.recordID.recordName == "Share")
        #expect(await owner.delete("Share", in: place) == .done)
        let stopped = try await owner.pull(place, since: pulled.token)
        #expect(stopped.names == ["top"])
        let root = try #require(stopped.records["top"])
        #expect(root.share == nil)
        #expect(stopped.deleted == ["Share": "cloudkit.share"])
        #expect(root.recordChangeTag == (try await owner.record("top", in: place).recordChangeTag))
    }

    @Test("[SH-11] a share is deleted with its root")
    func deletingRoot() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("lone", with: ann, as: "Lone")
        try await tree.share("top", with: ann)
        let (token, hers) = (try await owner.pull(place).token, try await ann.pull(place).token)
        #expect(await owner.delete("lone", in: place) == .done)
        #expect(try await owner.pull(place, since: token).deleted == ["Lone": "cloudkit.share", "lone": "Item"])
        #expect(try await ann.pull(place, since: hers).deleted == ["Lone": "cloudkit.share", "lone": "Item"])
    }

    @Test("[T-17][SH-13] a share is reported as a share, to everyone who sees it, when its participants or keys change")
    func shareRecord() async throws {
        let tree = try await TreeTown()
        let (owner, ann, ben, place) = (tree.owner, tree.ann, tree.ben, tree.place)
        try await tree.share("top", with: ann)
        let tokens = (try await owner.pull(place).token, try await ann.pull(place).token)
        func told(_ person: Person, _ token: CKServerChangeToken) async throws -> CKShare? {
            let pulled = try await person.pull(place, since: token)
            #expect(pulled.names == ["Share"])
            #expect(pulled.records["Share"]?.recordType == "cloudkit.share")
            return pulled.records["Share"] as? CKShare
        }
        #expect(await owner.rename("Share", "Album", in: place) == .done)
        for (person, token) in [(owner, tokens.0), (ann, tokens.1)] {
            let share = try #require(try await told(person, token))
            #expect(share[CKShare.SystemFieldKey.title] as? String == "Album")
            #expect(share.url != nil)
        }
        #expect(await owner.invite(ben, to: "Share", in: place) == .done)
        #expect(try await told(owner, tokens.0)?.participants.count == 3)
        // the others do not see invited people.
        #expect(try await ann.pull(place).records["Share"].flatMap { $0 as? CKShare }?.participants.count == 2)
        let later = (try await owner.pull(place).token, try await ann.pull(place).token)
        let url = try #require(try await owner.shareRecord("Share", in: place).url)
        #expect(await ben.accept(url) == .done)
        #expect(try await told(owner, later.0)?.participants.count == 3)
        #expect(try await told(ann, later.1)?.participants.count == 3)
    }

    @Test("[D-04] a shared zone is reported in full, including records without a parent")
    func zoneWide() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share(nil, with: ann)
        let pulled = try await ann.pull(place)
        #expect(pulled.names == ([CKRecordNameZoneWideShare] + TreeTown.names).sorted())
        #expect(await ann.create("hers", value: 1, in: place) == .done)
        #expect(await owner.delete("leaf", in: place) == .done)
        let later = try await ann.pull(place, since: pulled.token)
        #expect(later.names == ["hers"])
        #expect(later.deleted == ["leaf": "Item"])
        #expect(later.records["hers"]?.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        // The owner gets it in the private database (D-01).
        let owners = try await owner.pull(place)
        #expect(owners.records["hers"]?.creatorUserRecordID?.recordName == ann.userName)
    }

    @Test("[X-06] participants do not get the parent of a root")
    func rootParent() async throws {
        let tree = try await TreeTown()
        let (ann, place) = (tree.ann, tree.place)
        try await tree.share("left", with: ann)
        let pulled = try await ann.pull(place)
        #expect(pulled.names == ["Share", "leaf", "left"])
        #expect(pulled.records["left"]?.parent == nil)
        #expect(pulled.records["leaf"]?.parent?.recordID == ann.recordID("left", in: place))
        let token = pulled.token
        #expect(await tree.owner.move("left", under: "lone", in: place) == .done)
        let moved = try await ann.pull(place, since: token)
        #expect(moved.records["left"]?.parent == nil)
        #expect(moved.deleted == [:])
    }

    @Test("[X-09] a suspended person gets nothing, and later everything that was missed")
    func suspended() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let token = try await ann.pull(place).token
        let zones = try await ann.pullZones(isShared: true).token
        try await tree.town.store.setStanding(.suspended, of: ann.account)
        #expect(await owner.delete("leaf", in: place) == .done)
        #expect(await ann.pulling(place, since: token) == .refused(.notAuthenticated))
        #expect(await ann.pullingZones(isShared: true, since: zones) == .refused(.notAuthenticated))
        try await tree.town.store.setStanding(.good, of: ann.account)
        #expect(try await ann.pull(place, since: token).deleted == ["leaf": "Item"])
        #expect(try await ann.pullZones(isShared: true, since: zones).changed == [ann.zoneID(place)])
    }

    @Test("[D-08] a token from before a time without access continues exactly after it")
    func rejoining() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let token = try await ann.pull(place).token
        #expect(await owner.change(ann, of: "Share", in: place) { $0.permission = .none } == .done)
        #expect(await owner.delete("leaf", in: place) == .done)
        #expect(await owner.change("right", to: 5, in: place) == .done)
        #expect(await owner.create("brief", under: "top", in: place) == .done)
        #expect(await owner.delete("brief", in: place) == .done)
        #expect(await owner.change(ann, of: "Share", in: place) { $0.permission = .readOnly } == .done)
        let pulled = try await ann.pull(place, since: token)
        #expect(pulled.deleted == ["leaf": "Item"])
        #expect(pulled.names.contains("right"))
        #expect(pulled.names.contains("Share"))
        #expect(pulled.records["right"]?["value"] as? Int == 5)
    }

    @Test("[D-08] deleting an account deletes its zones for those who saw them")
    func deletedOwner() async throws {
        let tree = try await TreeTown()
        let (ann, place) = (tree.ann, tree.place)
        let more = try await tree.secondPlace()
        try await tree.share("top", with: ann)
        try await tree.share(nil, with: ann, in: more)
        let token = try await ann.pull(place).token
        let zones = try await ann.pullZones(isShared: true)
        #expect(zones.changed == [ann.zoneID(place), ann.zoneID(more)])
        try await tree.town.store.deleteAccountWithAllData(tree.owner.account)
        let gone = try await ann.pullZones(isShared: true, since: zones.token)
        #expect(gone.deleted == [ann.zoneID(place): .deleted, ann.zoneID(more): .deleted])
        #expect(gone.changed == [])
        #expect(await ann.pulling(place, since: token) == .refused(.zoneNotFound))
        try await tree.town.store.performUpkeep()
        #expect(try await ann.pullZones(isShared: true, since: gone.token).deleted == [:])
    }

    @Test("[D-08] zones that are lost and regained are reported in their final state")
    func comingBack() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let zones = try await ann.pullZones(isShared: true)
        #expect(await owner.delete("Share", in: place) == .done)
        let gone = try await ann.pullZones(isShared: true, since: zones.token)
        try await tree.share("lone", with: ann, as: "Lone")
        for token in [zones.token, gone.token] {
            let back = try await ann.pullZones(isShared: true, since: token)
            #expect(back.changed == [ann.zoneID(place)])
            #expect(back.deleted == [:])
        }
        #expect(try await ann.pull(place).names == ["Lone", "lone"])
    }

    @Test("[D-05] own zones have no feed in the shared database, and others' none in the private one")
    func otherDatabase() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let own = await Outcome.of {
            _ = try await owner.container.sharedCloudDatabase
                .recordZoneChanges(inZoneWith: owner.zoneID(place), since: nil)
        }
        #expect(own == .refused(.invalidArguments))
        let foreign = await Outcome.of {
            _ = try await ann.container.privateCloudDatabase
                .recordZoneChanges(inZoneWith: ann.zoneID(place), since: nil)
        }
        #expect(foreign == .refused(.invalidArguments))
    }

    @Test("[D-03] two zones of one owner are distinguished")
    func twoZones() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        let more = try await tree.secondPlace()
        try await tree.share("top", with: ann)
        let zones = try await ann.pullZones(isShared: true)
        try await tree.share("lone", with: ann, in: more)
        let both = try await ann.pullZones(isShared: true, since: zones.token)
        #expect(both.changed == [ann.zoneID(more)])
        let (first, second) = (try await ann.pull(place).token, try await ann.pull(more).token)
        #expect(await owner.change("leaf", to: 2, in: place) == .done)
        #expect(await owner.change("leaf", to: 3, in: more) == .done)
        #expect(try await ann.pull(place, since: first).records["leaf"]?["value"] as? Int == 2)
        // Of the other zone only `lone` is shared.
        #expect(try await ann.pull(more, since: second).names == [])
        #expect(await owner.delete("Share", in: place) == .done)
        let one = try await ann.pullZones(isShared: true, since: both.token)
        #expect(one.deleted == [ann.zoneID(place): .deleted])
        #expect(!one.changed.contains(ann.zoneID(place)))
    }
}
