// What one engine does, one thing after the other.
//
// Invariants:
//   1. A job begins when all before it have ended, also where it or they were cancelled.
//   2. A job counts as under way in the session from when it is added until it ends, so that who waits for the session
//      waits for engines (`Stratus.settle`).
//   3. A job of the engine's own inherits nothing of the task that has asked for it but the store that was meant: that
//      task may be a callback of the delegate's, which must not seem to last longer than it does.

import StratusStore

/// A serial queue of asynchronous jobs.
final class SyncQueue: Sendable {
    typealias Job = Task<Void, any Error>

    private struct State {
        var last: Job?
        /// Jobs that have not ended.
        var open: [UInt64: Job] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())
    /// What was current when the engine was made.
    private let taskSession = CurrentSession.ofTask

    /// Adds a job that the program waits for: it has the priority and the values of the program's task.
    func add(in session: CloudSession, _ body: @escaping @Sendable () async throws -> Void) -> Job {
        add(session, body) { Task(operation: $0) }
    }

    /// Adds a job of the engine's own.
    @discardableResult
    func addOwn(in session: CloudSession, _ body: @escaping @Sendable () async throws -> Void) -> Job {
        let taskSession = taskSession
        let meant: @Sendable () async throws -> Void = {
            try await CurrentSession.$ofTask.withValue(taskSession) { try await body() }
        }
        return add(session, meant) { Task.detached(operation: $0) }
    }

    private func add(
        _ session: CloudSession, _ body: @escaping @Sendable () async throws -> Void,
        start: @Sendable (@escaping @Sendable () async throws -> Void) -> Job
    ) -> Job {
        session.activity.begin()
        return state.withLock { state in
            state.lastNumber += 1
            let (number, previous) = (state.lastNumber, state.last)
            let job = start { [self] in
                defer {
                    end(number)
                    session.activity.end()
                }
                _ = await previous?.result
                try await body()
            }
            state.open[number] = job
            state.last = job
            return job
        }
    }

    private func end(_ number: UInt64) {
        // Let go of after the lock.
        _ = state.withLock { $0.open.removeValue(forKey: number) }
    }

    /// Cancels all jobs that have not ended, and returns them.
    @discardableResult
    func cancelAll() -> [Job] {
        let jobs = state.withLock { Array($0.open.values) }
        for job in jobs { job.cancel() }
        return jobs
    }
}
