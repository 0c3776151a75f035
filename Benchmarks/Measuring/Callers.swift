// Threads that save at once, and work beside them. The stores block their callers, so every caller is a thread.

import Foundation
import StratusModel
import StratusWorkloads
import Synchronization

enum Callers {
    /// Runs `body` on `count` threads, `timesEach` times on each, and returns how many times a second that was.
    ///
    /// Throws the first error of any of them.
    static func rate(
        _ count: Int, timesEach: Int, _ body: @escaping @Sendable (_ number: Int) throws -> Void
    ) throws -> Double {
        let failure = SharedFailure()
        let done = DispatchGroup()
        let start = DispatchSemaphore(value: 0)
        for caller in 0..<count {
            done.enter()
            Thread.detachNewThread {
                defer { done.leave() }
                start.wait()
                do {
                    for time in 0..<timesEach { try body(caller * timesEach + time) }
                } catch {
                    failure.note(error)
                }
            }
        }
        let seconds = Stopwatch.seconds {
            for _ in 0..<count { start.signal() }
            done.wait()
        }
        try failure.check()
        return Double(count * timesEach) / seconds
    }
}

/// Work on a thread of its own.
final class ThreadedWork<Outcome: Sendable>: Sendable {
    private let outcome = Mutex<Result<Outcome, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Outcome) {
        Thread.detachNewThread { [self] in
            let result = Result { try body() }
            outcome.withLock { $0 = result }
        }
    }

    var isOver: Bool { outcome.withLock { $0 != nil } }

    func wait() { while !isOver { usleep(1_000) } }

    func result() throws -> Outcome {
        guard let outcome = outcome.withLock({ $0 }) else { throw PeerError("The work is not over.") }
        return try outcome.get()
    }
}

/// Saves single records, one after the other, until it is stopped.
final class Saver: Sendable {
    private let stratus: StratusSide
    private let zone: ZoneID
    private let count = Atomic(0)
    private let mustStop = Atomic(false)
    private let failure = SharedFailure()
    private let done = DispatchSemaphore(value: 0)

    init(_ stratus: StratusSide, _ zone: ZoneID) {
        self.stratus = stratus
        self.zone = zone
    }

    func start() {
        Thread.detachNewThread { [self] in
            let numbers = NumberSource()
            do {
                while !mustStop.load(ordering: .relaxed) {
                    try stratus.save([numbers.next().record], in: zone)
                    count.add(1, ordering: .relaxed)
                }
            } catch {
                failure.note(error)
            }
            done.signal()
        }
    }

    /// Saves a second over the next `seconds`.
    func rate(_ seconds: Double) throws -> Double {
        let start = ContinuousClock.now
        let before = count.load(ordering: .relaxed)
        usleep(UInt32(seconds * 1e6))
        try failure.check()
        return Double(count.load(ordering: .relaxed) - before) / start.duration(to: .now).inSeconds
    }

    func stop() {
        mustStop.store(true, ordering: .relaxed)
        done.wait()
    }
}
