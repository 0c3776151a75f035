// Whether subscriptions, devices, what waits for them and what commits have left behind agree. Finds; mends nothing.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// Something about subscriptions and notifications that is not as it should be.
package enum SubscriptionFinding: Hashable, Sendable, CustomStringConvertible {
    /// A subscription or a device of somebody who has no account.
    case ownerless(String)
    /// A notification for a device that is not there.
    case dangling(String)
    /// A device for which another number of notifications waits than it counts.
    case miscounted(String, counted: UInt64, found: UInt64)
    /// What cannot be read.
    case unreadable(String, reason: String)

    /// The key, as a line.
    package var place: String {
        switch self {
        case .ownerless(let key), .dangling(let key), .miscounted(let key, _, _), .unreadable(let key, _): key
        }
    }

    package var description: String {
        switch self {
        case .ownerless(let key): "\(key) belongs to nobody who has an account"
        case .dangling(let key): "\(key) waits for a device that is not there"
        case .miscounted(let key, let counted, let found): "\(key) counts \(counted) notifications, and \(found) wait"
        case .unreadable(let key, let reason): "\(key) cannot be read: \(reason)"
        }
    }
}

/// Verifies subscriptions and notifications of a store.
package struct SubscriptionVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// Everything that is gone over, once.
    private static let ranges = [
        GlobalKeys.accounts, GlobalKeys.departures, GlobalKeys.subscriptions, GlobalKeys.notifications,
        GlobalKeys.devices, GlobalKeys.outbox,
    ]

    /// Compares subscriptions, devices, queues and accounts in one snapshot, and reads the outbox. `progress` is told how
    /// many of their entries were looked at.
    ///
    /// Throws what reading the store throws.
    package func findings(progress: @escaping WorkMeter.Listener = { _, _ in }) throws -> [SubscriptionFinding] {
        try engine.read { reader in
            var findings: [SubscriptionFinding] = []
            let meter = WorkMeter(
                total: try Self.ranges.reduce(0) { try $0 + reader.entryCount(in: $1) }, progress)
            let (accounts, users) = try people(in: reader, meter)
            try visit(GlobalKeys.subscriptions, in: reader, meter, &findings) { key, value in
                let parts = try GlobalKeys.readSubscriptionKey(key)
                _ = try KnownSubscription(parts, SubscriptionEntry(decoding: value))
                return users.contains(parts.user) ? nil : .ownerless(KeyDescription.text(of: key))
            }
            var counts: [[UInt8]: UInt64] = [:]
            try visit(GlobalKeys.notifications, in: reader, meter, &findings) { key, value in
                let parts = try GlobalKeys.readNotificationKey(key)
                counts[GlobalKeys.device(of: parts.account, parts.device), default: 0] += 1
                _ = try ClientNotification(NotificationEntry(decoding: value))
                return nil
            }
            try visit(GlobalKeys.devices, in: reader, meter, &findings) { key, value in
                let (account, line) = (try GlobalKeys.readDeviceKey(key).account, KeyDescription.text(of: key))
                let found = counts.removeValue(forKey: [UInt8](copying: key)) ?? 0
                guard accounts.contains(account) else { return .ownerless(line) }
                let counted = try DeviceEntry(decoding: value).count
                return counted == found ? nil : .miscounted(line, counted: counted, found: found)
            }
            findings += counts.keys.map { .dangling("\(KeyDescription($0))") }
            try visit(GlobalKeys.outbox, in: reader, meter, &findings) { key, value in
                _ = try GlobalKeys.readOutboxKey(key)
                _ = try OutboxEntry(decoding: value)
                return nil
            }
            return findings.sorted { "\($0)" < "\($1)" }
        }
    }

    /// Everybody who has an account, and whoever is being removed.
    private func people(
        in reader: RecordReader, _ meter: WorkMeter
    ) throws -> (accounts: Set<AccountID>, users: Set<UserName>) {
        var accounts: Set<AccountID> = []
        var users: Set<UserName> = []
        try reader.store.scan(GlobalKeys.accounts.keyRange) { key, value in
            accounts.insert(try GlobalKeys.readAccountKey(key))
            users.insert(try AccountEntry(decoding: value).userName)
            meter.add()
            return .next
        }
        try reader.store.scan(GlobalKeys.departures.keyRange) { key, value in
            users.insert(try GlobalKeys.readDepartureKey(key))
            accounts.insert(try DepartureEntry(decoding: value).account)
            meter.add()
            return .next
        }
        return (accounts, users)
    }

    private func visit(
        _ range: LayoutRange, in reader: RecordReader, _ meter: WorkMeter, _ findings: inout [SubscriptionFinding],
        _ finding: (Span<UInt8>, Span<UInt8>) throws -> SubscriptionFinding?
    ) throws {
        try reader.store.scan(range.keyRange) { key, value in
            meter.add()
            do {
                if let found = try finding(key, value) { findings.append(found) }
            } catch let error as LayoutError {
                findings.append(.unreadable(KeyDescription.text(of: key), reason: error.message))
            } catch let error as RecordsError {
                findings.append(.unreadable(KeyDescription.text(of: key), reason: error.message))
            }
            return .next
        }
    }
}
