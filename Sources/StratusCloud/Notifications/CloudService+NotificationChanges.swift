// The notifications that wait for a device, as its app fetches them: page by page. They keep waiting until the app
// marks them as read. A host that listens for a device takes them instead, which removes them (`takeNotifications`).
//
// A token is the order of the next notification that was not returned yet, sealed for the account, the container and
// the device. The orders of a device only grow, as long as clocks agree also if it was removed and registered
// again (`registerDevice`), and a notification that replaces an older one gets a new order. A token that is ahead of
// its device begins again. So a client misses no later one, unless the server has lost commits.

package import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// One page of the notifications that wait for the caller's device because of the container, the oldest first. An
    /// unknown device is registered; no notifications wait for it yet.
    ///
    /// Throws `invalidArguments` if the container has no device, `changeTokenExpired` for a token that was issued for
    /// another account, container or device, `limitExceeded` if the account has too many devices,
    /// `notAuthenticated` and similar errors, a planned fault, and the store's failures.
    package func fetchNotificationChanges(
        _ request: FetchNotificationChangesRequest, as caller: Caller
    ) throws(CloudError) -> FetchNotificationChangesResponse {
        try reporting(.fetchNotificationChanges, caller, itemCount: 0) { event in
            let (device, binding) = try requireDevice(caller)
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            var start: UInt64 = 0
            if let token = request.token {
                guard let content = seal.opened(token, .notifications, for: binding),
                    let place = try? NotificationPlace(content), place.device == device.name
                else { throw CloudError.foreignToken }
                start = place.next
            }
            try deliverBetween()
            let limit = options.pageCount(asked: request.limit)
            let page = try engine.read { reader in
                try waiting(for: device, from: start, because: caller.container, limit: limit, in: reader)
            }
            event.itemCount = page.notifications.count
            let place = NotificationPlace(device: device.name, next: page.next)
            return FetchNotificationChangesResponse(
                notifications: page.notifications,
                token: try seal.sealed(place.content, .notifications, for: binding), isMoreComing: page.isMoreComing)
        }
    }

    /// Marks notifications of the caller's device as read, which removes them. A notification that no longer waits,
    /// because it was read, taken or replaced, is not an error.
    ///
    /// Throws like `fetchNotificationChanges`, and `limitExceeded` for too many (L-01).
    package func markNotificationsRead(_ ids: [UUID], as caller: Caller) throws(CloudError) {
        try reporting(.markNotificationsRead, caller, itemCount: ids.count) { _ in
            try requestLimits().check(itemCount: ids.count)
            let device = try requireDevice(caller).device
            try remove(Set(ids), because: caller.container, from: device)
        }
    }

    /// Sets the app's badge on the caller's device, to which notifications add. A negative number is zero.
    ///
    /// Throws like `fetchNotificationChanges`.
    package func modifyBadge(_ badge: Int, as caller: Caller) throws(CloudError) {
        try reporting(.modifyBadge, caller, itemCount: 1) { _ in
            try setBadge(badge, of: requireDevice(caller).device)
        }
    }

    // MARK: Helpers

    /// Registers the caller's device if necessary. Returns it, and what its tokens are bound to.
    private func requireDevice(_ caller: Caller) throws -> (device: DeviceAddress, binding: TokenBinding) {
        let account = try requireAccount(caller)
        guard let id = caller.account, let name = caller.device else {
            throw CloudError(
                .invalidArguments,
                "The container belongs to no device, so it has no notifications. Get the container from a device.",
                ["container": caller.container.text])
        }
        let device = DeviceAddress(account: id, name: name)
        try registerDevice(device)
        return (device, TokenBinding(user: account.userName, container: caller.container, database: .private))
    }

    private struct WaitingPage {
        var notifications: [ClientNotification] = []
        /// The order behind the page.
        var next: UInt64
        var isMoreComing = false
    }

    private func waiting(
        for device: DeviceAddress, from place: UInt64, because container: ContainerName, limit: Int,
        in reader: RecordReader
    ) throws -> WaitingPage {
        let next = try reader.entry(of: device)?.next ?? 0
        // A token may be ahead: of a device that a host with a faster clock had registered before, or of notifications
        // that the server has lost.
        let start = place > next ? 0 : place
        var page = WaitingPage(next: next)
        var range = device.notifications
        range.lower = GlobalKeys.notification(for: device.account, device.name, order: start)
        try reader.store.scan(range) { key, value in
            let entry = try NotificationEntry(decoding: value)
            guard entry.isBecause(of: container) else { return .next }
            guard page.notifications.count < limit else {
                page.next = try GlobalKeys.readNotificationKey(key).order
                page.isMoreComing = true
                return .stop
            }
            page.notifications.append(try ClientNotification(entry))
            return .next
        }
        return page
    }

    private func remove(_ ids: Set<UUID>, because container: ContainerName, from device: DeviceAddress) throws {
        func keys(in reader: RecordReader) throws -> [[UInt8]] {
            var keys: [[UInt8]] = []
            try reader.store.forEach(in: device.notifications) { key, value in
                let entry = try NotificationEntry(decoding: value)
                if entry.isBecause(of: container), entry.id.map({ ids.contains($0) }) ?? false {
                    keys.append([UInt8](copying: key))
                }
            }
            return keys
        }
        // Write nothing if none of them waits.
        guard !ids.isEmpty, try engine.read({ try !keys(in: $0).isEmpty }) else { return }
        try engine.transact { transaction in
            try remove(keys(in: transaction), from: device, in: transaction)
        }
    }
}

