// Requests outside operations, sent by tasks that are cancelled, and by tasks with time-outs.

import Foundation
import StratusCloud
import StratusKit
import Synchronization
import Testing

@Suite struct CancelledQuestionTests {
    private func codeOfFailure<Value: Sendable>(_ task: Task<Value, any Error>) async -> CKError.Code? {
        do {
            _ = try await task.value
            return nil
        } catch { return (error as? CKError)?.code }
    }

    @Test("[O-08] a task that is cancelled while the server works on its request ends at once")
    func underWay() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.accountStatus)
        let container = bench.container
        let task = Task { try await container.accountStatus() }
        try await hold.arrived()
        task.cancel()
        // The server still holds the request: only the cancellation can have ended the task.
        #expect(await codeOfFailure(task) == .operationCancelled)
        hold.letGo()
        await bench.session.activity.untilIdle()
    }

    @Test("[O-08] a request that waits for a thread is withdrawn when its task is cancelled")
    func waiting() async throws {
        let bench = try OperationBench(threadCount: 1)
        let hold = bench.hold(.accountStatus)
        let container = bench.container
        let first = Task { try await container.accountStatus() }
        try await hold.arrived()
        let second = Task { try await container.userRecordID() }
        second.cancel()
        #expect(await codeOfFailure(second) == .operationCancelled)
        hold.letGo()
        #expect(try await first.value == .available)
        await bench.session.activity.untilIdle()
        #expect(bench.interference.sent == [.accountStatus])
    }

    @Test("[O-08] a task that was cancelled before its request sends nothing")
    func before() async throws {
        let bench = try OperationBench()
        let container = bench.container
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await container.userRecordID()
        }
        task.cancel()
        #expect(await codeOfFailure(task) == .operationCancelled)
        await bench.session.activity.untilIdle()
        #expect(bench.interference.sent.isEmpty)
    }

    @Test("a handler that asks again each time does not keep the store from closing")
    func asksAgain() async throws {
        let store = try await Stratus.inMemory()
        let account = try await store.account(externalID: "alice", createIfMissing: .init())
        let container = store.container("iCloud.example", signedInAs: account)
        let state = Mutex((askedCount: 0, isClosed: false))
        @Sendable func ask() {
            container.accountStatus { _, _ in
                // With a bound, so that a store that waits for these handlers fails the test instead of hanging it.
                let asksAgain = state.withLock { state in
                    state.askedCount += 1
                    return !state.isClosed && state.askedCount < 100_000
                }
                if asksAgain { ask() }
            }
        }
        ask()
        await store.close()
        let askedCount = state.withLock { state in
            state.isClosed = true
            return state.askedCount
        }
        #expect(askedCount < 100_000)
    }

    @Test("[O-12] requests have the time-outs of `configuredWith`, or of its group, or else a minute")
    func time() async throws {
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 5
        let group = CKOperationGroup()
        group.defaultConfiguration.timeoutIntervalForResource = 7
        let cases: [(CKOperation.Configuration?, CKOperationGroup?, Double)] = [
            (configuration, nil, 6), (nil, group, 8), (nil, nil, 61),
        ]
        for (configuration, group, seconds) in cases {
            let bench = try OperationBench()
            let hold = bench.hold(.accountStatus)
            let container = bench.container
            let task = Task {
                try await container.configuredWith(configuration: configuration, group: group) {
                    try await $0.accountStatus()
                }
            }
            try await hold.arrived()
            bench.clock.advance(bySeconds: seconds - 2)
            #expect(bench.session.timers.count == 1)
            bench.clock.advance(bySeconds: 2)
            // The server still holds the request.
            #expect(await codeOfFailure(task) == .networkFailure)
            hold.letGo()
            await bench.session.activity.untilIdle()
            #expect(bench.session.timers.count == 0)
        }
    }

    @Test("[O-12] a request that waits for a thread longer than its time-out is not sent")
    func waitingTooLong() async throws {
        let bench = try OperationBench(threadCount: 1)
        let hold = bench.hold(.accountStatus)
        let container = bench.container
        let first = Task {
            try await container.configuredWith(configuration: .endless) { try await $0.accountStatus() }
        }
        try await hold.arrived()
        let second = Task { try await container.userRecordID() }
        while bench.session.timers.count == 0 { await Task.yield() }
        bench.clock.advance(bySeconds: 61)
        #expect(await codeOfFailure(second) == .networkFailure)
        hold.letGo()
        #expect(try await first.value == .available)
        await bench.session.activity.untilIdle()
        #expect(bench.interference.sent == [.accountStatus])
    }
}

extension CKOperation.Configuration {
    fileprivate static var endless: CKOperation.Configuration {
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 0
        return configuration
    }
}
