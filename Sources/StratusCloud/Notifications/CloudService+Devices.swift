// The devices of people, and what waits for them. A device is known by the name that its host gave it.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Makes a device known, so that notifications wait for it from now on. One that is known stays as it is.
    ///
    /// Throws `invalidArguments` for a name that is empty or too long, `unknownItem` when there is no such account,
    /// `limitExceeded` where it has too many devices, and the store's failures.
    package func registerDevice(_ device: DeviceAddress) throws(CloudError) {
        guard (1...Self.deviceNameByteCount).contains(device.name.utf8.count) else {
            throw CloudError(
                .invalidArguments, "The name of a device has 1 to 255 bytes: choose another.",
                ["byteCount": "\(device.name.utf8.count)"])
        }
        let key = GlobalKeys.device(of: device.account, device.name)
        if try reading({ try $0.store.contains(key) }) { return }
        // Beyond all orders that a removed device of this name has had, by which tokens go.
        let first = UInt64(clamping: Int64(max(0, environment.clock.now.timeIntervalSince1970 * 1_000_000)))
        try answering {
            try engine.transact { transaction in
                guard try accountDirectory.account(device.account, in: transaction) != nil else {
                    throw AccountDirectory.unknownAccount
                }
                guard try !transaction.store.contains(key) else { return }
                guard try transaction.deviceNames(of: device.account).count < options.deviceCount else {
                    throw CloudError(
                        .limitExceeded, inner: CloudError.InnerCode.limit,
                        "The account has as many devices as it may have: remove one first.",
                        ["limit": "\(options.deviceCount)"])
                }
                try transaction.set(key, to: DeviceEntry(next: first).encoded())
            }
        }
    }

    private static let deviceNameByteCount = 255

    /// Forgets a device with all that waits for it. One that is not known is no error.
    package func removeDevice(_ device: DeviceAddress) throws(CloudError) {
        let key = GlobalKeys.device(of: device.account, device.name)
        try answering {
            try engine.transact { transaction in
                guard try transaction.store.contains(key) else { return }
                var keys = [key]
                let range = GlobalKeys.notifications(for: device.account, device.name).keyRange
                try transaction.store.scan(range) { key, _ in
                    keys.append([UInt8](copying: key))
                    return .next
                }
                for key in keys { try transaction.delete(key) }
            }
        }
    }

    /// The devices of an account, by name.
    package func devices(of account: AccountID) throws(CloudError) -> [DeviceAddress] {
        try reading { reader in
            try reader.deviceNames(of: account).map { DeviceAddress(account: account, name: $0) }
        }
    }

    /// The devices for which something waits: to be asked when a store has been opened.
    package func waitingDevices() throws(CloudError) -> [DeviceAddress] {
        try reading { reader in
            var devices: [DeviceAddress] = []
            try reader.store.scan(GlobalKeys.devices.keyRange) { key, value in
                guard try DeviceEntry(decoding: value).count > 0 else { return .next }
                let parts = try GlobalKeys.readDeviceKey(key)
                devices.append(DeviceAddress(account: parts.account, name: parts.name))
                return .next
            }
            return devices
        }
    }

    /// Takes what waits for a device, the oldest first, at most `limit` of it. It is gone from the store when this
    /// returns. Nothing is given to somebody who is not in good standing: it waits.
    ///
    /// Throws `unknownItem` for a device that is not known, and the store's failures: with `serverResponseLost` it may
    /// be gone.
    package func takeNotifications(
        for device: DeviceAddress, limit: Int = .max
    ) throws(CloudError) -> [ClientNotification] {
        // Nothing is written where nothing waits.
        guard limit > 0, try reading({ try waiting(for: device, in: $0) }) != nil else { return [] }
        return try answering {
            try engine.transact { transaction in
                guard try waiting(for: device, in: transaction) != nil else { return [] }
                var keys: [[UInt8]] = []
                var taken: [ClientNotification] = []
                let range = GlobalKeys.notifications(for: device.account, device.name).keyRange
                try transaction.store.scan(range, .forward, limit: limit) { key, value in
                    keys.append([UInt8](copying: key))
                    taken.append(try ClientNotification(NotificationEntry(decoding: value)))
                    return .next
                }
                try remove(keys, from: device, in: transaction)
                return taken
            }
        }
    }

    /// Takes what lies under these keys out of what waits for a device.
    func remove(_ keys: [[UInt8]], from device: DeviceAddress, in transaction: RecordTransaction) throws {
        guard !keys.isEmpty else { return }
        let place = GlobalKeys.device(of: device.account, device.name)
        guard var header = try transaction.store.withValue(forKey: place, { try DeviceEntry(decoding: $0) }) else {
            throw Self.unknownDevice(device)
        }
        guard header.count >= UInt64(keys.count) else {
            throw RecordsError(
                .corruption, "What waits for a device is counted wrongly: restore the store from a backup.",
                ["device": device.name, "account": device.account.text])
        }
        header.count -= UInt64(keys.count)
        for key in keys { try transaction.delete(key) }
        try transaction.set(place, to: header.encoded())
    }

    /// A device for which something waits that may be given to it. Throws `unknownItem` for one that is not known.
    private func waiting(for device: DeviceAddress, in reader: RecordReader) throws -> DeviceEntry? {
        let key = GlobalKeys.device(of: device.account, device.name)
        guard let entry = try reader.store.withValue(forKey: key, { try DeviceEntry(decoding: $0) }) else {
            throw Self.unknownDevice(device)
        }
        guard entry.count > 0 else { return nil }
        let account = try accountDirectory.account(device.account, in: reader)
        return AccountVerdict.status(of: account) == .available ? entry : nil
    }

    /// Sets the number on the app's icon, from which notifications count on.
    ///
    /// Throws `unknownItem` for a device that is not known, and the store's failures.
    package func setBadge(_ badge: Int, of device: DeviceAddress) throws(CloudError) {
        let key = GlobalKeys.device(of: device.account, device.name)
        try answering {
            try engine.transact { transaction in
                guard var header = try transaction.store.withValue(forKey: key, { try DeviceEntry(decoding: $0) })
                else { throw Self.unknownDevice(device) }
                header.badge = UInt64(clamping: badge)
                try transaction.set(key, to: header.encoded())
            }
        }
    }

    private static func unknownDevice(_ device: DeviceAddress) -> CloudError {
        CloudError(
            .unknownItem, inner: CloudError.InnerCode.unknownItem, "The device is not known: register it first.",
            ["device": device.name])
    }
}

