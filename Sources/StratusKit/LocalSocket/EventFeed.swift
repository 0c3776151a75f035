// The events of a host for other processes that watch it over its socket.
//
// Invariants:
//   1. Sending an event costs the host the same whether or not a watcher reads: it waits for no watcher.
//   2. The feed keeps a limited number of events that a watcher has not taken. Beyond it the oldest are lost, and the
//      watcher gets their number.

package import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// An event as watchers get it. `Stratus.Event` explains the properties.
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
    /// The event without secrets. A secret follows `base` in the URL of a share.
    init(_ event: CloudEvent, at date: Date, hiding base: String) {
        self.init(
            date: date, operation: event.kind.rawValue, container: event.caller.container.text,
            account: event.caller.account?.text, itemCount: event.itemCount, failedItemCount: event.failedItemCount,
            conflictCount: event.conflictCount, commitCount: event.commitCount,
            durationSeconds: event.durationSeconds, errorCode: event.error?.code.rawValue,
            error: event.error.map { Self.text($0.description, hiding: base) })
    }

    /// The secret is the text between the base and the end of the URL.
    static func text(_ text: String, hiding base: String) -> String {
        guard !base.isEmpty else { return text }
        let parts = text.components(separatedBy: base)
        let rest = parts.dropFirst().map { part in
            "…" + part.drop { $0.isLetter || $0.isNumber || "-_".contains($0) }
        }
        return ([parts[0]] + rest).joined(separator: base)
    }
}

/// The events since the watcher's last call.
package struct WatchedEvents: Codable, Hashable, Sendable {
    package var events: [WatchedEvent] = []
    /// How many events were lost before these because the watcher was slower than the host.
    package var lostCount = 0
    /// Whether the host is closing the store: no more events follow.
    package var isLast = false
}

/// The watchers of one store.
final class EventFeed: Sendable {
    let watchers = Locked<[ObjectIdentifier: EventWatcher]>([:])

    /// Whether anyone watches. If not, callers need not create events.
    var isWatched: Bool { watchers.withLock { !$0.isEmpty } }

    func tell(_ event: WatchedEvent) {
        for watcher in watchers.withLock({ Array($0.values) }) { watcher.tell(event) }
    }

    /// Ends the waiting of every current watcher.
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

/// The events that one watcher has not taken yet.
final class EventWatcher: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.

    /// How many events are kept for a watcher: about a megabyte.
    static let eventCount = 4_096
    /// How many events one frame contains at most.
    private static let batchCount = 512

    let condition = TimedCondition()
    private var waiting: [WatchedEvent] = []
    /// The events before this index were taken.
    private var taken = 0
    /// How many events were lost since the last `take`.
    private(set) var lostCount = 0
    private var isWoken = false

    /// From now on, `take` does not wait.
    func wake() {
        condition.change { isWoken = true }
    }

    func tell(_ event: WatchedEvent) {
        condition.lock()
        waiting.append(event)
        if waiting.count - taken > Self.eventCount {
            taken += 1
            lostCount += 1
        }
        // Moves the rest to the front, once per `eventCount` events.
        if taken > Self.eventCount {
            waiting.removeFirst(taken)
            taken = 0
        }
        condition.signal()
        condition.unlock()
    }

    /// The events since the last call. Empty if there are none within this time, or before `wake`.
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
