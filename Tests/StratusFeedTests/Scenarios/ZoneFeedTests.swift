// The feed of a zone, rule by rule, for its owner.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Feeds of zones")
struct ZoneFeedTests {
    @Test("[T-02] the default zone has no feed, and no database reports it; the public database has none at all")
    func defaultZone() async throws {
        let tree = try await TreeTown()
        let owner = tree.owner
        let database = owner.container.privateCloudDatabase
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "plain"))
        _ = try await database.save(record)
        let defaultZone = CKRecordZone.default().zoneID
        #expect(
            await Outcome.of { _ = try await database.recordZoneChanges(inZoneWith: defaultZone, since: nil) }
                == .refused(.serverRejectedRequest))
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [defaultZone])
        let log = await operation.trace(in: database)
        #expect(log.all.contains("zone _defaultZone serverRejectedRequest"), "\(log.all)")
        #expect(try await owner.pullZones().changed == [owner.zoneID(tree.place)])

        let open = owner.container.publicCloudDatabase
        let refused: Answers = .refused(.badDatabase, .serverRejectedRequest)
        let zones = await Outcome.of { _ = try await open.databaseChanges(since: nil) }
        #expect(refused.contains(zones), "\(zones)")
        let records = await Outcome.of { _ = try await open.recordZoneChanges(inZoneWith: defaultZone, since: nil) }
        #expect(refused.contains(records), "\(records)")
    }

    @Test("[T-03] an operation that fetches all delivers a token between pages, and not after the last")
    func allChanges() async throws {
        let tree = try await TreeTown()
        let id = tree.owner.zoneID(tree.place)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [id], configurationsByRecordZoneID: [id: .init(resultsLimit: 2)])
        #expect(operation.fetchAllChanges)
        let log = await operation.trace(in: tree.owner.database(tree.place))
        #expect(log.all.count { $0.hasPrefix("record ") } == 5)
        #expect(log.count(of: "token") == 2, "\(log.all)")
        #expect(log.all.suffix(2) == ["zone Docs end", "done"], "\(log.all)")
        #expect(log.all.suffix(3).first != "token")
        try #require(Set(log.allTokens).count == 3)
        // Every delivered token continues from its position.
        let rest = try await tree.owner.pull(tree.place, since: log.allTokens[0])
        #expect(rest.records.count == 3)
        #expect(try await tree.owner.pull(tree.place, since: log.allTokens[2]).names == [])
    }

    @Test("[T-04] without fetching all, there is one page, and no token between")
    func onePage() async throws {
        let tree = try await TreeTown()
        let id = tree.owner.zoneID(tree.place)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [id], configurationsByRecordZoneID: [id: .init(resultsLimit: 2)])
        operation.fetchAllChanges = false
        let log = await operation.trace(in: tree.owner.database(tree.place))
        #expect(log.all.count { $0.hasPrefix("record ") } == 2)
        #expect(log.count(of: "token") == 0)
        #expect(log.all.suffix(2) == ["zone Docs more", "done"], "\(log.all)")
        let page = try await tree.owner.pull(tree.place, limit: 4)
        #expect(page.records.count == 4)
        #expect(page.isMoreComing)
        let rest = try await tree.owner.pull(tree.place, since: page.token, limit: 4)
        #expect(rest.records.count == 1)
        #expect(!rest.isMoreComing)
        #expect(Set(page.names + rest.names) == Set(TreeTown.names))
    }

    @Test("[T-05] a token delivered before an operation was cancelled stays valid")
    func cancelled() async throws {
        let tree = try await TreeTown()
        let id = tree.owner.zoneID(tree.place)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [id], configurationsByRecordZoneID: [id: .init(resultsLimit: 1)])
        let log = await operation.trace(in: tree.owner.database(tree.place)) { operation.cancel() }
        let first = try #require(log.all.firstIndex(of: "token"))
        let told = log.all[..<first].filter { $0.hasPrefix("record ") }.map { $0.split(separator: " ")[1] }
        #expect(log.all.last == "\(Outcome.refused(.operationCancelled))", "\(log.all)")
        let rest = try await tree.owner.pull(tree.place, since: log.allTokens.first)
        #expect((told.map(String.init) + rest.names).sorted() == TreeTown.names)
    }

    @Test("[T-06][T-07] only the latest state of a record is reported, and a deletion with its type")
    func latestState() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let token = try await owner.pull(place).token
        #expect(await owner.create("brief", in: place) == .done)
        #expect(await owner.change("brief", to: 2, in: place) == .done)
        let between = try await owner.pull(place, since: token)
        #expect(between.names == ["brief"])
        #expect(await owner.delete("brief", in: place) == .done)
        for value in 5...7 { #expect(await owner.change("lone", to: value, in: place) == .done) }
        #expect(await owner.delete("leaf", in: place) == .done)
        let pulled = try await owner.pull(place, since: token)
        #expect(pulled.names == ["lone"])
        #expect(pulled.records["lone"]?["value"] as? Int == 7)
        // A record that came and went in between may be reported as one deletion.
        #expect(pulled.deleted == ["leaf": "Item"] || pulled.deleted == ["leaf": "Item", "brief": "Item"])
        #expect(try await owner.pull(place, since: between.token).deleted == ["leaf": "Item", "brief": "Item"])
        // A deleted and recreated zone counts as changed.
        #expect(await owner.delete("lone", in: place) == .done)
        #expect(await owner.create("lone", value: 9, in: place) == .done)
        let again = try await owner.pull(place, since: pulled.token)
        #expect(again.names == ["lone"])
        #expect(again.deleted == [:])
        #expect(again.records["lone"]?["value"] as? Int == 9)
    }

    @Test("[T-07] a record that is created again with another type is reported with it")
    func otherType() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let token = try await owner.pull(place).token
        #expect(await owner.delete("lone", in: place) == .done)
        let other = CKRecord(recordType: "Other", recordID: owner.recordID("lone", in: place))
        #expect(await owner.save(other, in: place) == .done)
        #expect(try await owner.pull(place, since: token).records["lone"]?.recordType == "Other")
        #expect(await owner.delete("lone", in: place) == .done)
        let type = try await owner.pull(place, since: token).deleted["lone"]
        #expect(type == "Item" || type == "Other")
    }

    @Test("[T-08] without a token the existing records are reported, and no deletions")
    func beginning() async throws {
        let tree = try await TreeTown()
        #expect(await tree.owner.delete("leaf", in: tree.place) == .done)
        #expect(await tree.owner.delete("left", in: tree.place) == .done)
        let pulled = try await tree.owner.pull(tree.place)
        #expect(pulled.names == ["lone", "right", "top"])
        #expect(pulled.deleted == [:])
        #expect(!pulled.isMoreComing)
    }

    @Test("[T-12] your own changes are reported, as they can be fetched")
    func ownChanges() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let token = try await owner.pull(place).token
        let record = try await owner.record("leaf", in: place)
        record["value"] = 3
        record["text"] = "hello"
        #expect(await owner.save(record, in: place) == .done)
        let told = try #require(try await owner.pull(place, since: token).records["leaf"])
        let fetched = try await owner.record("leaf", in: place)
        #expect(told.recordID == fetched.recordID)
        #expect(told.recordChangeTag == fetched.recordChangeTag)
        #expect(told.recordChangeTag != nil)
        #expect(told.modificationDate == fetched.modificationDate)
        #expect(told.creationDate == fetched.creationDate)
        #expect(told.creatorUserRecordID == fetched.creatorUserRecordID)
        #expect(told.lastModifiedUserRecordID == fetched.lastModifiedUserRecordID)
        #expect(told.parent == fetched.parent)
        #expect(told.parent?.recordID.recordName == "left")
        #expect(told["text"] as? String == "hello")
        #expect(told.changedKeys().isEmpty)
        // A fetched record can be saved.
        told["value"] = 4
        #expect(await owner.save(told, in: place) == .done)
    }

    @Test(
        "[T-14] a page has at most the requested number of entries, including deletions, and 0 lets the server decide")
    func limits() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let token = try await owner.pull(place).token
        for name in ["leaf", "right"] { #expect(await owner.delete(name, in: place) == .done) }
        for name in ["left", "lone"] { #expect(await owner.change(name, to: 2, in: place) == .done) }
        for limit in 1...5 {
            var (last, entries, pageCount) = (token, [] as [String], 0)
            while pageCount < 6 {
                let page = try await owner.pull(place, since: last, limit: limit)
                #expect(page.records.count + page.deleted.count <= limit)
                entries += page.names + page.deleted.keys
                last = page.token
                pageCount += 1
                if !page.isMoreComing { break }
            }
            #expect(entries.sorted() == ["leaf", "left", "lone", "right"], "by \(limit)")
        }
        for limit in [nil, 0] as [Int?] {
            #expect(try await owner.pull(place, since: token, limit: limit).isMoreComing == false)
        }
    }

    @Test("[T-14] desired keys: nil for all, none for system fields only")
    func desiredKeys() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let record = try await owner.record("leaf", in: place)
        record["text"] = "long"
        #expect(await owner.save(record, in: place) == .done)
        func keys(_ desired: [String]?) async throws -> [String]? {
            try await owner.pull(place, keys: desired).records["leaf"]?.allKeys().sorted()
        }
        #expect(try await keys(nil) == ["text", "value"])
        #expect(try await keys(["text"]) == ["text"])
        #expect(try await keys([]) == [])
        let bare = try #require(try await owner.pull(place, keys: []).records["leaf"])
        #expect(bare.parent?.recordID.recordName == "left")
        #expect(bare.recordChangeTag != nil)
        #expect(bare.recordType == "Item")
        // Fields that were not fetched are not lost by saving.
        bare["value"] = 8
        #expect(await owner.save(bare, in: place) == .done)
        #expect(try await owner.record("leaf", in: place)["text"] as? String == "long")
    }

    @Test("[T-16][S-10] a parent that its child's save touches is not reported")
    func touchedParent() async throws {
        let tree = try await TreeTown { $0.childSaveTouchesParent = true }
        let (owner, place) = (tree.owner, tree.place)
        let token = try await owner.pull(place).token
        let tag = try await owner.record("left", in: place).recordChangeTag
        #expect(await owner.change("leaf", to: 4, in: place) == .done)
        #expect(try await owner.record("left", in: place).recordChangeTag != tag)
        #expect(try await owner.pull(place, since: token).names == ["leaf"])
    }

    @Test("[T-18] a failing zone does not prevent the others from being fetched")
    func failingZone() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let more = try await tree.secondPlace()
        let token = try await owner.pull(more).token
        let missing = CKRecordZone.ID(zoneName: "Missing")
        // One without a token, one with another's token, one that does not exist.
        let ids = [owner.zoneID(more), missing, owner.zoneID(place)]
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: ids,
            configurationsByRecordZoneID: [ids[2]: .init(previousServerChangeToken: token)])
        let log = await operation.trace(in: owner.database(place))
        #expect(log.count(of: "zone More end") == 1, "\(log.all)")
        #expect(log.count(of: "zone Missing zoneNotFound") == 1, "\(log.all)")
        #expect(log.all.count { $0.hasPrefix("zone Docs ") && !$0.hasSuffix("end") } == 1, "\(log.all)")
        #expect(log.all.count { $0.hasPrefix("record ") } == TreeTown.names.count)
        #expect(log.all.last == "done")
    }

    @Test("[S-20][A-02] changes without effect are not reported: deleting a missing record, and a batch that fails")
    func noChange() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        let token = try await owner.pull(place).token
        let database = try await owner.pullZones().token
        #expect(await owner.delete("never", in: place) == .done)
        let (good, bad) = (owner.fresh("good", in: place), owner.fresh("bad", in: place))
        bad.setParent(owner.recordID("nowhere", in: place))
        let answers = try await owner.database(place).modifyRecords(saving: [good, bad], deleting: [])
        #expect(Outcome(answers.saveResults[good.recordID]) == .refused(.batchRequestFailed))
        let pulled = try await owner.pull(place, since: token)
        #expect(pulled.names.isEmpty)
        #expect(pulled.deleted.isEmpty)
        #expect(try await owner.pullZones(since: database).changed == [])
    }

    @Test("[R-04] deletions by cascade are reported")
    func cascade() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        for (name, target) in [("one", "lone"), ("two", "one")] {
            let record = owner.fresh(name, in: place)
            record["up"] = CKRecord.Reference(recordID: owner.recordID(target, in: place), action: .deleteSelf)
            #expect(await owner.save(record, in: place) == .done)
        }
        let token = try await owner.pull(place).token
        #expect(await owner.delete("lone", in: place) == .done)
        #expect(try await owner.pull(place, since: token).deleted == ["lone": "Item", "one": "Item", "two": "Item"])
    }
}
