// What a host decides of queries.

import Foundation
import StratusKit
import StratusStore
import Testing

@Suite struct QueryOptionTests {
    @Test("[Q-07] the unit of a radius is a metre, or the host's", arguments: [(nil, 0), (1_000.0, 1)])
    func distanceUnit(metres: Double?, foundCount: Int) async throws {
        var options = Stratus.Options()
        if let metres { options.queryDistanceUnitMetres = metres }
        let store = try await Stratus.inMemory(options: options)
        let account = try await store.createAccount(.init(), externalID: "somebody")
        let database = store.container("iCloud.com.example.places", signedInAs: account).privateCloudDatabase
        let place = CKRecord(recordType: "Place")
        // A little more than a kilometre from the centre.
        place["spot"] = CLLocation(latitude: 0, longitude: 0.01)
        _ = try await database.save(place)
        let predicate = NSPredicate(
            format: "distanceToLocation:fromLocation:(spot, %@) < 2", CLLocation(latitude: 0, longitude: 0))
        let found = try await database.records(matching: CKQuery(recordType: "Place", predicate: predicate))
        #expect(found.matchResults.count == foundCount)
    }

    @Test("[Q-16] a query for no keys returns records without values, one for nil returns all")
    func desiredKeys() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let saved = note("a", text: "one")
        saved["more"] = 1
        _ = try await database.save(saved)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == 'one'"))
        for (asked, expected) in [([], []), (["more"], ["more"]), (nil, ["more", "text"])] as [([String]?, [String])] {
            let found = try await database.records(matching: query, desiredKeys: asked).matchResults
            let record = try #require(try found.first?.1.get())
            #expect(record.allKeys().sorted() == expected)
            #expect(record.recordChangeTag != nil)
            let operation = CKQueryOperation(query: query)
            operation.desiredKeys = asked
            let keys = Locked<[[String]]>([])
            operation.recordMatchedBlock = { _, result in
                keys.withLock { $0.append((try? result.get())?.allKeys().sorted() ?? ["an error"]) }
            }
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                database.add(operation)
            }
            #expect(keys.value == [expected])
        }
    }

    @Test("a host gets the plan of a query and its counted cost, in words and as JSON")
    func explanation() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        _ = try await database.modifyRecords(saving: (0..<9).map { note("n\($0)", text: "\($0 % 3)") }, deleting: [])
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == '1'"))
        let found = try await store.explainQuery(query, inContainer: "iCloud.test", as: account, resultsLimit: 2)
        #expect(found.resultCount == 2)
        #expect(found.isMoreComing)
        let zone = try #require(found.zones.first { $0.resultCount > 0 })
        #expect(zone.zone == CKRecordZone.ID.defaultZoneName)
        #expect(zone.plan.contains("the index on Note.text"))
        #expect((2...4).contains(zone.examinedCount))
        #expect(zone.readCount <= zone.examinedCount + 4)
        #expect(zone.cursorStepCount > 0)
        #expect(found.description.contains("\(zone.readCount) reads"))
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(found)) as? [String: Any]
        #expect((json?["zones"] as? [[String: Any]])?.first?["readCount"] as? Int == found.zones.first?.readCount)
        let unknown = CKQuery(recordType: "Unknown", predicate: NSPredicate(value: true))
        #expect(throws: StratusError.self) {
            try store.explainQuery(unknown, inContainer: "iCloud.test", as: account)
        }
    }
}
