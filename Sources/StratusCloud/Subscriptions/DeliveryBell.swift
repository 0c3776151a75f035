// Rings when there is something to deliver or to fetch, and is heard when a request is answered: the host is told outside of
// everything that the store holds.

import StratusStore
import Synchronization

/// What the host has still to be told of deliveries.
package final class DeliveryBell: Sendable {
    private let isRung = Atomic(false)
    /// Devices that got something while the server delivered for its own sake.
    private let devices = Locked(Set<DeviceAddress>())

    package init() {}

    func ring() { isRung.store(true, ordering: .releasing) }

    /// Whether it has rung since it was asked last.
    func hasRung() -> Bool {
        // Mostly it has not: looking costs less than exchanging.
        isRung.load(ordering: .acquiring) && isRung.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Keeps devices until somebody asks which have something new.
    func keep(_ found: Set<DeviceAddress>) {
        guard !found.isEmpty else { return }
        devices.withLock { $0.formUnion(found) }
        ring()
    }

    func takeDevices() -> Set<DeviceAddress> {
        devices.withLock { devices in
            defer { devices = [] }
            return devices
        }
    }
}
