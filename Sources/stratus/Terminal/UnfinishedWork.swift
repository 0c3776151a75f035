// What a verb makes on a disk before it is whole, and takes away again where a signal ends it first.
//
// Invariant: nothing is taken away that has got its name. The directory is renamed before anything in it is removed, which
// fails where the verb was faster; and the verb, which may be at work in it on its own thread, finds it gone as a whole.

import CFileTree
import Foundation

enum UnfinishedWork {
    private static let attemptCount = 10
    private static let pauseMilliseconds: Int32 = 20

    /// The directory of a verb's own is removed before a signal ends the process.
    static func removeAtEnd(_ path: String) {
        Interruption.beforeEnd { _ = remove(path) }
    }

    /// The same for the file that a verb was asked for, which is told.
    static func removeFileAtEnd(_ path: String) {
        Interruption.beforeEnd {
            if (try? FileManager.default.removeItem(atPath: path)) != nil { tell(path) }
        }
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
        var isRemoved = false
        for _ in 0..<attemptCount {
            guard (try? FileManager.default.moveItem(atPath: path, toPath: aside)) != nil else { break }
            isRemoved = (try? FileManager.default.removeItem(atPath: aside)) != nil
            // A verb that is just opening what is gone may have made it anew.
            cfiletree_sleep(pauseMilliseconds)
        }
        return isRemoved
    }
}
