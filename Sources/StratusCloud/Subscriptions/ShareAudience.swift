// Whether anybody hears of what happened in shares: those who see them and have subscribed to their shared databases. Who is
// told in the end is decided when it is delivered; this keeps commits of which nobody would be told from leaving anything.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

struct ShareAudience {
    /// People who are asked for in one commit. Where none of them listens, somebody behind them may.
    private static let lookCount = 64

    let directory: SubscriptionDirectory
    let zone: ZoneReader
    let transaction: RecordTransaction

    /// The news that somebody may hear of. To be asked when the plan has been carried out.
    func heard(of news: [SharedNews]) throws -> [SharedNews] {
        var left = Self.lookCount
        return try news.filter { news in
            guard let users = try news.users ?? viewers(of: news.share) else { return true }
            for user in users {
                guard left > 0 else { return true }
                left -= 1
                if try directory.listensToShared(user, in: zone.id.database.container, transaction) { return true }
            }
            return false
        }
    }

    /// Who sees a share, but for its owner; nil where what is stored of it cannot be read: whoever delivers says so.
    private func viewers(of share: RecordName) throws -> [UserName]? {
        do {
            guard let content = try zone.record(share)?.record.shareContent() else { return [] }
            return content.viewers.subtracting([zone.id.database.owner].compactMap { $0 }).sorted()
        } catch let error as RecordsError {
            guard error.code == .corruption else { throw error }
            return nil
        } catch is LayoutError {
            return nil
        }
    }
}

// Rings when there is something to deliver or to fetch, and is heard when a request is answered: the host is told outside of
// everything that the store holds.

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
