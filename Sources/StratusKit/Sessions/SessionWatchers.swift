// Who looks on while things happen in a session, without taking anything: a notification waits for the listener of its
// device all the same. Sync engines hear of other devices, and of accounts, by it.
//
// They are called on the thread on which it happens, and must be quick.

package import StratusCloud
import StratusStore

/// Those who are told when something is new for a device, or an account may have changed.
package final class SessionWatchers: Sendable {
    private struct Watcher: Sendable {
        var device: DeviceAddress?
        var onDevice: (@Sendable () -> Void)?
        var onAccount: (@Sendable () -> Void)?
    }

    private let watchers = Locked<[ObjectIdentifier: Watcher]>([:])

    package init() {}

    /// Tells somebody of accounts from now on.
    package func watchAccounts(_ watcher: ObjectIdentifier, _ onAccount: @escaping @Sendable () -> Void) {
        change(watcher) { $0.onAccount = onAccount }
    }

    /// Tells somebody of a device from now on, in the stead of the one before; of none for nil.
    package func watch(
        _ device: DeviceAddress?, _ watcher: ObjectIdentifier, _ onDevice: @escaping @Sendable () -> Void
    ) {
        change(watcher) { ($0.device, $0.onDevice) = (device, onDevice) }
    }

    /// Tells somebody nothing any more.
    package func remove(_ watcher: ObjectIdentifier) {
        // Let go of after the lock.
        _ = watchers.withLock { $0.removeValue(forKey: watcher) }
    }

    private func change(_ watcher: ObjectIdentifier, _ body: @Sendable (inout Watcher) -> Void) {
        _ = watchers.withLock { watchers in
            var changed = watchers[watcher] ?? Watcher()
            body(&changed)
            return watchers.updateValue(changed, forKey: watcher)
        }
    }

    // MARK: Telling

    /// Something new is there for these devices.
    func tell(of devices: Set<DeviceAddress>) {
        for watcher in watchers.value.values {
            if let device = watcher.device, devices.contains(device) { watcher.onDevice?() }
        }
    }

    /// Something new may be there for any device.
    func tellOfAllDevices() {
        for watcher in watchers.value.values where watcher.device != nil { watcher.onDevice?() }
    }

    /// An account may have changed.
    func tellOfAccounts() {
        for watcher in watchers.value.values { watcher.onAccount?() }
    }
}

// Who wants to hear of shares that are saved and stopped in a session.
//
// Invariant: observers are held weakly: one that is gone hears nothing.

/// Hears of shares.
protocol ShareObserver: AnyObject, Sendable {
    /// Whether what this caller does is its business.
    func observes(_ caller: Caller, in session: CloudSession) -> Bool
    func shareWasSaved(_ recordID: CKRecordID, _ result: Result<CKShare, any Error>)
    func shareWasStopped(_ recordID: CKRecordID, _ result: Result<Void, any Error>)
}

/// The observers of a session.
package final class ShareObservers: Sendable {
    private struct Box: Sendable {
        weak var observer: (any ShareObserver)?
    }

    private let boxes = Locked<[Box]>([])

    func add(_ observer: any ShareObserver) {
        boxes.withLock { boxes in
            boxes.removeAll { $0.observer == nil }
            boxes.append(Box(observer: observer))
        }
    }

    /// Those who want to hear of what a caller does.
    func observers(of caller: Caller, in session: CloudSession) -> [any ShareObserver] {
        boxes.value.compactMap(\.observer).filter { $0.observes(caller, in: session) }
    }
}
