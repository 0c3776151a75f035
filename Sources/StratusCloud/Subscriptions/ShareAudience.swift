// Whether the news of shares have recipients, and the signal to the host that there is something to deliver.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

extension SubscriptionDirectory {
    /// People who are looked up in one commit. If none of them has subscribed, one of the others may have.
    private static let lookCount = 64

    /// Filters the news of shares: keeps those that a person may get who sees the share and has subscribed to their
    /// shared database. Delivery determines the actual recipients; this only prevents entries without any. Call it
    /// after applying the plan.
    func heard(
        of news: [SharedNews], in zone: ZoneReader, _ transaction: RecordTransaction
    ) throws -> [SharedNews] {
        var left = Self.lookCount
        return try news.filter { news in
            guard let users = try news.users ?? viewers(of: news.share, in: zone) else { return true }
            for user in users {
                guard left > 0 else { return true }
                left -= 1
                if try listensToShared(user, in: zone.id.database.container, transaction) { return true }
            }
            return false
        }
    }

    /// The people who see a share, except its owner; nil if its content cannot be read, which delivery reports.
    private func viewers(of share: RecordName, in zone: ZoneReader) throws -> [UserName]? {
        try StoreError.unlessDamaged {
            guard let content = try zone.record(share)?.record.shareContent() else { return [] }
            return content.viewers.subtracting([zone.id.database.owner].compactMap { $0 }).sorted()
        }
    }
}

/// Rings when there is something to deliver or to fetch. The server checks it after each request, and calls the host
/// while it holds no locks or snapshots.
package final class DeliveryBell: Sendable {
    private let isRung = Atomic(false)
    /// Devices that got notifications in deliveries by the server itself.
    private let devices = Locked(Set<DeviceAddress>())

    func ring() { isRung.store(true, ordering: .releasing) }

    /// Whether it has rung since the last call.
    func hasRung() -> Bool {
        // Mostly it has not, and loading costs less than exchanging.
        isRung.load(ordering: .acquiring) && isRung.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Keeps devices until the next `takeDevices`.
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
