// Questions that are no operations, asked by tasks that are cancelled.

import Foundation
import StratusCloud
import StratusKit
import Testing

@Suite struct CancelledQuestionTests {
    private func codeOfFailure<Value: Sendable>(_ task: Task<Value, any Error>) async -> CKError.Code? {
        do {
            _ = try await task.value
            return nil
        } catch { return (error as? CKError)?.code }
    }

    @Test("[O-08] a task that is cancelled while the server works on its question ends at once")
    func underWay() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.accountStatus)
        let container = bench.container
        let task = Task { try await container.accountStatus() }
        try await hold.arrived()
        task.cancel()
        // The server still holds the question: only the cancelling can have ended the task.
        #expect(await codeOfFailure(task) == .operationCancelled)
        hold.letGo()
        await bench.session.activity.untilIdle()
    }

    @Test("[O-08] a question that waits for a thread is taken back when its task is cancelled")
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

    @Test("[O-08] a task that was cancelled before it asks asks nothing")
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
}