extension RecordReader {
    /// The names of an account's devices, in their byte order.
    func deviceNames(of account: AccountID) throws -> [String] {
        var names: [String] = []
        try store.scan(GlobalKeys.devices(of: account).keyRange) { key, _ in
            names.append(try GlobalKeys.readDeviceKey(key).name)
            return .next
        }
        return names
    }
}

// What waits for one device, while a transaction adds to it. Of one slot only the latest notification waits (N-05);
// where there are too many the oldest are dropped.

struct DeviceQueue {
    let address: DeviceAddress
    private var header: DeviceEntry
    private var waiting: [Waiting] = []
    /// What lies in the store and is to go.
    private var gone: [UInt64] = []
    private let limit: Int

    private struct Waiting {
        let order: UInt64
        let slot: [UInt8]
        let reason: UInt8?
        /// Nil for what lies in the store.
        let added: NotificationEntry?
    }

    /// Nil where the device is not registered.
    init?(_ address: DeviceAddress, limit: Int, in transaction: RecordTransaction) throws {
        let key = GlobalKeys.device(of: address.account, address.name)
        guard let header = try transaction.store.withValue(forKey: key, { try DeviceEntry(decoding: $0) }) else {
            return nil
        }
        self.address = address
        self.header = header
        self.limit = max(1, limit)
        var found: [Waiting] = []
        if header.count > 0 {
            let range = GlobalKeys.notifications(for: address.account, address.name).keyRange
            try transaction.store.scan(range) { key, value in
                let entry = try NotificationEntry(decoding: value)
                found.append(
                    Waiting(
                        order: try GlobalKeys.readNotificationKey(key).order, slot: entry.slot, reason: entry.reason,
                        added: nil))
                return .next
            }
        }
        waiting = found
    }

    /// Adds what `make` makes with the badge's next number, if `badges` says that there is one.
    mutating func add(badges: Bool, _ make: (_ badge: UInt64?) -> NotificationEntry) throws {
        if badges { header.badge = try header.badge.advanced(in: "badge") }
        var entry = make(badges ? header.badge : nil)
        if let place = waiting.firstIndex(where: { $0.slot == entry.slot }) {
            // A device that has not heard that a record came to be hears of that, with what the record has become.
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

    /// Writes what has changed.
    func write(in transaction: RecordTransaction) throws {
        let added = waiting.filter { $0.added != nil }
        let count = Int(clamping: header.count) + added.count - gone.count
        guard count >= 0 else {
            throw RecordsError(
                .corruption, "What waits for a device is counted wrongly: restore the store from a backup.",
                ["device": address.name, "account": address.account.text])
        }
        for order in gone {
            try transaction.delete(GlobalKeys.notification(for: address.account, address.name, order: order))
        }
        for item in added {
            guard let entry = item.added else { continue }
            let key = GlobalKeys.notification(for: address.account, address.name, order: item.order)
            try transaction.set(key, to: entry.encoded())
        }
        var header = header
        header.count = UInt64(count)
        try transaction.set(GlobalKeys.device(of: address.account, address.name), to: header.encoded())
    }
}

extension NotificationEntry {
    /// Why its query fired; nil for everything else.
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
