// The example programs that refresh on push, with changes by the person's other device.

import CloudKit
import CloudKitExamples
import CloudKitExamplesSwift5
import Foundation
import StratusTesting
import Testing

/// The shown texts, in order. Handlers of one device are called one after another, and read after everything was
/// delivered.
private final class Shown: @unchecked Sendable {
    // Because a lock guards it.
    private let lock = NSLock()
    private var lines: [String] = []

    func show(_ line: String?) { lock.withLock { lines.append(line ?? "-") } }
    var all: [String] { lock.withLock { lines } }
}

@Suite("Examples of pushes", .stratus)
struct PushExampleTests {
    /// The private database on another device of the same person.
    private func otherDevice() throws -> CKDatabase {
        let store = try Stratus.current
        let account = try #require(try store.signedInAccount)
        return try store.device("phone", signedInAs: account).container("iCloud.default").privateCloudDatabase
    }

    private func note(_ name: String, _ text: String, priority: Int = 0) -> CKRecord {
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["text"] = text
        record["priority"] = priority
        return record
    }

    @Test("[N-05] an app refreshes after another device of its person has written, and not after its own writes")
    func delegate() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pushed-\(UUID().uuidString)")
        let key = "subscribed-\(UUID().uuidString)"
        defer {
            try? FileManager.default.removeItem(at: file)
            UserDefaults.standard.removeObject(forKey: key)
        }
        let store = try Stratus.current
        let device = try #require(try store.localDevice)
        let delegate = CloudKitExamples.NotesDelegate(file: file, defaultsKey: key)
        for _ in 0..<2 {
            let error = await withCheckedContinuation { continuation in
                delegate.didFinishLaunching { continuation.resume(returning: $0) }
            }
            #expect(error == nil)
        }
        device.onNotification = { received in delegate.didReceiveRemoteNotification(received.userInfo) { _ in } }
        let own = CKContainer.default().privateCloudDatabase
        try await own.save(CKRecordZone(zoneName: "Notes"))
        try await own.save(note("1", "milk"))
        await store.settle()
        #expect(delegate.journal == ["subscribed"])
        try await otherDevice().save(note("2", "eggs"))
        await store.settle()
        #expect(delegate.journal == ["subscribed", "refreshed"])
        #expect(delegate.notes.notes(in: "Notes")?["2"]?.text == "eggs")
        delegate.didReceiveRemoteNotification(["aps": ["alert": "x"]]) { _ in }
        #expect(delegate.journal.last == "not a push of CloudKit's")
    }

    @Test("[N-04][L-13] a person sees notes that become urgent, in Swift 5 as in Swift 6")
    func urgent() async throws {
        let store = try Stratus.current
        let device = try #require(try store.localDevice)
        let shown = Shown()
        device.onNotification = { received in
            shown.show(CloudKitExamplesSwift5.UrgentNotes.line(for: received.userInfo))
        }
        let other = try otherDevice()
        try await other.save(CKRecordZone(zoneName: "Notes"))
        let record = note("1", "taxes")
        try await other.save(record)
        let urgent = CloudKitExamples.UrgentNotes(zoneID: CKRecordZone.ID(zoneName: "Notes"))
        try await urgent.subscribe("urgent", above: 5)
        #expect(try await urgent.isSubscribed("urgent"))
        await store.settle()
        #expect(shown.all.isEmpty)
        record["priority"] = 9
        try await other.save(record)
        await store.settle()
        #expect(shown.all == ["Urgent: taxes"])
        try await other.deleteRecord(withID: record.recordID)
        await store.settle()
        #expect(shown.all.count == 2)
        #expect(shown.all.last?.hasPrefix("No longer urgent") == true)
        try await urgent.unsubscribeFromAll()
        #expect(try await !urgent.isSubscribed("urgent"))
    }
}
