// Whether subscriptions, devices, what waits for them and what commits have left behind agree. Finds; mends nothing.

import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// Something about subscriptions and notifications that is not as it should be.
package enum SubscriptionFinding: VerifierFinding {
    /// A subscription or a device of somebody who has no account.
    case ownerless(String)
    /// A notification for a device that is not there.
    case dangling(String)
    /// A device for which another number of notifications waits than it counts.
    case miscounted(String, counted: UInt64, found: UInt64)
    /// What cannot be read.
    case unreadable(String, reason: String)
    /// A subscription under the name that everybody can guess (`UUID.withoutRandomness`).
    case predictable(String)

    /// What is wrong, without what it is wrong with.
    package enum Kind: Hashable, Sendable {
        case ownerless
        case dangling
        case miscounted
        case unreadable
        case predictable
    }

    package var kind: Kind {
        switch self {
        case .ownerless: .ownerless
        case .dangling: .dangling
        case .miscounted: .miscounted
        case .unreadable: .unreadable
        case .predictable: .predictable
        }
    }

    /// The key, as a line.
    package var place: String {
        switch self {
        case .ownerless(let key), .dangling(let key), .miscounted(let key, _, _), .unreadable(let key, _),
            .predictable(let key):
            key
        }
    }

    package var description: String {
        switch self {
        case .ownerless(let key): "\(key) belongs to nobody who has an account"
        case .dangling(let key): "\(key) waits for a device that is not there"
        case .miscounted(let key, let counted, let found): "\(key) counts \(counted) notifications, and \(found) wait"
        case .unreadable(let key, let reason): "\(key) cannot be read: \(reason)"
        case .predictable(let key): "\(key) may have taken the place of another: save it under a new name"
        }
    }
}

/// Verifies subscriptions and notifications of a store.
package struct SubscriptionVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// Everything that is gone over, once.
    private static let ranges = [
        GlobalKeys.subscriptions, GlobalKeys.notifications, GlobalKeys.devices, GlobalKeys.outbox,
    ]

    /// The first findings of each kind of `verify`.
    package func findings() throws -> [SubscriptionFinding] { try verify().kept }

    /// Compares subscriptions, devices, queues and accounts in one snapshot, and reads the outbox. Nothing of them is kept
    /// in memory. `progress` is told how many of the entries were looked at.
    ///
    /// Throws what reading the store throws.
    package func verify(
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierFindings<SubscriptionFinding> {
        try engine.read { reader in
            let total = try Self.ranges.reduce(0) { try $0 + reader.entryCount(in: $1) }
            let check = try SubscriptionCheck(reader, WorkMeter(total: total, progress))
            try check.verifySubscriptions()
            try check.verifyNotifications()
            try check.verifyDevices()
            try check.verifyOutbox()
            check.findings.sort()
            return check.findings
        }
    }
}

/// One verification of subscriptions and notifications.
private final class SubscriptionCheck {
    private let reader: RecordReader
    private let meter: WorkMeter
    /// The accounts that are being removed; a departure is there as long as that takes.
    private let departing: Set<AccountID>
    /// Those to whose account their user name does not lead; nil before anybody asks.
    private var unled: Set<UserName>?
    var findings = VerifierFindings<SubscriptionFinding>()

    init(_ reader: RecordReader, _ meter: WorkMeter) throws {
        (self.reader, self.meter) = (reader, meter)
        var departing: Set<AccountID> = []
        try reader.store.scan(GlobalKeys.departures.keyRange) { _, value in
            departing.insert(try DepartureEntry(decoding: value).account)
            return .next
        }
        self.departing = departing
    }

    func verifySubscriptions() throws {
        try visit(GlobalKeys.subscriptions) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            _ = try KnownSubscription(parts, SubscriptionEntry(decoding: value))
            return parts
        } judge: { parts, line in
            guard try isKnown(parts.user) else { return .ownerless(line) }
            return UUID.isWithoutRandomness(parts.id) ? .predictable(line) : nil
        }
    }

    /// Every notification waits for a device. They lie in the order of the devices they are for.
    func verifyNotifications() throws {
        var last: [UInt8]?
        try visit(GlobalKeys.notifications) { key, value in
            let parts = try GlobalKeys.readNotificationKey(key)
            let device = GlobalKeys.device(of: parts.account, parts.device)
            if device != last, try !reader.store.contains(device) {
                findings.note(.dangling("\(KeyDescription(device))"))
            }
            last = device
            _ = try ClientNotification(NotificationEntry(decoding: value))
        }
    }

    func verifyDevices() throws {
        try visit(GlobalKeys.devices) { key, value in
            (parts: try GlobalKeys.readDeviceKey(key), counted: try DeviceEntry(decoding: value).count)
        } judge: { device, line in
            let (parts, counted) = device
            guard try isKnown(parts.account) else { return .ownerless(line) }
            let found = try reader.entryCount(in: GlobalKeys.notifications(for: parts.account, parts.name))
            return counted == found ? nil : .miscounted(line, counted: counted, found: UInt64(found))
        }
    }

    func verifyOutbox() throws {
        try visit(GlobalKeys.outbox) { key, value in
            _ = try GlobalKeys.readOutboxKey(key)
            _ = try OutboxEntry(decoding: value)
        }
    }

    /// Whether somebody has an account, or is being removed.
    private func isKnown(_ user: UserName) throws -> Bool {
        if try reader.account(of: user) != nil || reader.store.contains(GlobalKeys.departure(of: user)) { return true }
        let unled = try self.unled ?? reader.unledUsers()
        self.unled = unled
        return unled.contains(user)
    }

    private func isKnown(_ account: AccountID) throws -> Bool {
        try departing.contains(account) || reader.store.contains(GlobalKeys.account(account))
    }

    /// What cannot be read is a finding of its own; what can is judged, of which `line` is the key.
    private func visit<Parts>(
        _ range: LayoutRange, _ read: (Span<UInt8>, Span<UInt8>) throws -> Parts,
        judge: (_ parts: Parts, _ line: String) throws -> SubscriptionFinding? = { _, _ in nil }
    ) throws {
        try reader.store.scan(range.keyRange) { key, value in
            meter.add()
            if let parts = try parts(key, value, read), let found = try judge(parts, KeyDescription.text(of: key)) {
                findings.note(found)
            }
            return .next
        }
    }

    private func parts<Parts>(
        _ key: Span<UInt8>, _ value: Span<UInt8>, _ read: (Span<UInt8>, Span<UInt8>) throws -> Parts
    ) throws -> Parts? {
        do {
            return try read(key, value)
        } catch let error as LayoutError {
            findings.note(.unreadable(KeyDescription.text(of: key), reason: error.message))
        } catch let error as RecordsError {
            findings.note(.unreadable(KeyDescription.text(of: key), reason: error.message))
        }
        return nil
    }
}
