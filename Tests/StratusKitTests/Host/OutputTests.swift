// What a host can watch: events, log lines, metrics.

import Foundation
import Logging
import Metrics
import MetricsTestKit
import StratusKit
import Testing

@Suite("Events, logs, metrics")
struct OutputTests {
    @Test("every request emits one event, with its items, failures, conflicts and commits")
    func events() async throws {
        let events = Collected<Stratus.Event>()
        let (store, account) = try Stratus.tested { $0.onEvent = { events.append($0) } }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        let records = (0..<3).map { note("n\($0)", in: "Notes") }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        _ = try await database.modifyRecords(saving: [note("n0", in: "Notes")], deleting: [])
        _ = try await database.records(for: records.map(\.recordID))
        let seen = events.values
        #expect(seen.map(\.operation) == [.modifyZones, .modifyRecords, .modifyRecords, .fetchRecords])
        #expect(seen.map(\.itemCount) == [1, 3, 1, 3])
        #expect(seen.map(\.failedItemCount) == [0, 0, 1, 0])
        #expect(seen.map(\.conflictCount) == [0, 0, 1, 0])
        #expect(seen[1].commitCount == 1)
        #expect(seen[3].commitCount == 0)
        #expect(seen.allSatisfy { $0.containerIdentifier == "iCloud.test" && $0.accountID == account.id })
        #expect(seen.allSatisfy { $0.errorCode == nil && $0.durationSeconds >= 0 })
    }

    @Test("[A-01] an operation with 400 records in two zones emits one event with two commits")
    func commits() async throws {
        let events = Collected<Stratus.Event>()
        let (store, account) = try Stratus.tested { $0.onEvent = { events.append($0) } }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        for name in ["Notes", "Tasks"] { try await database.save(CKRecordZone(zoneName: name)) }
        let records = (0..<400).map { note("n\($0)", in: $0 % 2 == 0 ? "Notes" : "Tasks") }
        database.add(CKModifyRecordsOperation(recordsToSave: records))
        await store.settle()
        #expect(events.values.map(\.operation) == [.modifyZones, .modifyZones, .modifyRecords])
        let event = try #require(events.values.last)
        #expect(event.itemCount == 400)
        #expect(event.failedItemCount == 0)
        #expect(event.commitCount == 2)
    }

    @Test("a request that fails as a whole emits an event with its error")
    func failure() async throws {
        let events = Collected<Stratus.Event>()
        let (store, account) = try Stratus.tested { $0.onEvent = { events.append($0) } }
        store.faults.fail(.everything, with: .serviceUnavailable, message: "Out for lunch.")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        await #expect(throws: CKError.self) { try await database.record(for: CKRecord.ID(recordName: "a")) }
        let event = try #require(events.values.last)
        #expect(event.errorCode == .serviceUnavailable)
        #expect(event.errorDescription?.contains("Out for lunch.") == true)
    }

    @Test("requests are logged at trace, failed ones at debug, and those only the host can fix at error")
    func log() async throws {
        let lines = Collected<String>()
        let logger = Logger(label: "test") { _ in CollectingLogHandler(lines: lines) }
        let (store, account) = try Stratus.tested { $0.logger = logger }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(note("a"))
        store.faults.fail(.everything, with: .zoneBusy)
        store.faults.fail(.everything, with: .internalError)
        for _ in 1...2 {
            await #expect(throws: CKError.self) { try await database.allRecordZones() }
        }
        #expect(
            lines.values == [
                "trace: request answered modifyRecords items 1 failed 0",
                "debug: request failed fetchZones items 0 failed 0",
                "error: request failed fetchZones items 0 failed 0",
            ])
    }

    @Test("[X-31] a field that no record has had is logged as a warning, once per type and field")
    func unknownFields() async throws {
        let lines = Collected<String>()
        let logger = Logger(label: "test") { _ in CollectingLogHandler(lines: lines) }
        let (store, account) = try Stratus.tested { $0.logger = logger }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        _ = try await database.save(note("a"))
        // No other test uses these names: a process warns once, and stores with one seed have one identity.
        for field in ["loggedTitle", "loggedTitle", "loggedOrder"] {
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "\(field) = 'x'"))
            _ = try await database.records(matching: query)
        }
        let warnings = lines.values.filter { $0.hasPrefix("warning: ") }
        #expect(warnings.count == 2)
        #expect(warnings.allSatisfy { $0.contains("A query names a field that no record has had") })
    }

    @Test("requests are counted and timed by kind and outcome")
    func metrics() async throws {
        let metrics = TestMetrics()
        let (store, account) = try Stratus.tested { $0.metricsFactory = metrics }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        let records = ["a", "b"].map { note($0, in: "Notes") }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        _ = try await database.modifyRecords(saving: [note("a", in: "Notes")], deleting: [])
        store.faults.fail(.everything, with: .zoneBusy)
        await #expect(throws: CKError.self) { try await database.save(note("c")) }
        let answered = [("operation", "modifyRecords"), ("outcome", "answered")]
        let failed = [("operation", "modifyRecords"), ("outcome", "failed")]
        #expect(try metrics.expectCounter("stratus.requests", answered).totalValue == 2)
        #expect(try metrics.expectCounter("stratus.requests", failed).totalValue == 1)
        #expect(try metrics.expectCounter("stratus.items", answered).totalValue == 3)
        #expect(try metrics.expectCounter("stratus.items.failed", answered).totalValue == 1)
        #expect(try metrics.expectCounter("stratus.conflicts", answered).totalValue == 1)
        #expect(try metrics.expectCounter("stratus.commits", answered).totalValue == 1)
        #expect(try metrics.expectTimer("stratus.request.duration", answered).values.count == 2)
    }
}

/// Stores log output as lines.
private struct CollectingLogHandler: LogHandler {
    let lines: Collected<String>
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(lines: Collected<String>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = event.metadata ?? [:]
        func value(_ key: String) -> String { values[key].map { "\($0)" } ?? "" }
        lines.append(
            "\(event.level): \(event.message) \(value("operation")) items \(value("items")) failed \(value("failedItems"))"
        )
    }
}
