// Threads that save at once. The stores block their callers, so every caller is a thread.

import Foundation
import StratusWorkloads

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
