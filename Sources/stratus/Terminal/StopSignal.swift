// Signals that end the tool: SIGINT, SIGTERM and SIGHUP.
//
// A store survives any end of the process, so a signal may end a verb at any time. A verb can choose to stop at safe
// points and say where it stopped. Before the process ends, it removes its temporary files and unfinished copies.

import CStratusSystem
import Foundation
import Synchronization

enum StopSignal {
    private struct State {
        var isWatching = false
        var stopsAtSafePoints = false
        var isQuiet = false
        var isRequested = false
        var isEnding = false
        var cleanUps: [@Sendable () -> Void] = []
    }

    private static let state = Mutex(State())
    /// Held while a temporary file is created, and permanently once the process is ending.
    private static let making = Mutex(())

    /// From now on, the first signal only asks the verb to stop at its next `safePoint`; the second ends the process at
    /// once. For verbs whose work can be continued later.
    static func stopAtSafePoints() {
        watch()
        state.withLock { $0.stopsAtSafePoints = true }
    }

    /// Does the same without a note, for a verb that only watches and stops soon.
    static func stopQuietly() {
        stopAtSafePoints()
        state.withLock { $0.isQuiet = true }
    }

    /// From now on, signals end the process at once, which is the default.
    static func stopAtOnce() {
        state.withLock { $0.stopsAtSafePoints = false }
    }

    /// Whether the verb was asked to stop.
    static var isRequested: Bool { state.withLock { $0.isRequested } }

    /// Throws `interrupted` if the verb was asked to stop. Call it where finished work is kept.
    static func safePoint() throws(ToolError) {
        if isRequested { throw interrupted }
    }

    /// The error of a verb that has stopped at a safe point.
    static let interrupted = ToolError(
        .interrupted, "Interrupted; finished work is kept. Run the same command again to continue.")

    /// Runs `cleanUp` before a signal ends the process, on another thread than the verb's.
    static func beforeEnd(_ cleanUp: @escaping @Sendable () -> Void) {
        watch()
        state.withLock { $0.cleanUps.append(cleanUp) }
    }

    /// Runs `body`. If a signal ends the process meanwhile, writes a note first.
    static func noting<Result>(_ text: String, while body: () throws -> Result) rethrows -> Result {
        let isRunning = Mutex(true)
        beforeEnd {
            if isRunning.withLock({ $0 }) { Console.noteOfSignal(text) }
        }
        defer { isRunning.withLock { $0 = false } }
        return try body()
    }

    /// Says that a signal ended the verb and its unfinished result was removed.
    static func noteRemoval(of path: String) {
        Console.noteOfSignal(
            "interrupted: nothing is left of \(VisibleText.of(path)); run the same command again to start over")
    }

    /// Creates something that a signal must remove. `body` creates it and calls `beforeEnd`, unless that was called
    /// before; signals wait for `body`. Never returns while a signal is ending the process, so that nothing is created
    /// after the clean-up. `body` may take long, for example to open a store, but must not wait for another caller of
    /// `making`.
    static func making<Result>(_ body: () throws -> Result) rethrows -> Result {
        watch()
        return try making.withLock { _ in try body() }
    }

    /// Never returns while a signal is ending the process. Call it after an error: the clean-up may have caused it.
    static func waitIfEnding() {
        while state.withLock({ $0.isEnding }) { cfiletree_sleep(20) }
    }

    /// Ends the process by `body`, unless a signal is ending it already.
    static func unlessEnding(_ body: () -> Never) -> Never {
        making.withLock { _ -> Never in body() }
    }

    /// Ends the process silently, as SIGPIPE does.
    static func endByBrokenPipe() -> Never { end(by: SIGPIPE) }

    // MARK: Helpers

    private static func watch() {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        let descriptor = cfiletree_catch_signals()
        // Without a pipe, signals end the process at once, and the next run removes its temporary files.
        guard descriptor >= 0 else { return }
        let thread = Thread {
            var byte: [UInt8] = [0]
            while let count = try? Disk.fill(&byte, { cfiletree_read(descriptor, &$0) }), count == 1 {
                take(Int32(byte[0]))
            }
        }
        thread.name = "signals"
        thread.start()
    }

    private static func take(_ signal: Int32) {
        let isFirstRequest = state.withLock { state in
            defer { state.isRequested = true }
            return state.stopsAtSafePoints && !state.isRequested
        }
        guard isFirstRequest else { end(by: signal) }
        if state.withLock({ $0.isQuiet }) { return }
        Console.noteOfSignal("stopping at the next safe point; interrupt again to end at once")
    }

    private static func end(by signal: Int32) -> Never {
        making.withLock { _ -> Never in
            let cleanUps = state.withLock { state in
                state.isEnding = true
                return state.cleanUps
            }
            for cleanUp in cleanUps { cleanUp() }
            cfiletree_end_by_signal(signal)
            // Not reached.
            exit(128 + signal)
        }
    }
}
