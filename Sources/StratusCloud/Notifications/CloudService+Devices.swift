// The devices of people, and the notifications that wait for them. A device has the name that its host gave it.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
package import StratusStore

extension CloudService {
    /// Registers a device, so that notifications wait for it from now on. A registered device does not change.
    ///
    /// Throws `invalidArguments` for a name that is empty or too long, `unknownItem` if there is no such account,
    /// `limitExceeded` if it has too many devices, and the store's failures.
    package func registerDevice(_ device: DeviceAddress) throws(CloudError) {
        guard (1...Self.deviceNameByteCount).contains(device.name.utf8.count) else {
            throw CloudError(
                .invalidArguments, "The name of a device must have 1 to 255 bytes. Choose another.",
                ["byteCount": "\(device.name.utf8.count)"])
        }
        if try reading({ try $0.store.contains(device.key) }) { return }
        // Larger than all orders of a removed device of this name, which tokens contain, if its host's clock was not
        // ahead of this one's.
        let first = UInt64(clamping: Int64(max(0, environment.clock.now.timeIntervalSince1970 * 1_000_000)))
        try writing { transaction in
            guard try accountDirectory.account(device.account, in: transaction) != nil else {
                throw AccountDirectory.unknownAccount
            }
            guard try !transaction.store.contains(device.key) else { return }
            guard try transaction.deviceNames(of: device.account).count < options.deviceCount else {
                throw CloudError.overLimit(
                    "The account has the maximum number of devices. Remove one first.", limit: options.deviceCount)
            }
            try transaction.set(device.key, to: DeviceEntry(next: first).encoded())
        }
    }

    private static let deviceNameByteCount = 255

    /// Removes a device with its waiting notifications. An unknown device is not an error.
    package func removeDevice(_ device: DeviceAddress) throws(CloudError) {
        try writing { transaction in
            guard try transaction.store.contains(device.key) else { return }
            let waiting = try transaction.store.keys(in: device.notifications)
            for key in [device.key] + waiting { try transaction.delete(key) }
        }
    }

    /// The devices of an account, by name.
    package func devices(of account: AccountID) throws(CloudError) -> [DeviceAddress] {
        try reading { reader in
            try reader.deviceNames(of: account).map { DeviceAddress(account: account, name: $0) }
        }
    }

    /// Where other hosts write what wakes the sessions of this one. A shared store wakes watchers of these ranges for
    /// other hosts' commits.
    package static let announcedRanges = [GlobalKeyspace.outbox, .devices, .operations, .runs]
        .map(GlobalKeys.keyspace)

    /// What is new for devices, so that a host finds what another one has delivered to them. Devices that are gone are
    /// left out. Nil where only this process delivers.
    package func news(of devices: some Collection<DeviceAddress>) throws(CloudError) -> [DeviceAddress: DeviceNews]? {
        guard engine.store.isShared else { return nil }
        return try reading { reader in
            var news: [DeviceAddress: DeviceNews] = [:]
            for (device, value) in zip(devices, try reader.store.values(forKeys: devices.map(\.key))) {
                guard let entry = try value.map({ try DeviceEntry(decoding: $0.span) }) else { continue }
                news[device] = DeviceNews(next: entry.next, isWaiting: entry.count > 0)
            }
            return news
        }
    }

    /// Lets other hosts find what waits for the devices of an account, which may take it again.
    func tellOtherHosts(ofDevicesOf account: AccountID, in transaction: RecordTransaction) throws {
        guard engine.store.isShared else { return }
        for name in try transaction.deviceNames(of: account) {
            let device = DeviceAddress(account: account, name: name)
            var header = try entry(of: device, in: transaction)
            guard header.count > 0 else { continue }
            header.next = try header.next.advanced(in: "order of notifications")
            try transaction.set(device.key, to: header.encoded())
        }
    }

    /// The devices for which notifications wait. Call it after opening a store.
    package func waitingDevices() throws(CloudError) -> [DeviceAddress] {
        try reading { reader in
            try reader.store.collect(GlobalKeys.keyspace(.devices)) { key, value in
                guard try DeviceEntry(decoding: value).count > 0 else { return nil }
                let parts = try GlobalKeys.readDeviceKey(key)
                return DeviceAddress(account: parts.account, name: parts.name)
            }.compactMap { $0 }
        }
    }

    /// Removes and returns the notifications that wait for a device, the oldest first, at most `limit`. An account that
    /// is not in good standing gets none: they keep waiting.
    ///
    /// Throws `unknownItem` for an unknown device, and the store's failures: with `serverResponseLost` the
    /// notifications may be removed.
    package func takeNotifications(
        for device: DeviceAddress, limit: Int = .max
    ) throws(CloudError) -> [ClientNotification] {
        // Write nothing if no notifications wait.
        guard limit > 0, try reading({ try hasWaiting(device, in: $0) }) else { return [] }
        return try writing { transaction in
            guard try hasWaiting(device, in: transaction) else { return [] }
            let taken = try transaction.store.collect(device.notifications, limit: limit) { key, value in
                ([UInt8](copying: key), try ClientNotification(NotificationEntry(decoding: value)))
            }
            try remove(taken.map(\.0), from: device, in: transaction)
            return taken.map(\.1)
        }
    }

    /// Removes the notifications with these keys from those that wait for a device.
    func remove(_ keys: [[UInt8]], from device: DeviceAddress, in transaction: RecordTransaction) throws {
        guard !keys.isEmpty else { return }
        var header = try entry(of: device, in: transaction)
        try header.changeCount(by: -keys.count, of: device)
        for key in keys { try transaction.delete(key) }
        try transaction.set(device.key, to: header.encoded())
    }

