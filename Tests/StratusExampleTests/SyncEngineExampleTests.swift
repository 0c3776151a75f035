// The example program on the sync engine, against a store of its own: several devices side by side, as one tests such
// programs on Apple's systems.

import CloudKit
import CloudKitExamples
import CloudKitExamplesSwift5
import Foundation
import StratusTesting
import Testing

@Suite("An example of the sync engine", .stratus)
struct SyncEngineExampleTests {
    private typealias Note = CloudKitExamples.PocketNote
    private typealias Notes = CloudKitExamples.PocketNotes

    private static let zoneID = CKRecordZone.ID(zoneName: "PocketNotes")
    private let date = Date(timeIntervalSince1970: 1_700_000_000)

    private func file() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("pocket-notes-\(UUID().uuidString)")
    }

    private func device() -> Notes { Notes(file: file(), automaticallySync: false) }

    @Test(
        "[E-01][E-02][L-15] all notes of one device reach the other, however many there are", arguments: [1, 10, 444])
    func many(_ count: Int) async throws {
        let (one, other) = (device(), device())
        let notes = (1...count).map { Note(text: "note \($0)", changed: date) }
        try await one.save(notes)
        try await one.syncEngine.sendChanges()
        #expect(await other.notes.isEmpty)
        try await other.syncEngine.fetchChanges()
        #expect(await other.notes == Dictionary(uniqueKeysWithValues: notes.map { ($0.id, $0) }))
    }

    @Test("[S-01] a note is renamed on one device and then on the other, across a launch")
    func rename() async throws {
        let oneFile = file()
        var one = Notes(file: oneFile, automaticallySync: false)
        let other = device()
        try await one.save([Note(id: "1", text: "first", changed: date)])
        try await one.syncEngine.sendChanges()
        try await other.syncEngine.fetchChanges()
        try await other.save([Note(id: "1", text: "second", changed: date + 1)])
        try await other.syncEngine.sendChanges()
        one = Notes(file: oneFile, automaticallySync: false)
        #expect(await one.notes["1"]?.text == "first")
        try await one.syncEngine.fetchChanges()
        #expect(await one.notes["1"]?.text == "second")
        try await one.save([Note(id: "1", text: "third", changed: date + 2)])
        try await one.syncEngine.sendChanges()
        try await other.syncEngine.fetchChanges()
        #expect(await other.notes["1"]?.text == "third")
        try await other.delete(["1"])
        try await other.syncEngine.sendChanges()
        try await one.syncEngine.fetchChanges()
        #expect(await one.notes.isEmpty)
    }

    @Test(
        "[E-06] a zone or a record that someone else deleted is created again at the second attempt",
        arguments: [true, false])
    func deletedMeanwhile(_ isZone: Bool) async throws {
        let one = device()
        try await one.save([Note(id: "1", text: "first", changed: date)])
        try await one.syncEngine.sendChanges()
        let database = CKContainer.default().privateCloudDatabase
        if isZone {
            try await database.deleteRecordZone(withID: Self.zoneID)
        } else {
            try await database.deleteRecord(withID: CKRecord.ID(recordName: "1", zoneID: Self.zoneID))
        }
        try await one.save([Note(id: "1", text: "second", changed: date + 1)])
        await #expect(throws: CKError.self) { try await one.syncEngine.sendChanges() }
        try await one.syncEngine.sendChanges()
        let other = device()
        try await other.syncEngine.fetchChanges()
        #expect(await other.notes["1"]?.text == "second")
    }

    @Test("[E-13][S-05] the later text wins a conflict, in either order of sending", arguments: [true, false])
    func conflict(_ winnerSendsFirst: Bool) async throws {
        let (winner, loser) = (device(), device())
        try await winner.save([Note(id: "1", text: "first", changed: date)])
        try await winner.syncEngine.sendChanges()
        try await loser.syncEngine.fetchChanges()
        let won = Note(id: "1", text: "won", changed: date + 2)
        try await winner.save([won])
        try await loser.save([Note(id: "1", text: "lost", changed: date + 1)])
        let (first, second) = winnerSendsFirst ? (winner, loser) : (loser, winner)
        try await first.syncEngine.sendChanges()
        await #expect(throws: CKError.self) { try await second.syncEngine.sendChanges() }
        #expect(await first.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        #expect(await second.syncEngine.state.pendingRecordZoneChanges.count == 1)
        try await second.syncEngine.sendChanges()
        try await first.syncEngine.fetchChanges()
        #expect(await [winner.notes["1"], loser.notes["1"]] == [won, won])
    }

    @Test(
        "[E-11][E-12] automatic devices, one of them compiled in Swift 5 mode, agree once everything has settled")
    func automatic() async throws {
        let store = try Stratus.current
        let account = try #require(try store.signedInAccount)
        func database(_ name: String) throws -> CKDatabase {
            try store.device(name, signedInAs: account).container("iCloud.com.example.app").privateCloudDatabase
        }
        let new = Notes(file: file(), database: try database("new"))
        let old = CloudKitExamplesSwift5.PocketNotes(file: file(), database: try database("old"))
        _ = await (new.syncEngine, old.syncEngine)
        await store.settle()
        try await new.save([Note(id: "1", text: "milk", changed: date)])
        try await old.save([.init(id: "2", text: "eggs", changed: date)])
        await store.settle()
        #expect(await new.notes.mapValues(\.text) == ["1": "milk", "2": "eggs"])
        #expect(await old.notes.mapValues(\.text) == ["1": "milk", "2": "eggs"])
        try await old.deleteEverything()
        await store.settle()
        #expect(await new.notes.isEmpty)
        try await new.save([Note(id: "3", text: "tea", changed: date)])
        await store.settle()
        #expect(await old.notes.mapValues(\.text) == ["3": "tea"])
    }

    @Test("[E-10] the notes of a person who signs out are gone from the device")
    func signingOut() async throws {
        let store = try Stratus.current
        let notes = Notes(file: file())
        try await notes.save([Note(id: "1", text: "mine", changed: date)])
        await store.settle()
        #expect(await notes.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        let account = try #require(try store.signedInAccount)
        store.signOut()
        await store.settle()
        #expect(await notes.notes.isEmpty)
        try await store.signIn(account)
        await store.settle()
        #expect(await notes.notes.mapValues(\.text) == ["1": "mine"])
    }
}
