// What waits for one device, while a transaction adds to it. Of one slot only the latest notification waits (N-05); where
// there are too many the oldest are dropped.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

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
