// How a server tells the hub of its session, which is made after it, that there is something to deliver.
//
// Invariant: the hub refers to the server, and so is not kept alive from here.

import StratusStore

/// Wakes a hub.
final class NotificationBell: Sendable {
    private struct Ear: Sendable {
        weak var hub: NotificationHub?
    }

    private let ear = Locked(Ear())

    /// Sets whom to wake.
    func attach(_ hub: NotificationHub) { ear.withLock { $0.hub = hub } }

    /// Wakes the hub. Before there is one nothing happens: a hub is woken when it is made.
    func ring() { ear.value.hub?.wake() }
}
