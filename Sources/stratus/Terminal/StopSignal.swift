// What happens when a person or the system ends the tool by a signal.
//
// A store outlives every end of its process, so that a signal may end a verb at any time. What a verb can say of is where
// it stopped, when it was asked to stop and did so at a place of its own; and what the tool has made for itself alone is
// taken away before it ends.

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
    /// Held while something is made that is to be taken away, and from the end on.
    private static let making = Mutex(())

    /// From here on the first SIGINT, SIGTERM or SIGHUP only asks the verb to stop, which it does where it calls
    /// `safePoint`; the second ends the process at once. For verbs whose work can be taken up again.
    static func stopAtSafePoints() {
        watch()
        state.withLock { $0.stopsAtSafePoints = true }
    }

    /// The same for a verb that merely looks on: it ends at once, and nothing is said of it.
    static func stopQuietly() {
        stopAtSafePoints()
        state.withLock { $0.isQuiet = true }
    }

    /// From here on signals end the process at once, as they do unless a verb says otherwise.
    static func stopAtOnce() {
        state.withLock { $0.stopsAtSafePoints = false }
    }

    /// Whether the verb was asked to stop.
    static var isRequested: Bool { state.withLock { $0.isRequested } }

    /// A place where the verb can stop, and what is done stays.
    ///
    /// Throws `interrupted` where it was asked to.
    static func safePoint() throws(ToolError) {
        if isRequested { throw toGoOn }
    }

    /// What a verb says that has stopped at such a place.
    static let toGoOn = ToolError(.interrupted, "Interrupted; what is done stays: run the same again to go on.")

    /// Has `cleanUp` done before a signal ends the process, on another thread than the verb's.
    static func beforeEnd(_ cleanUp: @escaping @Sendable () -> Void) {
        watch()
        state.withLock { $0.cleanUps.append(cleanUp) }
    }

    /// Makes something, and has it taken away before a signal ends the process: `body` calls `beforeEnd`, where it was not
    /// called before, and no signal ends the process in between. Never returns where a signal is ending the process, so that
    /// nothing is made behind what is taken away. Signals wait for `body`. It may take its time, as where a store is opened and
    /// an account committed, but wait for nobody who needs `making`.
    static func making<Result>(_ body: () throws -> Result) rethrows -> Result {
        watch()
        return try making.withLock { _ in try body() }
    }

    /// Never returns where a signal is ending the process: what then fails, fails because it is taken away.
    static func waitIfEnding() {
        while state.withLock({ $0.isEnding }) { cfiletree_sleep(20) }
    }

    /// Ends the process by `body`; where a signal is ending it already, that does, when everything is taken away and told.
    static func unlessEnding(_ body: () -> Never) -> Never {
        making.withLock { _ -> Never in body() }
    }

    /// Ends the process as a pipe's writer ends whom nobody reads: without a word.
    static func endByBrokenPipe() -> Never { end(by: SIGPIPE) }

    // MARK: Helpers

    private static func watch() {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        let descriptor = cfiletree_catch_signals()
        // Without a pipe signals end the process as they always did, and the next run takes away what is left.
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
        Console.noteOfSignal("stopping where the work can be taken up again; once more to end at once")
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
        // Nobody comes here.
        exit(128 + signal)
    }
}

// What a verb makes on a disk before it is whole, and removes again where a signal ends it first. Files are drafts of their own
// (`DraftFile`).
//
// Invariants:
//   1. Nothing is removed that has got its name, or is whole. A directory is renamed before anything in it is removed, which
//      fails where the verb was faster; and the verb, which may be at work in it on its own thread, finds it gone as a whole.
//   2. What was removed is not made again before the process ends: verbs make such directories and files by
//      `StopSignal.making` alone, and LevelDB makes no directory.
//   3. Where the process is killed meanwhile, the name that is left is one that the next verb knows as an unfinished copy's.

enum UnfinishedWork {
    private static let attemptCount = 50
    private static let pauseMilliseconds: Int32 = 20

    /// How copies of stores are removed that nobody works on any more.
    struct Removal: Sendable {
        /// Follows the name of one that is about to be removed.
        var suffix: String
        /// Returns whether it is gone.
        var remove: @Sendable (_ path: String) -> Bool
    }

    /// Copies of stores, which get their names when they are complete and until then are called
    /// "<destination>.incomplete-<process>-<number>", are removed before a signal ends the process. Those of other processes
    /// stay. A note says so, unless the copy was complete.
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
            if isRemoved { tell(destination) }
        }
    }

    /// Says that a signal has ended a verb, and nothing is left of what it was asked to make.
    static func tell(_ path: String) {
        Console.noteOfSignal(
            "interrupted: nothing is left of \(VisibleText.of(path)); run the same again to begin anew")
    }

    /// Returns whether something was there, and is gone.
    private static func remove(_ path: String, by removal: Removal) -> Bool {
        let aside = path + removal.suffix
        let (from, to) = (Array(path.utf8), Array(aside.utf8))
        guard cfiletree_rename(from.span, to.span) == 0 else { return false }
        for _ in 0..<attemptCount {
            if removal.remove(aside) { return true }
            // The verb may have been about to make a file there when the directory was renamed.
            cfiletree_sleep(pauseMilliseconds)
        }
        return false
    }
}
