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
