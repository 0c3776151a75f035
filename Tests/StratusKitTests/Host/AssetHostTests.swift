// Assets in stores: where their contents are, that they survive closing, and that unused ones are removed.

import Foundation
import StratusKit
import Testing

@Suite("Host assets")
struct AssetHostTests {
    private let id = CKRecord.ID(recordName: "photo")

    private func photo(_ directory: HostDirectory, _ text: String) throws -> CKRecord {
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["file"] = try photoAsset(directory, text)
        return record
    }

    private func photoAsset(_ directory: HostDirectory, _ text: String) throws -> CKAsset {
        let file = directory.url.appendingPathComponent("\(UUID().uuidString).txt")
        try Data(text.utf8).write(to: file)
        return CKAsset(fileURL: file)
    }

    @Test(
        "[X-27] an asset's content survives closing, and every copy belongs to the client",
        arguments: [false, true])
    func survival(isOnDisk: Bool) async throws {
        let directory = try HostDirectory()
        let store =
            await isOnDisk
            ? try Stratus.open(at: directory.store, options: .tested()) : try Stratus.inMemory(options: .tested())
        let account = try await store.createAccount(.init(), externalID: "alice")
        try await store.container("iCloud.test", signedInAs: account).privateCloudDatabase
            .save(try photo(directory, "sunset"))
        var last = store
        if isOnDisk {
            try await onThread { store.close() }
            last = try await Stratus.open(at: directory.store, options: .tested())
        }
        let opened = last
        let database = opened.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let first = try #require((try await database.record(for: id)["file"] as? CKAsset)?.fileURL)
        try Data("scribble".utf8).write(to: first)
        try FileManager.default.removeItem(at: first)
        let second = try #require((try await database.record(for: id)["file"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: second) == Data("sunset".utf8))
        #expect(try await opened.usageByteCount(of: account) >= 6)
        try await onThread { opened.close() }
    }

