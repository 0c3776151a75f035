// The guide's pieces, run. Each function of `Guide` is called here at least once: a tidy test checks it.

import CloudKit
import GuideExamples
import StratusTesting
import Testing

@Suite("The guide's code", .stratus)
struct GuideTests {
    private let identifier = "iCloud.com.example.app"

    private func temporaryDirectory() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    /// Closes a store on a thread that may wait.
    private func close(_ store: Stratus) async { await Guide.shutDown(store) }

    private func account(_ name: String, in store: Stratus) throws -> Stratus.Account {
        try store.account(externalID: name, createIfMissing: .init(emails: ["\(name)@example.com"]))
    }

    @Test("a sync engine keeps a shelf of books the same on two devices")
    func syncing() async throws {
        let store = try Stratus.current
        let account = try #require(try store.signedInAccount)
        let zoneID = CKRecordZone.ID(zoneName: "Shelf")
        for name in ["phone", "tablet"] {
            let device = try await store.device(name, signedInAs: account)
            let (books, hasState) = try await Guide.sync(device, in: zoneID, of: store)
            #expect(books == ["1": "Momo"])
            #expect(hasState)
        }
        let database = store.container(identifier).privateCloudDatabase
        let book = try await database.record(for: CKRecord.ID(recordName: "1", zoneID: zoneID))
        #expect(book["title"] as? String == "Momo")
    }

