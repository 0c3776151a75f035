// Passes notifications to the listeners of devices. Notifications without a listener stay with the server.
//
// Two kinds of jobs, each on a thread that clients' blocks are called on, because handlers may wait:
//   delivery   one at a time: has the server move the events that commits recorded to the queues of devices, until
//              none is left, and wakes the drains of the devices that have something new
//   drain      one at a time for each device: takes a notification from the server and passes it to the device's
//              listener, until there is no notification or no listener
//
// Invariants:
//   1. A notification is taken from the server only for a present listener. A waiting task is claimed first; from then
//      on a cancellation ends its wait only after the answer is known. So no notification is taken and lost.
//   2. A requested job begins, or the running one looks again: a wake-up is never lost.
//   3. Jobs count as under way in the session; a listener that waits does not.
//   4. A failure ends its job. The next wake-up starts it again, for every device with a listener.

package import StratusCloud
import StratusModel
import StratusStore

/// Where notifications come from.
package protocol NotificationSource: Sendable {
    /// Moves a batch of the events that commits recorded to the queues of devices. Returns the devices that have
    /// something new; none when nothing is left.
    func deliverNotifications() throws -> Set<DeviceAddress>
    /// Takes the oldest notifications of a device. They are gone from the store before this returns. Throws
    /// `unknownItem` for a device that is gone.
    func takeNotifications(for device: DeviceAddress, limit: Int) throws -> [ClientNotification]
    /// Registers a device for notifications. A known device stays as it is.
    func registerDevice(_ device: DeviceAddress) throws
}

extension NotificationSource {
    package func registerDevice(_ device: DeviceAddress) throws {}
}

