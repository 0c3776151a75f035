// Passes notifications to the listeners of devices. Notifications without a listener stay with the server.
//
// Two kinds of jobs, each on a thread that clients' blocks are called on, because handlers may wait:
//   delivery   one at a time: has the server move the events that commits recorded to the queues of devices, until
//              none is left, and wakes the drains of the devices that have something new; then, where other hosts may
//              deliver, looks for what they have delivered to this one's devices
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
    /// What is new for these devices, without those that are gone; nil where no other host delivers to them.
    func news(of devices: Set<DeviceAddress>) throws -> [DeviceAddress: DeviceNews]?
}

extension NotificationSource {
    package func news(of devices: Set<DeviceAddress>) throws -> [DeviceAddress: DeviceNews]? { nil }
}

/// Delivers notifications to the listeners of a session.
package final class NotificationHub: Sendable {
    package typealias Handler = @Sendable (ClientNotification) -> Void

    private enum Listener {
        case handler(Handler)
        case claimedWaiter
    }

    /// A task that waits for a notification. The caller that removes it from its inbox resumes it, once.
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<ClientNotification?, Never>
        var isCancelled = false
    }

    private struct Inbox {
        var handler: Handler?
        /// Tasks that wait for a notification, the oldest first.
        var waiters: [Waiter] = []
        /// The task that the drain takes a notification for.
        var claimed: Waiter?
        var isDraining = false
        /// Whether something may have arrived since the drain looked.
        var isKicked = false

        var isIdle: Bool { handler == nil && waiters.isEmpty && !isDraining }
    }

    private struct State {
        var inboxes: [DeviceAddress: Inbox] = [:]
        var lastNumber: UInt64 = 0
        var isDelivering = false
        var isWoken = false
        var isClosed = false
        /// Whether a job has failed and must be tried again.
        var hasFailed = false
        /// What was last found for devices with listeners or watchers.
        var seen: [DeviceAddress: DeviceNews] = [:]
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
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    // A cancellation after this finds the waiter, because it needs the lock.
                    guard !state.isClosed, !Task.isCancelled else { return false }
                    state.inboxes[device, default: Inbox()].waiters.append(
                        Waiter(number: number, continuation: continuation))
                    return true
                }
                if waits { kick(device) } else { continuation.resume(returning: nil) }
            }
        } onCancel: {
            cancel(number, of: device)
        }
    }

    /// Forgets the listeners of devices that are gone. Waiting tasks get nil.
    package func forget(where isGone: @Sendable (DeviceAddress) -> Bool) {
        let waiters = state.withLock { state in
            var waiters: [Waiter] = []
            for (device, inbox) in state.inboxes where isGone(device) {
                waiters += inbox.waiters
                // A running drain finds no listener.
                state.inboxes[device] = inbox.isDraining ? Inbox(claimed: inbox.claimed, isDraining: true) : nil
                state.inboxes[device]?.claimed?.isCancelled = true
            }
            return waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
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
            return !exchange(&state.isDelivering, with: true)
        }
        guard begins else { return }
        start({ hub in hub.deliver() }, orElse: { $0.isDelivering = false })
    }

    private func deliver() {
        while beginDelivery() {
            var isRetried = state.withLock { exchange(&$0.hasFailed, with: false) }
            do {
                var delivered: Set<DeviceAddress> = []
                while let devices = try source?.deliverNotifications(), !devices.isEmpty {
                    for device in devices { kick(device) }
                    watchers.notify(of: devices)
                    delivered.formUnion(devices)
                }
                try lookForNews(except: delivered)
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

    /// Finds what other hosts have delivered to devices of this one, and which devices are gone: taking notifications
    /// for those forgets them. A device that was not looked at before counts as new if something waits for it.
    private func lookForNews(except delivered: Set<DeviceAddress>) throws {
        let devices = watchers.devices.union(state.withLock { $0.inboxes.keys })
        guard !devices.isEmpty, let news = try source?.news(of: devices) else { return }
        let changed = state.withLock { state in
            defer { state.seen = news }
            return Set(
                news.filter { device, found in
                    state.seen[device].map { $0.next != found.next } ?? found.isWaiting
                }.keys
            ).subtracting(delivered)
        }
        let gone = devices.filter { news[$0] == nil }
        for device in changed.union(gone) { kick(device) }
        watchers.notify(of: changed)
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
            switch listener {
            case .handler(let handler): if let taken { handler(taken) }
            case .claimedWaiter: settleClaim(of: device, with: taken)
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
                } else if !inbox.waiters.isEmpty {
                    inbox.claimed = inbox.waiters.removeFirst()
                    listener = .claimedWaiter
                }
            }
            if listener == nil { inbox.isDraining = false }
            state.inboxes[device] = inbox.isIdle ? nil : inbox
            return listener
        }
    }

    /// Resumes the claimed task. If nothing came it waits again, unless it was cancelled meanwhile.
    private func settleClaim(of device: DeviceAddress, with taken: ClientNotification?) {
        let waiter = state.withLock { state -> Waiter? in
            guard let waiter = state.inboxes[device]?.claimed.take() else { return nil }
            if taken != nil || waiter.isCancelled { return waiter }
            state.inboxes[device]?.waiters.insert(waiter, at: 0)
            return nil
        }
        waiter?.continuation.resume(returning: taken)
    }

    /// Ends the wait of a task; if the task is claimed, as soon as nothing has come.
    private func cancel(_ number: UInt64, of device: DeviceAddress) {
        let waiter = state.withLock { state -> Waiter? in
            if state.inboxes[device]?.claimed?.number == number { state.inboxes[device]?.claimed?.isCancelled = true }
            guard let index = state.inboxes[device]?.waiters.firstIndex(where: { $0.number == number }) else {
                return nil
            }
            defer { if state.inboxes[device]?.isIdle == true { state.inboxes[device] = nil } }
            return state.inboxes[device]?.waiters.remove(at: index)
        }
        waiter?.continuation.resume(returning: nil)
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
