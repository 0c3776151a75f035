// Compares subscriptions, devices, waiting notifications and the outbox. Reports what disagrees; repairs nothing.

import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// A fault of a subscription or notification.
package typealias SubscriptionFinding = VerifierFinding<SubscriptionFault>

/// What can be wrong with subscriptions and notifications. The place of a finding is the entry's key, as a line.
package enum SubscriptionFault: FindingKind {
    /// A subscription or a device of a user or account that does not exist.
    case ownerless
    /// A notification for a device that does not exist.
    case dangling
    /// A device whose count differs from the number of its waiting notifications.
    case miscounted
    /// An entry that cannot be read.
    case unreadable
    /// A subscription with an identifier that can be guessed (`UUID.withoutRandomness`).
    case predictable
}

extension VerifierFinding<SubscriptionFault> {
    package static func ownerless(_ key: String) -> Self {
        Self(.ownerless, at: key, "\(key) belongs to no existing account")
    }

    package static func dangling(_ key: String) -> Self {
        Self(.dangling, at: key, "\(key) is a device that does not exist, but notifications wait for it")
    }

    package static func miscounted(_ key: String, counted: UInt64, found: UInt64) -> Self {
        Self(.miscounted, at: key, "\(key) counts \(counted) notifications, and \(found) wait")
    }

    package static func unreadable(_ key: String, reason: String) -> Self {
        Self(.unreadable, at: key, "\(key) cannot be read: \(reason)")
    }

    package static func predictable(_ key: String) -> Self {
        Self(.predictable, at: key, "\(key) may have replaced another: save it with a new identifier")
    }
}

/// Verifies subscriptions and notifications of a store.
package struct SubscriptionVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// The verified ranges.
    private static let ranges = [
        GlobalKeys.keyspace(.subscriptions), GlobalKeys.keyspace(.notifications), GlobalKeys.keyspace(.devices),
        GlobalKeys.keyspace(.outbox),
    ]

    /// Compares subscriptions, devices, queues and accounts in one snapshot, and reads the outbox. Keeps none of them
    /// in memory. `progress` gets how many of the entries were checked.
    ///
    /// Throws the errors of reading the store.
    package func verify(
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierReport<SubscriptionFault> {
        try engine.store.confirmed {
            try engine.read(.wholeStore) { reader in
                let total = try Self.ranges.reduce(0) { try $0 + reader.entryCount(in: $1) }
                let check = try SubscriptionCheck(reader, WorkMeter(total: total, progress))
                try check.verifySubscriptions()
                try check.verifyNotifications()
                try check.verifyDevices()
                try check.verifyOutbox()
                check.report.sort()
                return check.report
            }
        }
    }
}

/// One verification of subscriptions and notifications.
private final class SubscriptionCheck {
    private let reader: RecordReader
    private let meter: WorkMeter
    /// The accounts that are being removed.
    private let departing: Set<AccountID>
    /// The users whose names do not lead to their accounts; nil before the first look-up.
    private var unled: Set<UserName>?
    var report: VerifierReport<SubscriptionFault>

    init(_ reader: RecordReader, _ meter: WorkMeter) throws {
        (self.reader, self.meter) = (reader, meter)
        report = VerifierReport(toBeConfirmed: !reader.store.showsOneMoment)
        departing = Set(
            try reader.store.collect(GlobalKeys.keyspace(.departures)) { _, value in
                try AccountIDEntry(decoding: value).account
            })
    }

    func verifySubscriptions() throws {
        try visit(GlobalKeys.keyspace(.subscriptions)) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            _ = try KnownSubscription(parts, SubscriptionEntry(decoding: value))
            return parts
        } judge: { parts, line in
            guard try isKnown(parts.user) else { return .ownerless(line) }
            return UUID.isWithoutRandomness(parts.id) ? .predictable(line) : nil
        }
    }

    /// Checks that every notification has a device. They are in the order of their devices.
    func verifyNotifications() throws {
        var last: [UInt8]?
        try visit(GlobalKeys.keyspace(.notifications)) { key, value in
            let parts = try GlobalKeys.readNotificationKey(key)
            let device = GlobalKeys.device(of: parts.account, parts.device)
            if device != last, try !reader.store.contains(device) {
                report.note(.dangling(KeyDescription.text(of: device)))
            }
            last = device
            _ = try ClientNotification(NotificationEntry(decoding: value))
        }
    }

    func verifyDevices() throws {
        try visit(GlobalKeys.keyspace(.devices)) { key, value in
            (parts: try GlobalKeys.readDeviceKey(key), counted: try DeviceEntry(decoding: value).count)
        } judge: { device, line in
            let (parts, counted) = device
            guard try isKnown(parts.account) else { return .ownerless(line) }
            // The queue of one device has a limit, so it can be counted in one moment.
            return try reader.store.atOneMoment { store in
                var counted = counted
                if !reader.store.showsOneMoment {
                    let entry = try store.withValue(forKey: GlobalKeys.device(of: parts.account, parts.name)) {
                        try DeviceEntry(decoding: $0)
                    }
                    guard let entry else { return nil }
                    counted = entry.count
                }
                var found: UInt64 = 0
                try store.forEach(in: GlobalKeys.notifications(for: parts.account, parts.name)) { _, _ in found += 1 }
                return counted == found ? nil : .miscounted(line, counted: counted, found: found)
            }
        }
    }

    func verifyOutbox() throws {
        try visit(GlobalKeys.keyspace(.outbox)) { key, value in
            _ = try GlobalKeys.readOutboxKey(key)
            _ = try OutboxEntry(decoding: value)
        }
    }

    /// Whether a user has an account, or is being removed.
    private func isKnown(_ user: UserName) throws -> Bool {
        if try reader.account(of: user) != nil || reader.store.contains(GlobalKeys.departure(of: user)) { return true }
        let unled = try self.unled ?? reader.unledUsers()
        self.unled = unled
        return unled.contains(user)
    }

    private func isKnown(_ account: AccountID) throws -> Bool {
        try departing.contains(account) || reader.store.contains(GlobalKeys.account(account))
    }

    /// Visits a range. An entry that cannot be read is a finding; `judge` checks the others. `line` is the key.
    private func visit<Parts>(
        _ range: KeyRange, _ read: (Span<UInt8>, Span<UInt8>) throws -> Parts,
        judge: (_ parts: Parts, _ line: String) throws -> SubscriptionFinding? = { _, _ in nil }
    ) throws {
        try reader.store.forEach(in: range) { key, value in
            meter.add()
            let parts: Parts
            do {
                parts = try read(key, value)
            } catch let error as StoreError where error.isDamagedEntry {
                report.note(.unreadable(KeyDescription.text(of: key), reason: error.message))
                return
            }
            if let found = try judge(parts, KeyDescription.text(of: key)) { report.note(found) }
        }
    }
}