/// Delivers notifications to the listeners of a session.
package final class NotificationHub: Sendable {
    package typealias Handler = @Sendable (ClientNotification) -> Void

    private enum Listener {
        case handler(Handler)
        case waiter(NotificationWaiter)
    }

    private struct Inbox {
        var handler: Handler?
        /// Tasks that wait for a notification, the oldest first.
        var waiters: [NotificationWaiter] = []
        /// The task that a notification is, or was last, taken for.
        var claimed: NotificationWaiter?
        var isDraining = false
        /// Whether something may have arrived since the drain looked.
        var isKicked = false

        var isIdle: Bool { handler == nil && waiters.isEmpty && !isDraining }
    }

    private struct State {
        var inboxes: [DeviceAddress: Inbox] = [:]
        var isDelivering = false
        var isWoken = false
        var isClosed = false
        /// Whether a job has failed and must be tried again.
        var hasFailed = false
    }

    /// Nil if the session has no store.
    private let source: (any NotificationSource)?
    private let activity: SessionActivity
    private let pool: BlockingPool
    private let onFailure: @Sendable (any Error) -> Void
    private let state = Locked(State())
    /// The watchers of the session.
    package let watchers = SessionWatchers()

    package init(
        source: (any NotificationSource)?, activity: SessionActivity, pool: BlockingPool,
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        self.source = source
        self.activity = activity
        self.pool = pool
        self.onFailure = onFailure
    }

    // MARK: Listening

    /// The handler of a device's notifications.
    package func handler(of device: DeviceAddress) -> Handler? { state.withLock { $0.inboxes[device]?.handler } }

    /// Sets the handler of a device's notifications; nil for none. It gets those that wait first.
    package func setHandler(_ handler: Handler?, of device: DeviceAddress) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.inboxes[device, default: Inbox()].handler = handler
            if state.inboxes[device]?.isIdle == true { state.inboxes[device] = nil }
        }
        kick(device)
    }

    /// Waits for a notification of a device. Returns nil when the task is cancelled, and when the device or the session
    /// ends.
    package func next(for device: DeviceAddress) async -> ClientNotification? {
        let waiter = NotificationWaiter()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard waiter.wait(continuation) else { return }
                let isClosed = state.withLock { state in
                    guard !state.isClosed else { return true }
                    state.inboxes[device, default: Inbox()].waiters.removeAll { $0.isOver }
                    state.inboxes[device, default: Inbox()].waiters.append(waiter)
                    return false
                }
                if isClosed { waiter.cancel() } else { kick(device) }
            }
        } onCancel: {
            waiter.cancel()
        }
    }

    /// Forgets the listeners of devices that are gone. Waiting tasks get nil.
    package func forget(where isGone: @Sendable (DeviceAddress) -> Bool) {
        let waiters = state.withLock { state in
            var waiters: [NotificationWaiter] = []
            for (device, inbox) in state.inboxes where isGone(device) {
                waiters += inbox.waiters + [inbox.claimed].compactMap { $0 }
                // A running drain finds no listener.
                state.inboxes[device] = inbox.isDraining ? Inbox(isDraining: true) : nil
            }
            return waiters
        }
        for waiter in waiters { waiter.cancel() }
    }

    /// Closes the hub: it delivers nothing more, and waiting tasks get nil.
    package func close() {
        state.withLock { $0.isClosed = true }
        forget { _ in true }
    }

    /// Registers a device for notifications. Blocks its thread. Throws what the source throws.
    package func register(_ device: DeviceAddress) throws { try source?.registerDevice(device) }

    // MARK: Delivering

    /// Starts a delivery, if there may be something to deliver. Returns at once: another thread does it.
    package func wake() {
        guard source != nil else { return }
        let begins = state.withLock { state in
            guard !state.isClosed else { return false }
            state.isWoken = true
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        guard begins else { return }
        start({ hub in hub.deliver() }, orElse: { $0.isDelivering = false })
    }

    private func deliver() {
        while beginDelivery() {
            var isRetried = state.withLock { state in
                defer { state.hasFailed = false }
                return state.hasFailed
            }
            do {
                while let devices = try source?.deliverNotifications(), !devices.isEmpty {
                    for device in devices { kick(device) }
                    watchers.notify(of: devices)
                }
            } catch {
                // Deliveries before the failure may concern any device.
                isRetried = true
                report(error)
            }
            if isRetried {
                for device in state.withLock({ Array($0.inboxes.keys) }) { kick(device) }
                watchers.notifyAllDevices()
            }
        }
    }

    private func beginDelivery() -> Bool {
        state.withLock { state in
            if !state.isWoken || state.isClosed { state.isDelivering = false }
            defer { state.isWoken = false }
            return state.isDelivering
        }
    }

    /// Starts a drain, if there may be something for a device.
    private func kick(_ device: DeviceAddress) {
        guard source != nil else { return }
        let begins = state.withLock { state in
            guard !state.isClosed, let inbox = state.inboxes[device], !inbox.isIdle else { return false }
            state.inboxes[device]?.isKicked = true
            state.inboxes[device]?.isDraining = true
            return !inbox.isDraining
        }
        guard begins else { return }
        start({ hub in hub.drain(device) }, orElse: { $0.inboxes[device]?.isDraining = false })
    }

    private func drain(_ device: DeviceAddress) {
        while let listener = claimListener(of: device) {
            var taken: ClientNotification?
            do {
                taken = try source?.takeNotifications(for: device, limit: 1).first
            } catch {
                let isGone = (error as? CloudError)?.code == .unknownItem
                if isGone { forget { $0 == device } } else { report(error) }
            }
            switch (listener, taken) {
            case (.handler(let handler), let notification?): handler(notification)
            case (.waiter(let waiter), let notification?): waiter.resume(notification)
            case (.waiter(let waiter), nil): putBack(waiter, device)
            case (.handler, nil): break
            }
            // There may be more.
            if taken != nil { state.withLock { $0.inboxes[device]?.isKicked = true } }
        }
    }

    /// The listener for the device's next notification; nil when there is no listener or nothing to take, and the drain
    /// is over.
    private func claimListener(of device: DeviceAddress) -> Listener? {
        state.withLock { state in
            guard var inbox = state.inboxes[device] else { return nil }
            var listener: Listener?
            if inbox.isKicked, !state.isClosed {
                inbox.isKicked = false
                if let handler = inbox.handler {
                    listener = .handler(handler)
                } else {
                    while listener == nil, !inbox.waiters.isEmpty {
                        let waiter = inbox.waiters.removeFirst()
                        guard waiter.claim() else { continue }
                        inbox.claimed = waiter
                        listener = .waiter(waiter)
                    }
                }
            }
            if listener == nil { inbox.isDraining = false }
            state.inboxes[device] = inbox.isIdle ? nil : inbox
            return listener
        }
    }

    /// Lets a waiter wait again because nothing came.
    private func putBack(_ waiter: NotificationWaiter, _ device: DeviceAddress) {
        guard waiter.release() else { return }
        let isGone = state.withLock { state in
            guard !state.isClosed, state.inboxes[device] != nil else { return true }
            state.inboxes[device]?.waiters.insert(waiter, at: 0)
            return false
        }
        if isGone { waiter.cancel() }
    }

    // MARK: Helpers

    private func start(
        _ body: @escaping @Sendable (NotificationHub) -> Void, orElse undo: @Sendable (inout State) -> Void
    ) {
        activity.begin()
        do {
            try pool.submit { [self] in
                body(self)
                activity.end()
            }
        } catch {
            // No thread is available. What waits is safe, and the next wake-up tries again.
            state.withLock { undo(&$0) }
            activity.end()
        }
    }

    /// A store that was closed during a job is not a failure.
    private func report(_ error: any Error) {
        let isClosed = state.withLock { state in
            state.hasFailed = true
            return state.isClosed
        }
        if !isClosed { onFailure(error) }
    }
}