extension NotificationEntry {
    /// Whether the notification is because of the container. A notification that was too large does not name one.
    fileprivate func isBecause(of container: ContainerName) -> Bool { self.container.map { $0 == container } ?? true }
}

/// The content of a token of notifications.
private struct NotificationPlace {
    private static let version: UInt8 = 1

    var device: String
    /// The order of the first notification that was not returned.
    var next: UInt64

    var content: [UInt8] {
        var writer = CursorWriter()
        writer.append(byte: Self.version)
        writer.append(device)
        writer.append(next)
        return writer.bytes
    }

}

extension NotificationPlace {
    /// Throws `CursorReader.Failure` for other bytes.
    init(_ content: [UInt8]) throws {
        var reader = CursorReader(content)
        guard try reader.readByte() == Self.version else { throw CursorReader.Failure() }
        device = try reader.readText()
        next = try reader.readNumber()
        try reader.expectEnd()
    }
}

extension ClientNotification {
    /// A stored notification as a device gets it. Throws `corruption` if its database or its reason is unknown.
    init(_ entry: NotificationEntry) throws {
        guard let database = DatabaseSelector(rawValue: entry.database) else {
            throw StoreError(
                .corruption, "A notification names no database. Restore the store from a backup.",
                ["subscription": entry.subscription])
        }
        var subject: NotificationSubject?
        switch entry.subject {
        case nil: break
        case .query(let reason, let record, let zone, let fields):
            guard let reason = QueryNotificationReason(rawValue: reason) else {
                throw StoreError(
                    .corruption, "A notification has no reason. Restore the store from a backup.",
                    ["subscription": entry.subscription])
            }
            let zone = ZoneAddress(zoneName: zone.text)
            var values: [String: ClientValue] = [:]
            for (key, value) in fields { values[key.text] = ClientValue(value, zone: zone) }
            subject = .query(
                reason: reason, record: RecordAddress(recordName: record.text, zone: zone), fields: values)
        case .zone(let zone): subject = .zone(ZoneAddress(zoneName: zone.text))
        case .database: subject = .database
        case .prunedQuery: subject = .prunedQuery
        case .prunedZone: subject = .prunedZone
        }
        self.init(
            id: entry.id, container: entry.container, subscriptionID: entry.subscription,
            subscriptionOwner: entry.owner, database: database, subject: subject, alert: entry.alert,
            badge: entry.badge.map { Int(clamping: $0) }, isPruned: entry.isPruned)
    }
}
