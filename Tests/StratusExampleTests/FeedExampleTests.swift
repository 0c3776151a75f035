// The example programs that follow changes and search, against a store of their own.

import CloudKit
import CloudKitExamples
import CloudKitExamplesSwift5
import Foundation
import StratusTesting
import Testing

@Suite("Examples of feeds and queries", .stratus)
struct FeedExampleTests {
    private typealias Note = CloudKitExamples.SyncedNotes.Note

    private var database: CKDatabase { CKContainer.default().privateCloudDatabase }

    private func makeZone(_ name: String) async throws -> CKRecordZone.ID {
        try await database.save(CKRecordZone(zoneName: name)).zoneID
    }

    private func note(_ name: String, _ text: String, in zoneID: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["text"] = text
        return record
    }

    @Test("[T-03][T-06] a local copy follows two zones, across launches, deletions and a recreated zone")
    func syncedNotes() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let home = try await makeZone("Home")
        let work = try await makeZone("Work")
        let (first, second) = (note("1", "milk", in: home), note("2", "call", in: work))
        _ = try await database.modifyRecords(saving: [first, second, note("3", "eggs", in: home)], deleting: [])

        let copy = CloudKitExamples.SyncedNotes(file: file)
        #expect(await synced(copy) == nil)
        #expect(copy.notes(in: "Home") == ["1": Note(text: "milk"), "3": Note(text: "eggs")])
        #expect(copy.notes(in: "Work") == ["2": Note(text: "call")])

        first["text"] = "bread"
        _ = try await database.modifyRecords(
            saving: [first], deleting: [CKRecord.ID(recordName: "3", zoneID: home)])
        try await database.deleteRecordZone(withID: work)
        let next = CloudKitExamples.SyncedNotes(file: file)
        #expect(next.notes(in: "Work")?.count == 1)
        #expect(await synced(next) == nil)
        #expect(next.notes(in: "Home") == ["1": Note(text: "bread")])
        #expect(next.notes(in: "Work") == nil)

        // A zone of the same name is another one, so that its old token has expired (T-09).
        try await database.deleteRecordZone(withID: home)
        let again = try await makeZone("Home")
        try await database.save(note("4", "tea", in: again))
        #expect(await synced(next) == nil)
        #expect(next.notes(in: "Home") == ["4": Note(text: "tea")])
    }

    private func synced(_ copy: CloudKitExamples.SyncedNotes) async -> (any Error)? {
        await withCheckedContinuation { continuation in copy.sync { continuation.resume(returning: $0) } }
    }

    @Test("[T-04] a token in the user's defaults and a loop of pages, in both language modes")
    func latestPhotos() async throws {
        let zoneID = try await makeZone("Photos")
        let key = "token-\(UUID().uuidString)"
        defer { UserDefaults.standard.removeObject(forKey: key) }
        func photo(_ name: String) -> CKRecord {
            let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record["title"] = "Photo \(name)"
            return record
        }
        _ = try await database.modifyRecords(saving: (1...5).map { photo("\($0)") }, deleting: [])
        let photos = CloudKitExamples.LatestPhotos(zoneID: zoneID, defaultsKey: key)
        #expect(try await photos.look(pageSize: 2).titles == (1...5).map { "Photo \($0)" })
        try await database.deleteRecord(withID: CKRecord.ID(recordName: "2", zoneID: zoneID))
        try await database.save(photo("6"))
        let old = CloudKitExamplesSwift5.LatestPhotos(zoneID: zoneID, defaultsKey: key)
        let look = try await old.look(pageSize: 1)
        #expect(look.titles == ["Photo 6"])
        #expect(look.gone == ["2"])
        #expect(try await photos.look().titles.isEmpty)
    }

    private func makeRecipes() async throws -> CKRecordZone.ID {
        let zoneID = try await makeZone("Recipes")
        let recipes = [
            ("Tarte", 60, ["sweet"], "French"), ("Tacos", 20, ["spicy", "quick"], "Mexican"),
            ("Tiramisu", 45, ["sweet"], "Italian"), ("Pasta", 15, ["quick"], "Italian"),
            ("Tea", 5, ["quick"], "English"),
        ].map { name, minutes, tags, kitchen in
            let record = CKRecord(recordType: "Recipe", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record["name"] = name
            record["minutes"] = minutes
            record["tags"] = tags
            record["kitchen"] = kitchen
            return record
        }
        _ = try await database.modifyRecords(saving: recipes, deleting: [])
        return zoneID
    }

    @Test("[Q-01][Q-13][Q-14] the search screen finds by every filter, one page at a time")
    func search() async throws {
        let zoneID = try await makeRecipes()
        let search = CloudKitExamples.RecipeSearch(zoneID: zoneID)
        var filter = CloudKitExamples.RecipeSearch.Filter()
        try await search.search(filter, pageSize: 2)
        #expect(await search.names == ["Pasta", "Tacos"])
        while await search.hasMore { try await search.loadMore() }
        #expect(await search.names == ["Pasta", "Tacos", "Tarte", "Tea", "Tiramisu"])
        filter.prefix = "T"
        filter.longestMinutes = 45
        try await search.search(filter)
        #expect(await search.names == ["Tacos", "Tea", "Tiramisu"])
        filter.tags = ["quick"]
        filter.kitchens = ["Mexican", "Italian"]
        filter.newerThan = Date(timeIntervalSince1970: 0)
        try await search.search(filter)
        #expect(await search.names == ["Tacos"])
    }

    @Test("[Q-14] counting with operations and cursors, in Swift 5 mode")
    func count() async throws {
        _ = try await makeRecipes()
        let query = CKQuery(recordType: "Recipe", predicate: NSPredicate(format: "minutes < %d", 50))
        let database = database
        let count = try await withCheckedThrowingContinuation { continuation in
            CloudKitExamplesSwift5.countRecipes(matching: query, in: database) { continuation.resume(with: $0) }
        }
        #expect(count == 4)
    }
}