// A task that waits for a notification. It may be cancelled at any time, but must keep waiting while one is taken for
// it.
//
// Invariant: the continuation is resumed once, by the call that takes it out of the state.

/// A task that waits for a notification.
final class NotificationWaiter: Sendable {
    typealias Continuation = CheckedContinuation<ClientNotification?, Never>

    private struct State {
        var continuation: Continuation?
        var isClaimed = false
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Begins to wait. Returns false if the task was cancelled before; the continuation was resumed then.
    func wait(_ continuation: Continuation) -> Bool {
        let waits = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return !state.isCancelled
        }
        if !waits { continuation.resume(returning: nil) }
        return waits
    }

    /// Whether the task no longer waits.
    var isOver: Bool { state.withLock { $0.continuation == nil } }

    /// Claims the task for a notification. Returns false if it no longer waits.
    func claim() -> Bool {
        state.withLock { state in
            state.isClaimed = state.continuation != nil
            return state.isClaimed
        }
    }

    /// Ends the claim because nothing came. Returns false if the task no longer waits, because it was cancelled
    /// meanwhile.
    func release() -> Bool {
        let (continuation, waits) = state.withLock { state in
            state.isClaimed = false
            guard state.isCancelled else { return (Continuation?.none, state.continuation != nil) }
            defer { state.continuation = nil }
            return (state.continuation, false)
        }
        continuation?.resume(returning: nil)
        return waits
    }

    /// Resumes the task with the notification.
    func resume(_ notification: ClientNotification) {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: notification)
    }

    /// Ends the wait; if the task is claimed, as soon as nothing has come.
    func cancel() {
        let continuation = state.withLock { state in
            state.isCancelled = true
            guard !state.isClaimed else { return Continuation?.none }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: nil)
    }
}

// How a server wakes the hub of its session, which is created after it.
//
// Invariant: the reference is weak, because the hub refers to the server.

/// Wakes a hub.
final class NotificationBell: Sendable {
    private struct Ear: Sendable {
        weak var hub: NotificationHub?
    }

    private let ear = Locked(Ear())

    /// Sets the hub to wake.
    func attach(_ hub: NotificationHub) { ear.withLock { $0.hub = hub } }

    /// Wakes the hub. Does nothing before it is attached: a hub is woken when it is created.
    func ring() { ear.value.hub?.wake() }
}
