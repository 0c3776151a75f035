// What a verb makes on a disk before it is whole, and removes again where a signal ends it first. Files are drafts of their own
// (`DraftFile`).
//
// Invariants:
//   1. Nothing is removed that has got its name, or is whole. A directory is renamed before anything in it is removed, which
//      fails where the verb was faster; and the verb, which may be at work in it on its own thread, finds it gone as a whole.
//   2. What was removed is not made again before the process ends: verbs make such directories and files by
//      `Interruption.making` alone, and LevelDB makes no directory.
//   3. Where the process is killed meanwhile, the name that is left is one that the next verb knows as an unfinished copy's.

import CSystem
import Foundation

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
        Interruption.beforeEnd {
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
