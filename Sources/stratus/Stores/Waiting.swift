// How the tool waits while the store is behind with its own work.

import CFileTree

enum Waiting {
    private static let milliseconds: Int32 = 20

    /// Sleeps for a moment.
    static func aLittle() { cfiletree_sleep(milliseconds) }
}