    /// Whether notifications wait for a device that may get them. Throws `unknownItem` for an unknown device.
    private func hasWaiting(_ device: DeviceAddress, in reader: RecordReader) throws -> Bool {
        guard try entry(of: device, in: reader).count > 0 else { return false }
        return AccountVerdict.status(of: try accountDirectory.account(device.account, in: reader)) == .available
    }

    /// Sets the app's badge, to which notifications add.
    ///
    /// Throws `unknownItem` for an unknown device, and the store's failures.
    package func setBadge(_ badge: Int, of device: DeviceAddress) throws(CloudError) {
        try writing { transaction in
            var header = try entry(of: device, in: transaction)
            header.badge = UInt64(clamping: badge)
            try transaction.set(device.key, to: header.encoded())
        }
    }

    /// Throws `unknownItem` for an unknown device.
    private func entry(of device: DeviceAddress, in reader: RecordReader) throws -> DeviceEntry {
        guard let entry = try reader.entry(of: device) else {
            throw CloudError.notFound("The device is unknown. Register it first.", ["device": device.name])
        }
        return entry
    }
}

/// What is new for a device.
package struct DeviceNews: Hashable, Sendable {
    /// The number of its next notification. It rises with each, and when those that wait may be taken again.
    package let next: UInt64
    /// Whether notifications wait for it.
    package let isWaiting: Bool
}

extension RecordReader {
    /// The names of an account's devices, in their byte order.
    func deviceNames(of account: AccountID) throws -> [String] {
        try store.collect(GlobalKeys.devices(of: account)) { key, _ in try GlobalKeys.readDeviceKey(key).name }
    }

    /// The entry of a device; nil if it is not registered.
    func entry(of device: DeviceAddress) throws -> DeviceEntry? {
        try store.withValue(forKey: device.key) { try DeviceEntry(decoding: $0) }
    }
}

extension DeviceAddress {
    /// The key of the device's entry.
    var key: [UInt8] { GlobalKeys.device(of: account, name) }

    /// The notifications that wait for the device.
    var notifications: KeyRange { GlobalKeys.notifications(for: account, name) }
}

extension DeviceEntry {
    /// Changes the number of waiting notifications. Throws `corruption` if fewer are counted than are removed.
    fileprivate mutating func changeCount(by change: Int, of device: DeviceAddress) throws {
        let new = Int(clamping: count) + change
        guard new >= 0 else {
            throw StoreError(
                .corruption, "The count of waiting notifications is wrong. Restore the store from a backup.",
                ["device": device.name, "account": device.account.text])
        }
        count = UInt64(new)
    }
}

/// The notifications that wait for one device, while a transaction adds some. Only the latest notification of each slot
/// waits (N-05); if there are too many, the oldest are dropped.
struct DeviceQueue {
    let address: DeviceAddress
    private var header: DeviceEntry
    private var waiting: [Waiting] = []
    /// Stored notifications to delete.
    private var gone: [UInt64] = []
    private let limit: Int

    private struct Waiting {
        let order: UInt64
        let slot: [UInt8]
        let reason: UInt8?
        /// Nil for a stored notification.
        let added: NotificationEntry?
    }

    /// Nil if the device is not registered.
    init?(_ address: DeviceAddress, limit: Int, in transaction: RecordTransaction) throws {
        guard let header = try transaction.entry(of: address) else { return nil }
        self.address = address
        self.header = header
        self.limit = max(1, limit)
        guard header.count > 0 else { return }
        waiting = try transaction.store.collect(address.notifications) { key, value in
            let entry = try NotificationEntry(decoding: value)
            return Waiting(
                order: try GlobalKeys.readNotificationKey(key).order, slot: entry.slot, reason: entry.reason, added: nil
            )
        }
    }

    /// Adds the notification that `make` creates. It gets the incremented badge if `badges` is set.
    mutating func add(badges: Bool, _ make: (_ badge: UInt64?) -> NotificationEntry) throws {
        if badges { header.badge = try header.badge.advanced(in: "badge") }
        var entry = make(badges ? header.badge : nil)
        if let place = waiting.firstIndex(where: { $0.slot == entry.slot }) {
            // If the replaced notification was for the creation of a record, so is the new one, with the current
            // fields.
            if waiting[place].reason == QueryNotificationReason.recordCreated.rawValue { entry.tellOfCreation() }
            remove(at: place)
        }
        let order = header.next
        header.next = try header.next.advanced(in: "order of notifications")
        waiting.append(Waiting(order: order, slot: entry.slot, reason: entry.reason, added: entry))
        while waiting.count > limit { remove(at: 0) }
    }

    private mutating func remove(at place: Int) {
        let removed = waiting.remove(at: place)
        if removed.added == nil { gone.append(removed.order) }
    }

    /// Writes the changes.
    func write(in transaction: RecordTransaction) throws {
        let added = waiting.filter { $0.added != nil }
        var header = header
        try header.changeCount(by: added.count - gone.count, of: address)
        for order in gone {
            try transaction.delete(GlobalKeys.notification(for: address.account, address.name, order: order))
        }
        for item in added {
            guard let entry = item.added else { continue }
            let key = GlobalKeys.notification(for: address.account, address.name, order: item.order)
            try transaction.set(key, to: entry.encoded())
        }
        try transaction.set(address.key, to: header.encoded())
    }
}

extension NotificationEntry {
    /// Why its query fired; nil for other notifications.
    fileprivate var reason: UInt8? {
        if case .query(let reason, _, _, _) = subject { reason } else { nil }
    }

    fileprivate mutating func tellOfCreation() {
        guard case .query(let reason, let record, let zone, let fields) = subject,
            reason == QueryNotificationReason.recordUpdated.rawValue
        else { return }
        subject = .query(
            reason: QueryNotificationReason.recordCreated.rawValue, record: record, zone: zone, fields: fields)
    }
}
