// What a store does in the background, and when.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Upkeep")
struct UpkeepTests {
    @Test("a deleted zone's keys are purged in the background soon after the deletion")
    func zonePurge() async throws {
        let (store, account) = try Stratus.tested { $0.upkeepIntervalSeconds = 3_600 }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        _ = try await database.modifyRecords(saving: (0..<100).map { note("n\($0)", in: "Notes") }, deleting: [])
        let full = try entryCount(store)
        _ = try await database.deleteRecordZone(withID: zone.zoneID)
        let end = ContinuousClock.now + .seconds(900)
        while try entryCount(store) > full - 300, ContinuousClock.now < end { await Task.yield() }
        #expect(try entryCount(store) <= full - 300)
    }

    @Test("with manual upkeep, nothing is purged before the host runs it")
    func byHand() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        _ = try await database.modifyRecords(saving: (0..<100).map { note("n\($0)", in: "Notes") }, deleting: [])
        let full = try entryCount(store)
        _ = try await database.deleteRecordZone(withID: zone.zoneID)
        #expect(try entryCount(store) > full - 100)
        try await store.performUpkeep()
        #expect(try entryCount(store) <= full - 300)
    }

    @Test("[T-09] history is forgotten when it is old enough, and not earlier")
    func history() async throws {
        let clock = Stratus.ManualClock()
        let (store, account) = try Stratus.tested {
            $0.clock = .manual(clock)
            $0.historySeconds = 100
        }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        func delete(_ name: String) async throws {
            let record = try await database.save(note(name, in: "Notes"))
            _ = try await database.deleteRecord(withID: record.recordID)
        }
        try await delete("early")
        clock.advance(by: 60)
        try await delete("late")
        try await database.save(note("live", in: "Notes"))
        #expect(try tombstones(store) == 2)
        clock.advance(by: 39)
        try await store.performUpkeep()
        #expect(try tombstones(store) == 2)
        clock.advance(by: 2)
        try await store.performUpkeep()
        #expect(try tombstones(store) == 1)
        clock.advance(by: 60)
        try await store.performUpkeep()
        #expect(try tombstones(store) == 0)
        let live = CKRecord.ID(recordName: "live", zoneID: CKRecordZone.ID(zoneName: "Notes"))
        #expect(try await database.record(for: live)["text"] as? String == "text")
    }

    @Test("the thread ends at close, and does nothing while paused")
    func thread() throws {
        let thread = UpkeepThread(intervalSeconds: 3_600)
        let rounds = Collected<Int>()
        let first = DispatchSemaphore(value: 0)
        thread.start {
            rounds.append(1)
            first.signal()
        }
        thread.wake()
        first.wait()
        #expect(rounds.values.count == 1)
        thread.pausing {
            thread.wake()
            #expect(!thread.mayContinue)
        }
        first.wait()
        #expect(rounds.values.count == 2)
        thread.stop()
        #expect(!thread.mayContinue)
        thread.wake()
        thread.rest(seconds: 3_600)
    }

    private func entryCount(_ store: Stratus) throws -> Int {
        try store.server.withService { service in
            try service.engine.read { reader in
                var count = 0
                let everything = KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))
                try reader.store.scan(everything) { _, _ in
                    count += 1
                    return .next
                }
                return count
            }
        }
    }

    /// The deletions that the zone `Notes` remembers.
    private func tombstones(_ store: Stratus) throws -> Int {
        try store.server.withService { service in
            try service.engine.read { reader in
                for database in try reader.databases().map(\.id) {
                    guard let zone = try reader.zone(ZoneID(database: database, name: "Notes")) else { continue }
                    return try zone.changes(after: zone.header().horizon).count(where: \.kind.isDeletion)
                }
                return -1
            }
        }
    }
}
