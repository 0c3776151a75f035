// How the tool waits while the store is behind with its own work.

import CSystem

enum Waiting {
    private static let milliseconds: Int32 = 20

    /// Sleeps for a moment.
    static func aLittle() { cfiletree_sleep(milliseconds) }

    /// Sleeps for so long, to the millisecond.
    static func seconds(_ count: Double) { cfiletree_sleep(Int32(clamping: Int64((count * 1_000).rounded()))) }
}
