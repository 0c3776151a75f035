// Observers of a session, and observers of its shares. Watchers are called when something is new for a device, or when
// an account may have changed; they take nothing, and notifications wait for the listener of their device as usual.
// Sync engines learn of other devices and of accounts through them.
//
// Watchers are called on the thread of the event, and must be quick. Observers of shares are held weakly.

package import StratusCloud
import StratusStore

/// The watchers of devices and accounts in a session.
package final class SessionWatchers: Sendable {
    private struct Watcher: Sendable {
        var device: DeviceAddress?
        let onDevice: @Sendable () -> Void
        let onAccount: @Sendable () -> Void
    }

    private let watchers = Locked<[ObjectIdentifier: Watcher]>([:])

    package init() {}

    /// Adds a watcher of accounts, which watches no device yet.
    package func add(
        _ watcher: ObjectIdentifier, onDevice: @escaping @Sendable () -> Void, onAccount: @escaping @Sendable () -> Void
    ) {
        watchers.withLock { $0[watcher] = Watcher(onDevice: onDevice, onAccount: onAccount) }
    }

    /// Makes a watcher watch a device instead of its previous one; nil for none.
    package func watch(_ device: DeviceAddress?, _ watcher: ObjectIdentifier) {
        watchers.withLock { $0[watcher]?.device = device }
    }

    /// Removes a watcher.
    package func remove(_ watcher: ObjectIdentifier) {
        // Released after the lock.
        _ = watchers.withLock { $0.removeValue(forKey: watcher) }
    }

    /// The devices that are watched.
    var devices: Set<DeviceAddress> { Set(watchers.value.values.compactMap(\.device)) }

    // MARK: Telling

    /// Calls the watchers of these devices.
    func notify(of devices: Set<DeviceAddress>) {
        for watcher in watchers.value.values {
            if let device = watcher.device, devices.contains(device) { watcher.onDevice() }
        }
    }

    /// Calls the watchers of all devices.
    func notifyAllDevices() {
        for watcher in watchers.value.values where watcher.device != nil { watcher.onDevice() }
    }

    /// Calls the watchers of accounts.
    func notifyOfAccounts() {
        for watcher in watchers.value.values { watcher.onAccount() }
    }
}

// Observers of shares.
//

/// Observes shares that are saved and stopped.
protocol ShareObserver: AnyObject, Sendable {
    /// Whether it observes the shares of this caller.
    func observes(_ caller: Caller, in session: CloudSession) -> Bool
    func shareWasSaved(_ recordID: CKRecordID, _ result: Result<CKShare, any Error>)
    func shareWasStopped(_ recordID: CKRecordID, _ result: Result<Void, any Error>)
}

/// The observers of a session.
package final class ShareObservers: Sendable {
    private let objects = Locked<[WeakObject]>([])

    func add(_ observer: any ShareObserver) {
        objects.withLock { objects in
            objects.removeAll { $0.object == nil }
            objects.append(WeakObject(object: observer))
        }
    }

    /// The observers of a caller's shares.
    func observers(of caller: Caller, in session: CloudSession) -> [any ShareObserver] {
        objects.value.compactMap { $0.object as? any ShareObserver }.filter { $0.observes(caller, in: session) }
    }
}
