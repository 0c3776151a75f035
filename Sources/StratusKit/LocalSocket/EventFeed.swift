// What happens in a host, told to whoever watches it over the socket.
//
// Invariants:
//   1. Telling costs the host the same whether or not a watcher reads: nobody is waited for.
//   2. What a watcher has not taken is kept up to a number; beyond it the oldest are lost, and the watcher is told how many.

package import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// An event as it is told. `Stratus.Event` says what the properties mean.
package struct WatchedEvent: Codable, Hashable, Sendable {
    /// When the request was answered, by the store's wall clock.
    package var date: Date
    package var operation: String
    package var container: String
    package var account: String?
    package var itemCount: Int
    package var failedItemCount: Int
    package var conflictCount: Int
    package var commitCount: Int
    package var durationSeconds: Double
    package var errorCode: Int?
    /// The error's description, without secrets.
    package var error: String?
}

extension WatchedEvent {
    /// The event without the secrets behind `base`, with which the URLs of shares begin.
    init(_ event: CloudEvent, at date: Date, hiding base: String) {
        self.init(
            date: date, operation: event.kind.rawValue, container: event.caller.container.text,
            account: event.caller.account?.text, itemCount: event.itemCount, failedItemCount: event.failedItemCount,
            conflictCount: event.conflictCount, commitCount: event.commitCount,
            durationSeconds: event.durationSeconds, errorCode: event.error?.code.rawValue,
            error: event.error.map { Self.text($0.description, hiding: base) })
    }

    /// What follows the base up to the end of the URL is the secret.
    static func text(_ text: String, hiding base: String) -> String {
        guard !base.isEmpty else { return text }
        let parts = text.components(separatedBy: base)
        let rest = parts.dropFirst().map { part in
            "…" + part.drop { $0.isLetter || $0.isNumber || "-_".contains($0) }
        }
        return ([parts[0]] + rest).joined(separator: base)
    }
}

/// What has happened since a watcher was told last.
package struct WatchedEvents: Codable, Hashable, Sendable {
    package var events: [WatchedEvent] = []
    /// How many events were lost before these, because the watcher was slower than the host.
    package var lostCount = 0
    /// Whether the host closes the store: nothing more comes.
    package var isLast = false
}

/// The watchers of one store.
final class EventFeed: Sendable {
    let watchers = Locked<[ObjectIdentifier: EventWatcher]>([:])

    /// Whether anybody watches: who does not ask need not make events.
    var isWatched: Bool { watchers.withLock { !$0.isEmpty } }

    func tell(_ event: WatchedEvent) {
        for watcher in watchers.withLock({ Array($0.values) }) { watcher.tell(event) }
    }

    /// Has nobody who watches now wait any longer for what may happen.
    func wake() {
        for watcher in watchers.withLock({ Array($0.values) }) { watcher.wake() }
    }

    func add() -> EventWatcher {
        let watcher = EventWatcher()
        watchers.withLock { $0[ObjectIdentifier(watcher)] = watcher }
        return watcher
    }

    func remove(_ watcher: EventWatcher) {
        watchers.withLock { $0[ObjectIdentifier(watcher)] = nil }
    }
}

/// What one watcher has still to be told.
final class EventWatcher: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.

    /// So many events are kept for a watcher: about a megabyte.
    static let eventCount = 4_096
    /// So many are told in one frame.
    private static let batchCount = 512

    let condition = TimedCondition()
    private var waiting: [WatchedEvent] = []
    /// The events before this index were taken.
    private var taken = 0
    /// How many events are lost that no `take` has told of.
    private(set) var lostCount = 0
    private var isWoken = false

    /// From here on `take` waits for nothing.
    func wake() {
        condition.lock()
        isWoken = true
        condition.signal()
        condition.unlock()
    }

    func tell(_ event: WatchedEvent) {
        condition.lock()
        waiting.append(event)
        if waiting.count - taken > Self.eventCount {
            taken += 1
            lostCount += 1
        }
        // Moves what is left to the front once for as many events as there may be.
        if taken > Self.eventCount {
            waiting.removeFirst(taken)
            taken = 0
        }
        condition.signal()
        condition.unlock()
    }

    /// What has happened since; empty where nothing has within so many seconds, or by the time it is woken.
    func take(waitingAtMost seconds: Double) -> WatchedEvents {
        condition.lock()
        defer { condition.unlock() }
        let end = TimedCondition.now + seconds
        while waiting.count == taken, !isWoken, condition.wait(until: end) {}
        let batch = waiting[taken..<min(waiting.count, taken + Self.batchCount)]
        let events = WatchedEvents(events: Array(batch), lostCount: lostCount)
        taken += batch.count
        lostCount = 0
        if taken == waiting.count {
            waiting.removeAll(keepingCapacity: false)
            taken = 0
        }
        return events
    }
}
