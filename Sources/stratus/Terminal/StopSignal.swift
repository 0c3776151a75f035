// Signals that end the tool: SIGINT, SIGTERM and SIGHUP.
//
// A store survives any end of the process, so a signal may end a verb at any time. A verb can choose to stop at safe
// points and say where it stopped. Before the process ends, it removes its temporary files and unfinished copies.

import CSystem
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
        making.withLock { _ -> Never in cleanUpAndEnd(by: signal) }
    }

    private static func cleanUpAndEnd(by signal: Int32) -> Never {
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

/// Unfinished copies of stores, which a signal removes. Files are removed by `DraftFile`.
///
/// Invariants:
///   1. A copy that has its final name, or is complete, is never removed. A directory is renamed before anything in it
///      is removed; the renaming fails if the verb was faster, and a verb that still writes finds the whole directory
///      gone.
///   2. A removed directory is not created again before the process ends: verbs create such directories only inside
///      `StopSignal.making`, and LevelDB creates no directories.
///   3. If the process is killed meanwhile, the remaining name is one that the next verb recognises as an unfinished
///      copy.
enum UnfinishedWork {
    private static let attemptCount = 50
    private static let pauseMilliseconds: Int32 = 20

    /// How to remove an unfinished copy of a store.
    struct Removal: Sendable {
        /// Appended to the name before the removal.
        var suffix: String
        /// Returns whether the copy is gone.
        var remove: @Sendable (_ path: String) -> Bool
    }

    /// Removes unfinished copies of this process before a signal ends it. They are called
    /// "<destination>.incomplete-<process>-<number>". Writes a note if it removes one.
    static func removeCopiesAtEnd(of destination: String, by removal: Removal) {
        let place = URL(fileURLWithPath: AbsolutePath.of(destination)).standardizedFileURL
        let folder = place.deletingLastPathComponent().path
        let prefix = "\(place.lastPathComponent).incomplete-\(ProcessInfo.processInfo.processIdentifier)-"
        StopSignal.beforeEnd {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            var isRemoved = false
            for name in names where name.hasPrefix(prefix) && !name.hasSuffix(removal.suffix) {
                if remove("\(folder)/\(name)", by: removal) { isRemoved = true }
            }
            if isRemoved { noteRemoval(of: destination) }
        }
    }

    /// Says that a signal ended the verb and its unfinished result was removed.
    static func noteRemoval(of path: String) {
        Console.noteOfSignal(
            "interrupted: nothing is left of \(VisibleText.of(path)); run the same command again to start over")
    }

    /// Returns whether the copy existed and is gone.
    private static func remove(_ path: String, by removal: Removal) -> Bool {
        let aside = path + removal.suffix
        let (from, to) = (Array(path.utf8), Array(aside.utf8))
        guard cfiletree_rename(from.span, to.span) == 0 else { return false }
        for _ in 0..<attemptCount {
            if removal.remove(aside) { return true }
            // The verb may have been creating a file when the directory was renamed.
            cfiletree_sleep(pauseMilliseconds)
        }
        return false
    }
}