    @Test("the code at the top of the README saves a record and finds it")
    func firstScreen() async throws {
        let folder = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try await Guide.firstScreen(at: folder.appendingPathComponent("store")) == ["Groceries"])
        await close(try Stratus.open(at: folder.appendingPathComponent("store")))
    }

    @Test("a store is opened, used, backed up, closed and reopened")
    func opening() async throws {
        let folder = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(at: folder) }
        let directory = folder.appendingPathComponent("store")
        let store = try await Guide.open(at: directory)
        let other = try #require(try await Guide.openOrExplain(directory))
        #expect(other === store)
        #expect(try await Guide.changeAccount(in: store)?.standing == .suspended)

        let report = try await Guide.backUp(store, to: folder.appendingPathComponent("copy"))
        #expect(report.entryCount > 0)
        #expect(report.findings.isEmpty)
        #expect(report.unfinishedPaths.isEmpty)
        await close(store)
        let again = try await Guide.nightlyUpkeep(at: directory)
        let alice = try #require(try await again.account(externalID: "user-17"))
        #expect(alice.quotaByteCount == 5 << 30)
        await close(again)

        let options = Guide.productionOptions()
        #expect(options.shareURLBase.hasPrefix("https://app.example.com/"))
        let strict = try await Stratus.inMemory(options: options)
        let name = CKRecord(recordType: "Note")
        await #expect(throws: CKError.self) {
            let account = try await strict.createAccount(.init())
            try await strict.container("a", signedInAs: account).privateCloudDatabase.save(name)
        }
    }

    @Test("only the owner can access the directories of a store and of a backup")
    func directoryModes() async throws {
        let folder = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(at: folder) }
        let directory = folder.appendingPathComponent("store")
        let copy = folder.appendingPathComponent("copy")
        let store = try await Stratus.open(at: directory)
        try await store.backup(to: copy)
        await close(store)
        for url in [directory, copy] {
            #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int == 0o700)
        }
    }

    @Test("records are saved together, with a parent, and with a file")
    func saving() async throws {
        let database = CKContainer.default().privateCloudDatabase
        #expect(try await Guide.saveList(in: database) == 3)
        let folder = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("photo")
        try Data("image".utf8).write(to: file)
        #expect(try await Guide.savePhoto(file, in: database) == Data("image".utf8))
        let photo = try await database.record(for: CKRecord.ID(recordName: "summer"))
        #expect(try await Guide.image(of: photo, in: database, of: try Stratus.current) == Data("image".utf8))
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note"))
        let saved = try await Guide.current(try Stratus.current, note)
        #expect(saved.recordChangeTag != nil)
    }

    @Test("[C-21][A-09][A-07] numbers, failed items and missing zones, as on the page about pitfalls")
    func pitfalls() async throws {
        let store = try Stratus.current
        let alice = try #require(try store.signedInAccount)
        let container = store.container(identifier)
        let database = container.privateCloudDatabase
        let zoneID = CKRecordZone.ID(zoneName: "Recipes")
        let recipe = CKRecord(recordType: "Recipe", recordID: CKRecord.ID(recordName: "soup", zoneID: zoneID))
        recipe["minutes"] = 25
        let minutes = Guide.minutes(of: recipe)
        #expect(minutes.native == nil)
        #expect(minutes.converted == 25)
        #expect(minutes.cast == 25)
        await #expect(throws: CKError.self) { try await Guide.saveAll([recipe], in: database) }
        #expect(try await Guide.saveWithZone(recipe, in: database))
        try await Guide.saveAll([recipe], in: database)
        try await store.purgeZone(zoneID, of: alice, inContainer: identifier)
        #expect(try await Guide.saveWithZone(recipe, in: database) == false)
    }

    @Test("[S-05][S-06] concurrent increments of a number all count, and a name is overwritten")
    func conflicts() async throws {
        let database = CKContainer.default().privateCloudDatabase
        let record = CKRecord(recordType: "Counter", recordID: CKRecord.ID(recordName: "visits"))
        try await database.save(record)
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...4 { group.addTask { try await Guide.countUp(record.recordID, in: database) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.sorted() == [1, 2, 3, 4])
        let renamed = try await Guide.rename(record, in: database)
        #expect(renamed?["title"] == "Renamed")
        #expect(try await database.record(for: record.recordID)["count"] == 4)
    }

    @Test("[X-08][X-16] a folder is shared, opened, explained, and unshared")
    func sharing() async throws {
        let store = try Stratus.current
        let (alice, bob) = (try account("alice", in: store), try account("bob", in: store))
        let container = store.container(identifier, signedInAs: alice)
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Trips"))
        let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "trip", zoneID: zone.zoneID))
        let share = try await Guide.share(folder, in: database)
        try await Guide.invite("bob@example.com", to: share, in: container)
        let latest = try await Guide.inviteFromHost("carol@example.com", to: share, in: container, of: store)
        #expect(latest.participants.count == 3)

        let seen = try await Guide.accept(try #require(share.url), as: bob, of: store)
        #expect(Set(seen.map(\.recordName)).contains("trip"))
        let explanation = try await Guide.explain(folder, of: alice, for: bob, in: store)
        #expect(explanation.mayChange)
        #expect(explanation.relation == .member)
        #expect(try await Guide.permissions([folder.recordID], of: alice, for: bob, in: store).count == 1)
        #expect(
            try await Guide.viewers(of: folder, of: alice, in: store).map(\.userRecordName) == [
                alice.userRecordName, bob.userRecordName,
            ])

        #expect(try await Guide.stopSharing(share.recordID, with: "carol@example.com", in: database) == 2)
        #expect(try await Guide.stopSharing(share.recordID, with: "bob@example.com", in: database) == 1)
        #expect(try await Guide.permissions([folder.recordID], of: alice, for: bob, in: store).isEmpty)
    }

    @Test("[Q-14][T-09] a query is read to its end, and a zone is followed, also after its token has expired")
    func reading() async throws {
        let store = try Stratus.current
        let alice = try account("alice", in: store)
        let database = store.container(identifier, signedInAs: alice).privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Recipes")).zoneID
        let recipes = [("Soup", 25), ("Roast", 120), ("Salad", 10)].map { name, minutes in
            let record = CKRecord(recordType: "Recipe", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record["name"] = name
            record["minutes"] = minutes
            record["tags"] = ["quick"]
            return record
        }
        _ = try await database.modifyRecords(saving: recipes, deleting: [])
        #expect(try await Guide.find(in: database, zoneID: zoneID) == ["Salad", "Soup"])
        let query = CKQuery(recordType: "Recipe", predicate: NSPredicate(format: "minutes < %d", 60))
        #expect(try await Guide.explainQuery(query, zoneID: zoneID, as: alice, in: store) == 2)

        let first = try await Guide.follow(zoneID, since: nil, in: database)
        #expect(first.changed == ["Soup", "Roast", "Salad"])
        let kept = try Guide.keep(try #require(first.token))
        try await database.deleteRecord(withID: recipes[0].recordID)
        #expect(try await Guide.follow(zoneID, since: kept, in: database).changed == ["Soup"])
        try await database.deleteRecordZone(withID: zoneID)
        try await database.save(CKRecordZone(zoneID: zoneID))
        #expect(try await Guide.follow(zoneID, since: kept, in: database).changed.isEmpty)
    }

    @Test("[N-05] a device is notified of the changes of the person's other devices")
    func subscribing() async throws {
        let store = try Stratus.current
        let alice = try account("alice", in: store)
        let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
        let phone = try await Guide.subscribe(alice: alice, in: store) { continuation.yield($0) }
        let tablet = try await store.device("tablet", signedInAs: alice)
        let database = tablet.container(identifier).privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zoneID)))
        var received = stream.makeAsyncIterator()
        let json = try #require(await received.next())
        let payload = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(CKNotification(fromRemoteNotificationDictionary: payload)?.subscriptionID == "everything")
        try await phone.remove()
    }

    @Test("a service serves many users in parallel, and learns of failures")
    func service() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let store = try await Stratus.inMemory(options: Guide.watched(count: { continuation.yield($0) }))
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...3 {
                group.addTask { try await Guide.serve(user: "user-\(number)", title: "Hello", in: store) }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(names.count == 3)
        #expect(try await store.accounts().count == 3)
        store.faults.fail(.operation(.modifyRecords), with: .quotaExceeded)
        await #expect(throws: CKError.self) { try await Guide.serve(user: "user-1", title: "No", in: store) }
        var failures = stream.makeAsyncIterator()
        #expect(await failures.next() == "modifyRecords")
        await close(store)
    }

    @Test("faults of every kind can be planned, and a manual clock stands still")
    func faults() async throws {
        let note = CKRecord.ID(recordName: "note")
        #expect(Guide.planFaults(in: try Stratus.current, note: note, zone: note.zoneID) == 5)
        let (store, clock) = try await Guide.storeWithClock()
        #expect(clock.uptimeSeconds == 60)
        await close(store)
    }
}
