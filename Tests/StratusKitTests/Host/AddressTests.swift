// Stores that are opened by a text: the path of a directory, or the address of a database on a server.

import Foundation
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Opening by an address")
struct AddressTests {
    private static let containerID = "iCloud.test"
    private static let zoneID = CKRecordZone.ID(zoneName: "Trips")

    @Test("a text that is no address of a database is the path of a directory, which is opened once")
    func path() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store.path, options: .tested())
        #expect(store.directory?.path == OpenStratus.canonicalPath(directory.store))
        #expect(store.address == store.directory?.path)
        #expect(try await Stratus.open(at: directory.store) === store)
        try await onThread { store.close() }
        #expect(try await Stratus.inMemory(options: .tested()).address == "memory")
    }

    @Test(
        "a text that begins like an address and is none is refused, and never taken for a path",
        .enabled(if: PostgresTestStore.isServerThere),
        arguments: ["postgresql:", "postgres:store", "postgresql://host:port/name", "postgresql://u:p@ss@host/name"])
    func wrongAddress(text: String) async throws {
        let error = await #expect(throws: StratusError.self) { try await Stratus.open(at: text, options: .tested()) }
        #expect(error?.code == .invalidArgument)
        #expect("\(String(describing: error))".contains("p@ss") == false)
    }

    @Test("a store on a server has no socket for the tool", .enabled(if: PostgresTestStore.isServerThere))
    func noSocket() async throws {
        let place = try PostgresTestStore()
        let error = await #expect(throws: StratusError.self) {
            try await Stratus.open(at: place.url, options: .tested { $0.servesTool = true })
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test(
        "an ordinary CloudKit program runs on a server, and finds everything when the store is opened again",
        .enabled(if: PostgresTestStore.isServerThere), .timeLimit(.minutes(2)))
    func program() async throws {
        let place = try PostgresTestStore()
        let directory = try HostDirectory()
        let options = Stratus.Options.tested { $0.postgresConnectionCount = 4 }
        let store = try await Stratus.open(at: place.url, options: options)
        #expect(store.directory == nil)
        #expect(store.address.hasPrefix("postgresql://"))
        #expect(!store.address.contains(try #require(URL(string: place.url)?.password)))
        let again = try await Stratus.open(at: place.url, options: options)
        #expect(again === store)
        let alice = try await store.createAccount(.init(emails: ["alice@example.com"]), externalID: "alice")
        let bob = try await store.createAccount(.init(emails: ["bob@example.com"]), externalID: "bob")
        let content = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        let photo = directory.url.appendingPathComponent("photo")
        try content.write(to: photo)

        let url = try await write(as: store.container(Self.containerID, signedInAs: alice), photo)
        let guest = store.container(Self.containerID, signedInAs: bob)
        _ = try await guest.accept(try await guest.shareMetadata(for: url))
        try await expectEverything(in: store, content)
        try await onThread { try store.performUpkeep() }
        try await onThread { store.close() }
        await #expect(throws: CKError.self) {
            try await guest.sharedCloudDatabase.allRecordZones()
        }

        let next = try await Stratus.open(at: place.url, options: options)
        #expect(next !== store)
        try await expectEverything(in: next, content)
        try await onThread { try next.reset() }
        #expect(try await next.accounts().isEmpty)
        _ = try await next.createAccount(.init(), externalID: "carol")
        try await onThread { next.close() }
    }

    /// Saves a zone with a trip, its photo and many notes, and shares the trip with Bob. Returns the share's URL.
    private func write(as container: CKContainer, _ photo: URL) async throws -> URL {
        let database = container.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
        let trip = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "trip", zoneID: Self.zoneID))
        trip["title"] = "Lisbon"
        trip["photo"] = CKAsset(fileURL: photo)
        let notes = (0..<50).map { number in
            let note = CKRecord(
                recordType: "Note", recordID: CKRecord.ID(recordName: "note-\(number)", zoneID: Self.zoneID))
            note["number"] = number
            note.setParent(trip)
            return note
        }
        let share = CKShare(rootRecord: trip)
        let participant = try await container.shareParticipant(forEmailAddress: "bob@example.com")
        participant.permission = .readOnly
        share.addParticipant(participant)
        let saved = try await database.modifyRecords(saving: [trip, share] + notes, deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        return try #require(share.url)
    }

    private func expectEverything(in store: Stratus, _ content: Data) async throws {
        let alice = try #require(try await store.account(externalID: "alice"))
        let bob = try #require(try await store.account(externalID: "bob"))
        let owned = store.container(Self.containerID, signedInAs: alice).privateCloudDatabase
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "number >= %@", 40))
        let found = try await owned.records(matching: query, inZoneWith: Self.zoneID, desiredKeys: nil)
        #expect(found.matchResults.count == 10)
        let shared = store.container(Self.containerID, signedInAs: bob).sharedCloudDatabase
        let zones = try await shared.allRecordZones()
        #expect(zones.map(\.zoneID.zoneName) == ["Trips"])
        let zoneID = try #require(zones.first?.zoneID)
        let trip = try await shared.record(for: CKRecord.ID(recordName: "trip", zoneID: zoneID))
        #expect(trip["title"] as? String == "Lisbon")
        let copy = try #require((trip["photo"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: copy) == content)
        let changes = try await shared.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 52)
    }
}
