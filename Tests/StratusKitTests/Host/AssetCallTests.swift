// The content of one asset, requested by the host for a record that was fetched without it.

import Foundation
import StratusKit
import Testing

@Suite("One asset's content") struct AssetCallTests {
    private func asset(_ text: String, in directory: HostDirectory) throws -> CKAsset {
        let file = directory.url.appendingPathComponent(UUID().uuidString)
        try Data(text.utf8).write(to: file)
        return CKAsset(fileURL: file)
    }

    /// The text of an asset's file, and its path; nil if there is no asset. The call blocks.
    private func content(
        _ key: String, at index: Int = 0, of id: CKRecord.ID, in database: CKDatabase, _ store: Stratus
    ) async throws -> (text: String, path: String)? {
        try await onThread {
            guard let asset = try store.asset(key, at: index, of: id, in: database) else { return nil }
            guard let file = asset.fileURL else { return ("no file", "") }
            return try withExtendedLifetime(asset) {
                (String(decoding: try Data(contentsOf: file), as: UTF8.self), file.path)
            }
        }
    }

    @Test("[X-27] an asset that a fetch left out is copied alone, each time into a new file for the caller")
    func copies() async throws {
        let directory = try HostDirectory()
        let events = Collected<Stratus.Event>()
        let (store, account) = try Stratus.tested { $0.onEvent = { events.append($0) } }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let record = note("photo")
        record["file"] = try asset("sunset", in: directory)
        record["files"] = try ["dawn", "noon", "night"].map { try asset($0, in: directory) }
        try await database.save(record)
        let id = record.recordID
        let known = try await database.records(for: [id], desiredKeys: ["text"])[id]?.get()
        #expect(known?["text"] as? String == "text")
        #expect(known?["file"] == nil)

        let first = try #require(try await content("file", of: id, in: database, store))
        #expect(first.text == "sunset")
        try? Data("scribble".utf8).write(to: URL(fileURLWithPath: first.path))
        let second = try #require(try await content("file", of: id, in: database, store))
        #expect(second.text == "sunset")
        #expect(second.path != first.path)
        for (index, text) in ["dawn", "noon", "night"].enumerated() {
            #expect(try await content("files", at: index, of: id, in: database, store)?.text == text)
        }
        let kinds = events.values.dropFirst(2).map { "\($0.operation) \($0.itemCount)" }
        #expect(kinds == Array(repeating: ["fetchRecords 1", "fetchAssets 1"], count: 5).flatMap { $0 })

        // A field without an asset returns none.
        for (key, index) in [("text", 0), ("missing", 0), ("file", 1), ("files", 3), ("files", -1)] {
            #expect(try await content(key, at: index, of: id, in: database, store) == nil, "\(key) \(index)")
        }
    }

    @Test(
        "[X-27][X-16] access follows the account's rights: a participant gets it while they see the record, others never"
    )
    func rights() async throws {
        let directory = try HostDirectory()
        let stage = try SharingStage()
        let (_, share) = try await stage.shareFolder { $0.addParticipant(try await stage.person(stage.bob, .readOnly)) }
        let photo = stage.record("photo", under: "root")
        photo["file"] = try asset("shared", in: directory)
        let hidden = stage.record("hidden")
        hidden["file"] = try asset("hidden", in: directory)
        for record in [photo, hidden] { try await stage.owned.save(record) }
        try await stage.accept(share, as: stage.bob)

        let (bob, carol, store) = (stage.shared(stage.bob), stage.shared(stage.carol), stage.store)
        #expect(try await content("file", of: stage.id("hidden"), in: stage.owned, store)?.text == "hidden")
        #expect(try await content("file", of: stage.foreignID("photo"), in: bob, store)?.text == "shared")
        #expect(
            await failure { try await content("file", of: stage.foreignID("hidden"), in: bob, store) }
                == "unknownItem")
        #expect(
            await failure { try await content("file", of: stage.foreignID("photo"), in: carol, store) } != "ok")
        let newest = try await stage.newest(share)
        for participant in newest.participants where participant.role != .owner {
            newest.removeParticipant(participant)
        }
        try await stage.owned.save(newest)
        #expect(await failure { try await content("file", of: stage.foreignID("photo"), in: bob, store) } != "ok")
        try await store.setStanding(.suspended, of: stage.alice)
        #expect(
            await failure { try await content("file", of: stage.id("photo"), in: stage.owned, store) }
                == "notAuthenticated")
    }

    @Test("[S-18][X-27] the asset of a public record is available to everyone who can read it, also without an account")
    func publicAsset() async throws {
        let directory = try HostDirectory()
        let (store, account) = try Stratus.tested()
        let record = note("poster")
        record["file"] = try asset("poster", in: directory)
        try await store.container("iCloud.test", signedInAs: account).publicCloudDatabase.save(record)
        let anybody = store.container("iCloud.test").publicCloudDatabase
        #expect(try await content("file", of: record.recordID, in: anybody, store)?.text == "poster")
    }

    @Test(
        "[R-14] a missing record, zone or content is the error of the call, and so is a database of another store")
    func refusals() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try await store.createAccount(.init(), externalID: "alice")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let record = note("photo")
        record["file"] = try asset("sunset", in: directory)
        try await database.save(record)
        let missing = CKRecord.ID(recordName: "missing")
        #expect(await failure { try await content("file", of: missing, in: database, store) } == "unknownItem")
        let nowhere = CKRecord.ID(recordName: "photo", zoneID: CKRecordZone.ID(zoneName: "Missing"))
        #expect(await failure { try await content("file", of: nowhere, in: database, store) } == "zoneNotFound")
        let (other, stranger) = try Stratus.tested()
        let elsewhere = other.container("iCloud.test", signedInAs: stranger).privateCloudDatabase
        let error = await #expect(throws: StratusError.self) {
            try await content("file", of: record.recordID, in: elsewhere, store)
        }
        #expect(error?.code == .invalidArgument)
        try FileManager.default.removeItem(at: directory.store.appendingPathComponent("assets/content"))
        #expect(
            await failure { try await content("file", of: record.recordID, in: database, store) }
                == "assetNotAvailable")
        try await onThread { store.close() }
        #expect(
            await failure { try await content("file", of: record.recordID, in: database, store) }
                == "serviceUnavailable")
    }
}
