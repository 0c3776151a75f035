// A server that loses commits while a host has its store open: clients that have seen them begin again.

import Foundation
import StratusCloud
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite(
    "A server that has lost commits", .enabled(if: PostgresTestStore.isServerThere), .timeLimit(.minutes(5)))
struct TurnedBackServerTests {
    private static let zone = CKRecordZone.ID(zoneName: "Notes")

    private static func save(_ name: String, in database: CKDatabase) async throws {
        try await database.save(
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone)))
    }

    /// Asks several times a second until the answer is yes, at most for a minute. Returns whether it was.
    private static func waitUntil(_ ask: () async throws -> Bool) async throws -> Bool {
        let end = MonotonicTime.now + 60
        while end > .now {
            if try await ask() { return true }
            try await pause(seconds: 0.1)
        }
        return false
    }

    private static func pause(seconds: Double) async throws {
        try await TestThreads.offPool { MonotonicTime.pause(seconds: seconds) }
    }

    private static func isExpired(_ ask: () async throws -> Void) async throws -> Bool {
        do {
            try await ask()
            return false
        } catch let error as CKError where error.code == .changeTokenExpired {
            return true
        }
    }

    @Test(
        "[T-09] change tokens that contain a lost commit expire, after a promotion and after a volume was restored",
        arguments: [true, false])
    func expires(onNewTimeline: Bool) async throws {
        let server = try await TestThreads.offPool { try OwnServer(canBeTurnedBack: true) }
        defer { server.stop() }
        let notices = Locked(0)
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        options.onEvent = { event in
            if event.errorDescription?.contains("lost commits") == true { notices.withLock { $0 += 1 } }
        }
        let host = try await Stratus.open(at: server.url, options: options)
        let account = try await host.createAccount(.init(), externalID: "alice")
        let database = host.container("iCloud.test", signedInAs: account).privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Self.zone))
        try await Self.save("kept", in: database)
        try await TestThreads.offPool { try server.keepCopy() }

        try await Self.save("lost", in: database)
        // Without a new timeline a loss shows by the next sign of life, which is given every three seconds.
        if !onNewTimeline { try await Self.pause(seconds: 4) }
        let zoneToken = try await database.recordZoneChanges(inZoneWith: Self.zone, since: nil).changeToken
        let databaseToken = try await database.databaseChanges(since: nil).changeToken
        try await TestThreads.offPool { try server.turnBack(onNewTimeline: onNewTimeline) }
        // It gets the number of the lost one.
        try await Self.save("new", in: database)

        #expect(
            try await Self.waitUntil {
                try await Self.isExpired {
                    _ = try await database.recordZoneChanges(inZoneWith: Self.zone, since: zoneToken)
                }
            })
        #expect(
            try await Self.waitUntil {
                try await Self.isExpired { _ = try await database.databaseChanges(since: databaseToken) }
            })
        let all = try await database.recordZoneChanges(inZoneWith: Self.zone, since: nil)
        #expect(Set(all.modificationResultsByID.keys.map(\.recordName)) == ["kept", "new"])
        // Two beats more expire nothing.
        try await Self.pause(seconds: 7)
        #expect(notices.value == 1)
        await host.close()
    }
}