    @Test("[R-14] upkeep removes the contents that no record holds")
    func collecting() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try await store.createAccount(.init(), externalID: "alice")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let record = try await database.save(try photo(directory, "sunset"))
        #expect(try contentCount(directory) == 1)
        record["file"] = nil
        try await database.save(record)
        try await onThread { try store.performUpkeep() }
        #expect(try contentCount(directory) == 0)
        try await onThread { store.close() }
    }

    @Test(
        "[X-27] the file of a fetched asset stays as long as an asset of its record, plus the host's delay",
        arguments: [TimeInterval?.some(100), nil])
    func copies(seconds: TimeInterval?) async throws {
        let clock = Stratus.ManualClock()
        let (store, account) = try Stratus.tested {
            $0.clock = .manual(clock)
            $0.assetCopySeconds = seconds
        }
        let directory = try HostDirectory()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(try photo(directory, "sunset"))
        var asset = try await database.record(for: id)["file"] as? CKAsset
        let path = try #require(asset?.fileURL?.path)
        await store.settle()
        func isThere(after seconds: Double) async throws -> Bool {
            clock.advance(by: seconds)
            try await onThread { try store.performUpkeep() }
            return FileManager.default.fileExists(atPath: path)
        }
        // The record is deleted; its asset is not.
        #expect(try await isThere(after: 1_000))
        withExtendedLifetime(asset) {}
        asset = nil
        #expect(try await isThere(after: 99))
        if seconds != nil {
            // The operation that fetched the record may be released a little later.
            let end = ContinuousClock.now + .seconds(900)
            while try await isThere(after: 1), ContinuousClock.now < end { await Task.yield() }
        }
        #expect(try await isThere(after: 1_000) == (seconds == nil))
        #expect((try await database.record(for: id)["file"] as? CKAsset)?.fileURL != nil)
    }

    @Test("[X-27] the file of a fetched asset exists when the fetch completes, whatever happens to record and store")
    func pinned() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try await store.createAccount(.init(), externalID: "alice")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Photos")).zoneID
        let photo = CKRecord(recordType: "Photo", recordID: .init(recordName: "a", zoneID: zoneID))
        photo["title"] = "Sunset"
        photo["file"] = try photoAsset(directory, "sunset")
        photo["files"] = [try photoAsset(directory, "dawn"), try photoAsset(directory, "sunset")]
        try await database.save(photo)
        let query = CKQuery(recordType: "Photo", predicate: NSPredicate(format: "title = %@", "Sunset"))
        let fetched = [
            try await database.record(for: photo.recordID),
            try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
                .modificationResultsByID[photo.recordID]?.get().record,
            try await database.records(matching: query, inZoneWith: zoneID).matchResults.first?.1.get(),
        ]
        let unread = try await database.record(for: photo.recordID)
        photo["file"] = nil
        photo["files"] = nil
        try await database.save(photo)
        try await database.deleteRecordZone(withID: zoneID)
        try await onThread { try store.performUpkeep() }
        #expect(try contentCount(directory) == 0)
        try await onThread { store.close() }
        var paths: Set<URL> = []
        for record in fetched {
            let list = try #require(record?["files"] as? [CKAsset])
            let assets = [try #require(record?["file"] as? CKAsset)] + list
            for (asset, text) in zip(assets, ["sunset", "dawn", "sunset"]) {
                let file = try #require(asset.fileURL)
                #expect(asset.fileURL == file)
                #expect(try Data(contentsOf: file) == Data(text.utf8))
                paths.insert(file)
            }
        }
        #expect(paths.count == 9)
        withExtendedLifetime(unread) {}
    }

    @Test("[X-27] files are fetched only with their records, as a separate request, and not for other fields")
    func events() async throws {
        let events = Collected<Stratus.Event>()
        let directory = try HostDirectory()
        let (store, account) = try Stratus.tested { $0.onEvent = { events.append($0) } }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(try photo(directory, "sunset"))
        try await database.save(note("note"))
        _ = try await database.records(for: [id, CKRecord.ID(recordName: "note")])
        _ = try await database.records(for: [id], desiredKeys: ["title"])
        _ = try await database.record(for: CKRecord.ID(recordName: "note"))
        let kinds = events.values.dropFirst(2).map { "\($0.operation) \($0.itemCount)" }
        #expect(kinds == ["fetchRecords 2", "fetchAssets 1", "fetchRecords 1", "fetchRecords 1"])
        // What the network does to the file it does to the fetch.
        store.faults.fail(.operation(.fetchAssets), with: .networkFailure)
        await #expect(throws: CKError.self) { try await database.record(for: id) }
        #expect((try await database.record(for: id)["file"] as? CKAsset)?.fileURL != nil)
    }

    /// A change to the file of a content.
    enum Damage: CaseIterable {
        case missing, flipped, cut, unreadable

        func strike(_ file: URL) throws {
            let bytes = try Data(contentsOf: file)
            try FileManager.default.removeItem(at: file)
            switch self {
            case .missing: break
            case .flipped: try Data([bytes[0] ^ 1] + bytes.dropFirst()).write(to: file)
            case .cut: try Data(bytes.dropLast()).write(to: file)
            // No regular file can be read here.
            case .unreadable: try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            }
        }
    }

    @Test(
        "a damaged content is the error of every item with a result, and the host gets an event with the file's name",
        arguments: Damage.allCases)
    func damagedContent(damage: Damage) async throws {
        let directory = try HostDirectory()
        let events = Collected<Stratus.Event>()
        var options = Stratus.Options.tested()
        options.onEvent = { events.append($0) }
        let store = try await Stratus.open(at: directory.store, options: options)
        let account = try await store.createAccount(.init(), externalID: "alice")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Photos")).zoneID
        for name in ["bad", "good"] {
            let photo = CKRecord(recordType: "Photo", recordID: .init(recordName: name, zoneID: zoneID))
            photo["title"] = "Sunset"
            photo["files"] = [try photoAsset(directory, name)]
            try await database.save(photo)
        }
        let file = try #require(try contentFiles(directory).first { try Data(contentsOf: $0) == Data("bad".utf8) })
        try damage.strike(file)
        let (bad, good) = (
            CKRecord.ID(recordName: "bad", zoneID: zoneID), CKRecord.ID(recordName: "good", zoneID: zoneID)
        )

        let query = CKQuery(recordType: "Photo", predicate: NSPredicate(format: "title = %@", "Sunset"))
        var results = [
            try await database.records(for: [bad, good]),
            try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).modificationResultsByID
                .mapValues { $0.map(\.record) },
        ]
        let matches = try await database.records(matching: query, inZoneWith: zoneID).matchResults
        results.append(Dictionary(uniqueKeysWithValues: matches))
        for result in results {
            let error = #expect(throws: CKError.self) { _ = try #require(result[bad]).get() }
            #expect(error?.code == .assetNotAvailable)
            let assets = try #require(result[good]?.get()["files"] as? [CKAsset])
            #expect(assets.first?.fileURL != nil)
        }
        let named = events.values.filter { $0.operation == .fetchAssets && $0.errorCode == .assetNotAvailable }
        #expect(named.count == 3)
        #expect(named.allSatisfy { $0.errorDescription?.contains(file.lastPathComponent) == true })
        #expect(named.allSatisfy { $0.errorDescription?.contains(file.path) == true })

        // Without the asset there is no obstacle.
        let titled = try await database.records(for: [bad], desiredKeys: ["title"])[bad]?.get()
        #expect(titled?["title"] as? String == "Sunset")
        #expect(try await oldChanges(database, zoneID).mapValues { $0 == nil } == ["bad": true, "good": false])
        try await onThread { store.close() }
    }

    /// The records of a zone as the deprecated block gets them, which has no place for an error: each with its file.
    private func oldChanges(_ database: CKDatabase, _ zoneID: CKRecordZone.ID) async throws -> [String: URL?] {
        try await withCheckedThrowingContinuation { continuation in
            let files = Collected<(String, URL?)>()
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [zoneID], configurationsByRecordZoneID: nil)
            (operation as any LegacyFetchZoneChanges).recordChangedBlock = { record in
                files.append((record.recordID.recordName, (record["files"] as? [CKAsset])?.first?.fileURL))
            }
            operation.fetchRecordZoneChangesResultBlock = { result in
                continuation.resume(with: result.map { Dictionary(uniqueKeysWithValues: files.values) })
            }
            database.add(operation)
        }
    }

    private func contentFiles(_ directory: HostDirectory) throws -> [URL] {
        let content = directory.store.appendingPathComponent("assets/content")
        return (FileManager.default.enumerator(atPath: content.path)?.compactMap { $0 as? String } ?? [])
            .filter { $0.split(separator: "/").count == 3 }.map { content.appendingPathComponent($0) }
    }

    @Test("[L-04] an asset over the store's limit is refused, and nothing is written")
    func limit() async throws {
        let directory = try HostDirectory()
        let (store, account) = try Stratus.tested { $0.assetByteCount = 5 }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let record = try photo(directory, "sunset")
        let error = try await #require(throws: CKError.self) { try await database.save(record) }
        #expect(error.code == .limitExceeded)
        let found = try await database.records(for: [id])
        #expect(throws: CKError.self) { try found[id]?.get() }
    }

    /// The number of contents next to the store.
    private func contentCount(_ directory: HostDirectory) throws -> Int {
        let content = directory.store.appendingPathComponent("assets/content")
        return FileManager.default.enumerator(atPath: content.path)?.count { entry in
            (entry as? String)?.split(separator: "/").count == 3
        } ?? 0
    }
}
