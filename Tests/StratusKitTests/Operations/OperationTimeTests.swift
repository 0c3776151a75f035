// Time-outs, retries and their rules: on a clock that the test moves.

import Foundation
import StratusCloud
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite struct OperationTimeTests {
    /// Starts a fetch, waits until the server holds it, moves the clock and releases it.
    private func fetch(
        _ bench: OperationBench, after seconds: Double, _ configure: (CKFetchRecordsOperation) -> Void
    ) async throws -> String {
        let hold = bench.hold(.fetchRecords)
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        configure(operation)
        let trace = Trace()
        operation.fetchRecordsResultBlock = { trace.note(outcome($0)) }
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        bench.database.add(operation)
        try await hold.arrived()
        bench.clock.advance(bySeconds: seconds)
        hold.letGo()
        try await TestThreads.offPool { try done.wait() }
        #expect(trace.all.count == 1)
        return trace.all.first ?? ""
    }

    @Test(
        "[O-10] a request longer than a minute fails as a network failure; its changes on the server stay")
    func request() async throws {
        let bench = try OperationBench()
        #expect(try await fetch(bench, after: 59) { _ in } == "ok")
        #expect(try await fetch(bench, after: 61) { _ in } == "networkFailure")
        #expect(try await fetch(bench, after: 61) { $0.configuration.timeoutIntervalForRequest = 100 } == "ok")
        #expect(try await fetch(bench, after: 5) { $0.configuration.timeoutIntervalForRequest = 4 } == "networkFailure")
        #expect(
            try await fetch(bench, after: 1e6) { $0.configuration.timeoutIntervalForRequest = 0 } == "networkFailure")
    }

    @Test("[O-10] an operation that waits for a thread longer than its time-out ends without being sent")
    func waiting() async throws {
        let bench = try OperationBench(threadCount: 1)
        let hold = bench.hold(.modifyRecords)
        let first = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        first.configuration.timeoutIntervalForRequest = 0
        bench.database.add(first)
        try await hold.arrived()
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("b")])
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        operation.database = bench.database
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        operation.start()
        bench.clock.advance(bySeconds: 61)
        try await TestThreads.offPool { try done.wait() }
        #expect(trace.all == ["networkFailure"])
        hold.letGo()
        await bench.session.activity.untilIdle()
        #expect(try await bench.stored(["a", "b"]) == ["a"])
    }

    @Test("[O-10] the resource time-out is a week, and unlimited for user-initiated work")
    func resource() async throws {
        let week = 7 * 86_400.0
        let configuration = CKOperation.Configuration()
        #expect(configuration.qualityOfService == .default)
        #expect(configuration.timeoutIntervalForRequest == 60)
        #expect(configuration.timeoutIntervalForResource == week)
        for urgency in [QualityOfService.userInteractive, .userInitiated] {
            configuration.qualityOfService = urgency
            #expect(configuration.timeoutIntervalForResource == .infinity)
        }
        configuration.qualityOfService = .background
        #expect(configuration.timeoutIntervalForResource == week)
        let bench = try OperationBench()
        func withoutRequestLimit(_ urgency: QualityOfService) -> (CKFetchRecordsOperation) -> Void {
            { operation in
                operation.configuration.timeoutIntervalForRequest = 0
                operation.qualityOfService = urgency
            }
        }
        #expect(try await fetch(bench, after: week + 1, withoutRequestLimit(.userInitiated)) == "ok")
        #expect(try await fetch(bench, after: week - 1, withoutRequestLimit(.default)) == "ok")
        #expect(try await fetch(bench, after: week + 1, withoutRequestLimit(.default)) == "networkFailure")
    }

    @Test("[O-10] network errors fail at once, and are retried in the background until the time is over")
    func retry() async throws {
        let bench = try OperationBench()
        let remaining = Locked(0)
        bench.interference.intervene { point in
            guard case .request(.fetchRecords, _) = point else { return nil }
            let fails = remaining.withLock { remaining in
                remaining -= 1
                return remaining >= 0
            }
            return fails ? CloudError(.networkUnavailable, "planned") : nil
        }
        func run(_ urgency: QualityOfService, failures: Int, advancing: [Double]) async throws -> [String] {
            remaining.withLock { $0 = failures }
            let trace = Trace()
            let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
            operation.qualityOfService = urgency
            operation.fetchRecordsResultBlock = { trace.note(outcome($0)) }
            bench.database.add(operation)
            for seconds in advancing {
                await bench.session.activity.untilIdle()
                #expect(trace.all.isEmpty)
                bench.clock.advance(bySeconds: seconds)
            }
            await bench.session.activity.untilIdle()
            return trace.all
        }
        #expect(try await run(.default, failures: 1, advancing: []) == ["networkUnavailable"])
        #expect(try await run(.userInitiated, failures: 1, advancing: []) == ["networkUnavailable"])
        #expect(try await run(.utility, failures: 2, advancing: [1, 2]) == ["ok"])
        // The second pause is not over after one second.
        #expect(try await run(.utility, failures: 2, advancing: [1, 1, 1]) == ["ok"])
        #expect(try await run(.background, failures: 2, advancing: [1, 2]) == ["ok"])
        #expect(try await run(.background, failures: .max, advancing: [1, 2, 7 * 86_400]) == ["networkFailure"])
    }

    @Test("[O-10] an error with a retry time is retried exactly then, however often it has been tried")
    func retryAfter() async throws {
        let bench = try OperationBench()
        let pauses = Locked([30.0, 0.5, 90])
        bench.interference.intervene { point in
            guard case .request(.fetchRecords, _) = point else { return nil }
            let pause = pauses.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            return pause.map { CloudError(.networkUnavailable, "planned", retryAfterSeconds: $0) }
        }
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        operation.qualityOfService = .utility
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        bench.database.add(operation)
        for (count, pause) in [30.0, 0.5, 90].enumerated() {
            await bench.session.activity.untilIdle()
            #expect(bench.interference.sent.count == count + 1)
            bench.clock.advance(bySeconds: pause - 0.25)
            await bench.session.activity.untilIdle()
            #expect(
                bench.interference.sent.count == count + 1, "a quarter of a second before the pause of \(pause) s ends")
            bench.clock.advance(bySeconds: 0.25)
        }
        try await TestThreads.offPool { try done.wait() }
        #expect(bench.interference.sent.count == 4)
    }

    @Test("[O-08][O-10] cancelled, or with the session closed, it stops waiting for a retry")
    func cancelledPause() async throws {
        let bench = try OperationBench()
        bench.interference.intervene { _ in CloudError(.networkFailure, "planned") }
        for closes in [false, true] {
            let trace = Trace()
            let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
            operation.qualityOfService = .utility
            operation.fetchRecordsResultBlock = { trace.note(outcome($0)) }
            bench.database.add(operation)
            await bench.session.activity.untilIdle()
            if closes { bench.session.close() } else { operation.cancel() }
            await bench.session.activity.untilIdle()
            #expect(trace.all == [closes ? "networkFailure" : "operationCancelled"])
        }
    }

    @Test("[O-12] an operation's own request time-out takes precedence over its group's, and that over the default")
    func inheritance() async throws {
        let bench = try OperationBench()
        let group = CKOperationGroup()
        group.defaultConfiguration.timeoutIntervalForRequest = 10
        #expect(try await fetch(bench, after: 11) { $0.group = group } == "networkFailure")
        #expect(try await fetch(bench, after: 9) { $0.group = group } == "ok")
        let own = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.configuration.timeoutIntervalForRequest = 60
        }
        #expect(try await fetch(bench, after: 11, own) == "ok")
        // Setting one property does not make the others explicit, nor does reading or copying.
        let other = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            let configuration = CKOperation.Configuration()
            configuration.qualityOfService = .userInitiated
            _ = configuration.timeoutIntervalForRequest
            operation.configuration = configuration
            configuration.timeoutIntervalForRequest = 1_000
        }
        #expect(try await fetch(bench, after: 11, other) == "networkFailure")
        let reset = { (operation: CKFetchRecordsOperation) in
            own(operation)
            operation.configuration = nil
        }
        #expect(try await fetch(bench, after: 11, reset) == "networkFailure")
        #expect(try await fetch(bench, after: 11) { _ in } == "ok")
    }

    @Test("[O-12] an operation's own resource time-out takes precedence over its group's, whatever else it sets")
    func inheritedResourceTime() async throws {
        let bench = try OperationBench()
        let group = CKOperationGroup()
        group.defaultConfiguration.timeoutIntervalForRequest = 0
        group.defaultConfiguration.timeoutIntervalForResource = 100
        #expect(try await fetch(bench, after: 99) { $0.group = group } == "ok")
        #expect(try await fetch(bench, after: 101) { $0.group = group } == "networkFailure")
        let own = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.configuration.timeoutIntervalForResource = 1_000
        }
        #expect(try await fetch(bench, after: 999, own) == "ok")
        #expect(try await fetch(bench, after: 1_001, own) == "networkFailure")
        // The default of this quality of service is no limit.
        let urgent = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.qualityOfService = .userInitiated
        }
        #expect(try await fetch(bench, after: 99, urgent) == "ok")
        #expect(try await fetch(bench, after: 101, urgent) == "networkFailure")
    }

    @Test("[O-12] an operation's own quality of service takes precedence over its group's, and that over the default")
    func inheritedUrgency() async throws {
        let bench = try OperationBench()
        let longerThanAWeek = 7 * 86_400.0 + 1
        let group = CKOperationGroup()
        group.defaultConfiguration.timeoutIntervalForRequest = 0
        #expect(try await fetch(bench, after: longerThanAWeek) { $0.group = group } == "networkFailure")
        group.defaultConfiguration.qualityOfService = .userInitiated
        #expect(try await fetch(bench, after: longerThanAWeek) { $0.group = group } == "ok")
        let own = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.qualityOfService = .default
        }
        #expect(try await fetch(bench, after: longerThanAWeek, own) == "networkFailure")
        let other = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.configuration.allowsCellularAccess = false
        }
        #expect(try await fetch(bench, after: longerThanAWeek, other) == "ok")
    }

    @Test("[O-12] configuredWith gives its operations defaults, below their own values")
    func configured() async throws {
        let bench = try OperationBench()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 10
        for (seconds, expected) in [(9.0, "ok"), (11.0, "networkFailure")] {
            let hold = bench.hold(.fetchZones)
            let result = await bench.database.configuredWith(configuration: configuration) { database in
                let task = Task { try await database.allRecordZones() }
                try? await hold.arrived()
                bench.clock.advance(bySeconds: seconds)
                hold.letGo()
                return await task.result
            }
            #expect(outcome(result) == expected)
        }
        let count = bench.container.configuredWith(configuration: configuration) { container in
            [container.privateCloudDatabase, container.publicCloudDatabase].count
        }
        #expect(count == 2)
    }

    @Test("[O-13] a group is not atomic: one of its operations can fail while the other succeeds")
    func group() async throws {
        let bench = try OperationBench()
        let group = CKOperationGroup()
        group.name = "import"
        for name in ["a", "b"] {
            let zoneID = name == "a" ? CKRecordZone.ID.default : CKRecordZone.ID(zoneName: "Missing")
            let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord(name, in: zoneID)])
            operation.group = group
            await bench.run(operation)
            #expect(operation.group === group)
        }
        #expect(try await bench.stored(["a", "b"]) == ["a"])
    }
}
