// Records from the server, which convert a part when it is read, and all parts at the first change.

import Foundation
import StratusKit
import Testing

@Suite("Fetched records")
struct FetchedRecordTests {
    private let zoneID = CKRecordZone.ID(zoneName: "notes")
    private let store: Stratus
    private let database: CKDatabase

    init() throws {
        let (store, account) = try Stratus.tested()
        self.store = store
        database = store.container("iCloud.fetched", signedInAs: account).privateCloudDatabase
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// A record with every kind of value, as the server returns it.
    private func fetched() async throws -> CKRecord {
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let record = CKRecord(recordType: "Note", recordID: id("a"))
        record["text"] = "é"
        record["count"] = 7
        record["share"] = 0.5
        record["flag"] = true
        record["date"] = Date(timeIntervalSince1970: 9)
        record["bytes"] = Data([1, 2, 3])
        record["words"] = ["x", "y"]
        record["link"] = CKRecord.Reference(recordID: id("b"), action: .deleteSelf)
        record.encryptedValues["secret"] = "s"
        record.setParent(id("p"))
        let parent = CKRecord(recordType: "Folder", recordID: id("p"))
        let target = CKRecord(recordType: "Note", recordID: id("b"))
        _ = try await database.modifyRecords(saving: [parent, target, record], deleting: [])
        return try await database.record(for: id("a"))
    }

    @Test("the values of a fetched record cast to Swift's types and to Foundation's")
    func values() async throws {
        let record = try await fetched()
        #expect(record["text"] as? String == "é")
        #expect(record["text"] as? NSString == "é")
        #expect(record["count"] as? Int == 7)
        #expect(record["count"] as? Int64 == 7)
        #expect(record["count"] as? NSNumber == 7)
        #expect(record["share"] as? Double == 0.5)
        #expect(record["flag"] as? Bool == true)
        #expect(record["date"] as? Date == Date(timeIntervalSince1970: 9))
        #expect(record["date"] as? NSDate == NSDate(timeIntervalSince1970: 9))
        #expect(record["bytes"] as? Data == Data([1, 2, 3]))
        #expect(record["bytes"] as? NSData == NSData(data: Data([1, 2, 3])))
        #expect(record["words"] as? [String] == ["x", "y"])
        #expect((record["link"] as? CKRecord.Reference)?.recordID == id("b"))
        #expect((record["link"] as? CKRecord.Reference)?.action == .deleteSelf)
    }

    @Test("a slice of data comes back as data whose indices begin at zero, before the save, after it, and fetched")
    func slices() async throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "slice"))
        record["bytes"] = Data([1, 2, 3]).dropFirst()
        record["list"] = [Data([4, 5, 6]).dropFirst(2)]
        let unsaved = (bytes: record["bytes"] as? Data, list: record["list"] as? [Data])
        let saved = try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        let later = [saved, fetched].map { (bytes: $0["bytes"] as? Data, list: $0["list"] as? [Data]) }
        for (bytes, list) in [unsaved] + later {
            #expect(bytes == Data([2, 3]))
            #expect(bytes?.startIndex == 0)
            #expect(list == [Data([6])])
            #expect(list?.first?.startIndex == 0)
        }
    }

    @Test("a typed look-up gives the same as a cast, and nil for another type")
    func typed() async throws {
        let record = try await fetched()
        let (text, number, bytes): (String?, Int?, Data?) = (record["text"], record["count"], record["bytes"])
        #expect(text == "é")
        #expect(number == 7)
        #expect(bytes == Data([1, 2, 3]))
        let (wrong, object): (Date?, NSString?) = (record["text"], record["text"])
        #expect(wrong == nil)
        #expect(object == "é")
    }

    @Test("[C-08] an encrypted value is not among the plain ones, nor a plain one among the encrypted")
    func encrypted() async throws {
        let record = try await fetched()
        #expect(record["secret"] == nil)
        #expect(record.encryptedValues["secret"] as? String == "s")
        #expect(record.encryptedValues["text"] == nil)
        #expect(record.encryptedValues.allKeys() == ["secret"])
        #expect(record.allKeys() == ["bytes", "count", "date", "flag", "link", "share", "text", "words"])
    }

    @Test("the first change of a fetched record keeps its system fields and all other values")
    func change() async throws {
        let (untouched, changed) = (try await fetched(), try await database.record(for: id("a")))
        changed["count"] = 8
        #expect(changed.changedKeys() == ["count"])
        #expect(changed["count"] as? Int == 8)
        for key in untouched.allKeys() where key != "count" {
            #expect(changed[key]?.isEqual(untouched[key]) == true, "\(key)")
        }
        #expect(changed.encryptedValues["secret"] as? String == "s")
        #expect(changed.recordChangeTag == untouched.recordChangeTag)
        #expect(changed.creationDate == untouched.creationDate)
        #expect(changed.modificationDate == untouched.modificationDate)
        #expect(changed.creatorUserRecordID == untouched.creatorUserRecordID)
        #expect(changed.lastModifiedUserRecordID == untouched.lastModifiedUserRecordID)
        #expect(changed.parent == untouched.parent)
        #expect(untouched["count"] as? Int == 7)
        #expect(untouched.changedKeys().isEmpty)
    }

    @Test("a fetched record that is changed and saved sends only the change")
    func save() async throws {
        let (mine, theirs) = (try await fetched(), try await database.record(for: id("a")))
        theirs["text"] = "theirs"
        _ = try await database.save(theirs)
        mine["count"] = 8
        _ = try await database.modifyRecords(saving: [mine], deleting: [], savePolicy: .changedKeys)
        let both = try await database.record(for: id("a"))
        #expect(both["text"] as? String == "theirs")
        #expect(both["count"] as? Int == 8)
        #expect(both.parent?.recordID == id("p"))
    }

    @Test("[C-06] an archive and a copy of an unchanged record have all of its values")
    func copies() async throws {
        let record = try await fetched()
        let archive = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let decoded = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archive))
        let copy = try #require(record.copy() as? CKRecord)
        for other in [decoded, copy] {
            #expect(other.allKeys() == record.allKeys())
            for key in record.allKeys() { #expect(other[key]?.isEqual(record[key]) == true, "\(key)") }
            #expect(other.encryptedValues["secret"] as? String == "s")
            #expect(other.recordChangeTag == record.recordChangeTag)
            #expect(other.parent == record.parent)
        }
    }

    @Test("a fetched location, and lists of data, dates, locations and references, are what was saved")
    func locationsAndLists() async throws {
        let record = CKRecord(recordType: "Place", recordID: CKRecord.ID(recordName: "place"))
        let berlin = CLLocation(latitude: 52.5, longitude: 13.4)
        let exact = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: -1, longitude: 180), altitude: 7, horizontalAccuracy: 2,
            verticalAccuracy: 3, course: 4, speed: 5, timestamp: Date(timeIntervalSince1970: 6))
        let link = CKRecord.Reference(recordID: record.recordID, action: .none)
        record["place"] = exact
        record["places"] = [berlin, exact]
        record["datas"] = [Data([1]), Data()]
        record["dates"] = [Date(timeIntervalSince1970: 1), .distantPast]
        record["links"] = [link]
        _ = try await database.save(record)
        let read = try await database.record(for: record.recordID)
        let changed = try await database.record(for: record.recordID)
        changed["text"] = "converts all parts"
        for fetched in [read, changed] {
            let place = try #require(fetched["place"] as? CLLocation)
            #expect(place.coordinate.latitude == -1)
            #expect(place.coordinate.longitude == 180)
            #expect(place.altitude == 7)
            #expect(place.horizontalAccuracy == 2)
            #expect(place.verticalAccuracy == 3)
            #expect(place.course == 4)
            #expect(place.speed == 5)
            #expect(place.timestamp == Date(timeIntervalSince1970: 6))
            #expect((fetched["places"] as? [CLLocation])?.map(\.coordinate.latitude) == [52.5, -1])
            #expect(fetched["datas"] as? [Data] == [Data([1]), Data()])
            #expect(fetched["dates"] as? [Date] == [Date(timeIntervalSince1970: 1), .distantPast])
            #expect((fetched["links"] as? [CKRecord.Reference])?.map(\.recordID) == [record.recordID])
        }
    }

    @Test("[S-05] the server's record of a conflict has the other change, and can be changed and saved")
    func conflict() async throws {
        let (mine, theirs) = (try await fetched(), try await database.record(for: id("a")))
        theirs["text"] = "theirs"
        let saved = try await database.save(theirs)
        mine["text"] = "mine"
        let error = await #expect(throws: CKError.self) { try await database.save(mine) }
        let server = try #require(error?.serverRecord)
        #expect(server.recordID == mine.recordID)
        #expect(server.recordChangeTag == saved.recordChangeTag)
        #expect(server["text"] as? String == "theirs")
        #expect(server["count"] as? Int == 7)
        #expect(server.encryptedValues["secret"] as? String == "s")
        #expect(server.parent?.recordID == id("p"))
        #expect(server.changedKeys().isEmpty)
        server["text"] = "both"
        _ = try await database.save(server)
        let both = try await database.record(for: id("a"))
        #expect(both["text"] as? String == "both")
        #expect(both["date"] as? Date == Date(timeIntervalSince1970: 9))
    }

    @Test("[X-06] a participant sees a shared root without its parent, before and after they change it")
    func sharedRoot() async throws {
        let stage = try SharingStage()
        _ = try await stage.owned.save(CKRecordZone(zoneID: stage.zoneID))
        let (top, root) = (stage.record("top"), stage.record("root", under: "top"))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        let child = stage.record("note", under: "root")
        _ = try await stage.owned.modifyRecords(saving: [top, root, share, child], deleting: [])
        try await stage.accept(share, as: stage.bob)
        let shared = stage.shared(stage.bob)
        let seen = try await shared.record(for: stage.foreignID("root"))
        let shareID = CKRecord.ID(recordName: share.recordID.recordName, zoneID: stage.foreignID("root").zoneID)
        #expect(seen.parent == nil)
        #expect(seen.share?.recordID == shareID)
        seen["text"] = "changed"
        #expect(seen.parent == nil)
        #expect(seen.share?.recordID == shareID)
        _ = try await shared.save(seen)
        let below = try await shared.record(for: stage.foreignID("note"))
        #expect(below.parent?.recordID == stage.foreignID("root"))
        #expect(try await stage.owned.record(for: root.recordID).parent?.recordID == stage.id("top"))
    }

    @Test("[A-10] one fetch finds records of one name in several zones, and each that is named twice")
    func zones() async throws {
        let others = ["one", "two"].map { CKRecordZone.ID(zoneName: $0) }
        for zone in others {
            _ = try await database.save(CKRecordZone(zoneID: zone))
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zone))
            record["text"] = zone.zoneName
            _ = try await database.save(record)
        }
        let ids = [others[0], others[1], others[0]].map { CKRecord.ID(recordName: "a", zoneID: $0) }
        let missing = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "none"))
        let results = try await database.records(for: ids + [missing])
        #expect(results.count == 3)
        for (id, zone) in zip(ids, others) {
            #expect(try results[id]?.get()["text"] as? String == zone.zoneName)
        }
        #expect(throws: CKError.self) { try results[missing]?.get() }
    }
}
