// What a verb makes on a disk before it is whole, and takes away again where a signal ends it first.
//
// Invariants:
//   1. Nothing is taken away that has got its name, or is whole. A directory is renamed before anything in it is removed,
//      which fails where the verb was faster; and the verb, which may be at work in it on its own thread, finds it gone as a
//      whole.
//   2. What was taken away is not made anew before the process ends: verbs make such directories and files by
//      `Interruption.making` alone, and LevelDB makes no directory.

import CFileTree
import Foundation
import Synchronization

enum UnfinishedWork {
    private static let attemptCount = 50
    private static let pauseMilliseconds: Int32 = 20

    /// The directory of a verb's own is removed before a signal ends the process.
    static func removeAtEnd(_ path: String) {
        Interruption.beforeEnd { _ = remove(path) }
    }

    /// The same for the file that a verb was asked for, which is told. What is returned is to be called when the file is
    /// whole: from then on it stays.
    static func removeFileAtEnd(_ path: String) -> () -> Void {
        let isWhole = Mutex(false)
        Interruption.beforeEnd {
            guard !isWhole.withLock({ $0 }) else { return }
            if (try? FileManager.default.removeItem(atPath: path)) != nil { tell(path) }
        }
        return { Interruption.making { isWhole.withLock { $0 = true } } }
    }

    /// The same for copies of stores, which get their names when they are complete and until then are called
    /// "<destination>.incomplete-<process>-<number>". Those of other processes stay. It is told, unless the copy was
    /// complete.
    static func removeCopiesAtEnd(of destination: String) {
        let place = URL(fileURLWithPath: AbsolutePath.of(destination)).standardizedFileURL
        let folder = place.deletingLastPathComponent().path
        let prefix = "\(place.lastPathComponent).incomplete-\(ProcessInfo.processInfo.processIdentifier)-"
        Interruption.beforeEnd {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            var isRemoved = false
            for name in names where name.hasPrefix(prefix) {
                if remove("\(folder)/\(name)") { isRemoved = true }
            }
            if isRemoved { tell(destination) }
        }
    }

    private static func tell(_ path: String) {
        Console.noteOfSignal(
            "interrupted: nothing is left of \(VisibleText.of(path)); run the same again to begin anew")
    }

    /// Returns whether something was there, and is gone.
    private static func remove(_ path: String) -> Bool {
        let aside = "\(path)-interrupted"
        guard (try? FileManager.default.moveItem(atPath: path, toPath: aside)) != nil else { return false }
        for _ in 0..<attemptCount {
            if (try? FileManager.default.removeItem(atPath: aside)) != nil { return true }
            // The verb may have been about to make a file there when the directory was renamed.
            cfiletree_sleep(pauseMilliseconds)
        }
        return false
    }
}
