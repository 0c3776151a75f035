// Copies that were handed out and that no object of a client's stands for any more. A client may still know the path of
// one, so that it lies there for a while longer; what no client was told the path of goes at once.
//
// What waits here is not bounded by a number: each entry is for a file, which takes more room than its entry.

import StratusStore

/// The copies of one session that wait to be removed.
final class ReleasedCopies: Sendable {
    private struct Copy {
        let path: String
        let isDueAtUptimeSeconds: Double
    }

    private let clock: any CloudClock
    /// Nil where copies stay until the next session begins.
    private let waitSeconds: Double?
    /// In the order in which they are due, but for the order of threads.
    private let waiting = Locked<[Copy]>([])
    /// Those that nobody knows of.
    private let unseen = Locked<[String]>([])

    init(clock: any CloudClock, waitSeconds: Double?) {
        self.clock = clock
        self.waitSeconds = waitSeconds
    }

    func add(_ paths: [String], unseen unseenPaths: [String]) {
        if !unseenPaths.isEmpty { unseen.withLock { $0 += unseenPaths } }
        guard let waitSeconds, !paths.isEmpty else { return }
        let due = clock.uptimeSeconds + waitSeconds
        waiting.withLock { waiting in
            for path in paths { waiting.append(Copy(path: path, isDueAtUptimeSeconds: due)) }
        }
    }

    /// Those that have waited long enough, or need not, which wait no longer.
    func takeDue() -> [String] {
        let now = clock.uptimeSeconds
        let unseen = unseen.withLock { unseen in
            defer { unseen = [] }
            return unseen
        }
        let due = waiting.withLock { waiting in
            let due = waiting.prefix { $0.isDueAtUptimeSeconds <= now }.map(\.path)
            waiting.removeFirst(due.count)
            return due
        }
        return unseen + due
    }
}
