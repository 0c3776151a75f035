// Delivery: the entries that commits left in the outbox become notifications in the queues of devices.
//
// A `DeliveryRun` is one transaction of delivery. It deletes an entry in the commit that fills the queues, so that
// after a crash nothing is delivered twice and nothing is lost. If an entry concerns more people than fit into one
// commit, it stays and notes the last user who was served.
//
// The body of a transaction may run twice, so each run creates its own `DeliveryRun`, which holds everything that
// changes.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The result of one transaction of delivery.
struct DeliveryStep: Sendable {
    /// The last entry that was read; nil if there was none.
    var last: [UInt8]?
    var isMoreComing = false
    var devices: Set<DeviceAddress> = []
    /// A skipped entry that was not reported before, and its problem.
    var damage: (key: [UInt8], error: StoreError)?
}

struct DeliveryRun {
    private static let entryCount = 256
    private static let noticeCount = 1_000
    private static let byteCount = 1 << 20
    /// The maximum for one person because of one commit; more would not fit in the queues.
    private static let userByteCount = 4 << 20

    let service: CloudService
    let transaction: RecordTransaction
    /// The seed of identifiers; drawn before the transaction.
    let seed: UUID
    /// The damaged entries that were reported.
    let reported: Set<[UInt8]>

    private var step = DeliveryStep()
    private var state = State()

    /// Everything that is rolled back if an entry is damaged.
    private struct State {
        /// By the keys of their devices.
        var queues: [[UInt8]: DeviceQueue] = [:]
        /// Subscriptions that have fired for the last time.
        var ended: [SubscriptionKeyParts] = []
        var noticeCount = 0
        var byteCount = 0
        var userByteCount = 0
    }

    private struct Scope: Hashable {
        let container: ContainerName
        let user: UserName
        let database: DatabaseSelector
    }

    private var accounts: [UserName: StoredAccount?] = [:]
    private var deviceNames: [AccountID: [String]] = [:]
    private var subscriptions: [Scope: [(parts: SubscriptionKeyParts, entry: SubscriptionEntry)]] = [:]

    init(_ service: CloudService, _ transaction: RecordTransaction, seed: UUID, reported: Set<[UInt8]>) {
        self.service = service
        self.transaction = transaction
        self.seed = seed
        self.reported = reported
    }

    /// Delivers entries after `position`, until there is enough for one commit.
    mutating func run(after position: [UInt8]?) throws -> DeliveryStep {
        let range = position.map { GlobalKeys.outbox(after: $0) } ?? GlobalKeys.keyspace(.outbox)
        var reads = DeliveryReads(service.accountDirectory, transaction)
        reads?.outbox(range, limit: Self.entryCount)
        let entries = try transaction.store.collect(range, limit: Self.entryCount) { key, value in
            (key: [UInt8](copying: key), value: [UInt8](copying: value))
        }
        reads?.announce(entries)
        step.isMoreComing = entries.count == Self.entryCount
        for (index, entry) in entries.enumerated() {
            guard !isFull else {
                step.isMoreComing = true
                break
            }
            let before = state
            do {
                let isWhole = try deliver(entry.key, entry.value)
                guard isWhole else {
                    // The next run continues with it: the position stays before it.
                    step.last = index == 0 ? position : entries[index - 1].key
                    step.isMoreComing = true
                    break
                }
            } catch let error as StoreError where error.isDamagedEntry {
                state = before
                if step.damage == nil, !reported.contains(entry.key) {
                    let damage = error.damage == .entry ? StoreError(damaged: entry.key, "\(error)") : error
                    step.damage = (entry.key, damage)
                }
            }
            step.last = entry.key
        }
        for queue in state.queues.values { try queue.write(in: transaction) }
        for parts in state.ended { try transaction.delete(GlobalKeys.subscription(parts)) }
        service.subscriptionDirectory.note(state.ended.map { ($0, nil) }, in: transaction)
        step.devices = Set(state.queues.values.map(\.address))
        return step
    }

    private var isFull: Bool { state.noticeCount >= Self.noticeCount || state.byteCount >= Self.byteCount }

    /// Delivers one entry or a part of it. Returns whether the entry is done and deleted.
    private mutating func deliver(_ key: [UInt8], _ value: [UInt8]) throws -> Bool {
        let entry = try OutboxEntry(decoding: value.span)
        let database = try GlobalKeys.readOutboxKey(key.span).database
        let recipients = try Recipients(entry: entry, database: database, transaction: transaction).all()
        for (index, recipient) in recipients.enumerated() {
            state.userByteCount = 0
            for occasion in recipient.occasions { try tell(recipient.user, occasion, entry) }
            guard isFull, index + 1 < recipients.count else { continue }
            var rest = entry
            rest.last = recipient.user
            try transaction.set(key, to: rest.encoded())
            return false
        }
        try transaction.delete(key)
        return true
    }

    // MARK: Subscriptions

    private mutating func tell(_ user: UserName, _ occasion: Occasion, _ entry: OutboxEntry) throws {
        guard let account = try account(user), try !names(of: account.id).isEmpty else { return }
        switch occasion {
        case .own(let types):
            for (parts, subscription) in try known(user, entry.container, .private) {
                let subject: NotificationEntry.Subject
                switch subscription.subject {
                // The default zone is in no feed of a database (N-02).
                case .database(let type)
                where entry.zone.text != ZoneAddress.defaultZoneName && Self.concerns(types, type):
                    subject = .database
                case .zone(entry.zone, let type) where Self.concerns(types, type): subject = .zone(entry.zone)
                case .database, .zone, .query: continue
                }
                try fire(parts, subscription.template, subject, [:], account, entry)
            }
        case .shared(let types):
            for (parts, subscription) in try known(user, entry.container, .shared) {
                guard case .database(let type) = subscription.subject, Self.concerns(types, type) else { continue }
                try fire(parts, subscription.template, .database, [:], account, entry)
            }
        case .matches(let matches):
            let database: DatabaseSelector = entry.owner == nil ? .public : .private
            for match in matches { try tell(match, database, account, entry) }
        case .ended(let id, let template):
            let parts = SubscriptionKeyParts(
                container: entry.container, user: user, database: DatabaseSelector.private.rawValue, id: id)
            try fire(parts, template, .zone(entry.zone), [:], account, entry)
        }
    }

    private mutating func tell(
        _ match: QueryMatch, _ database: DatabaseSelector, _ account: StoredAccount, _ entry: OutboxEntry
    ) throws {
        let parts = SubscriptionKeyParts(
            container: entry.container, user: match.user, database: database.rawValue, id: match.subscription)
        // It may have been deleted since, or have fired for the last time.
        guard !state.ended.contains(parts), let subscription = try transaction.subscription(parts),
            case .query(let query) = subscription.subject
        else { return }
        let subject = NotificationEntry.Subject.query(
            reason: match.reason, record: match.record, zone: entry.zone, fields: [:])
        let isTold = try fire(parts, subscription.template, subject, match.fields, account, entry)
        if isTold, SubscriptionTriggers(rawValue: UInt(query.triggers)).contains(.once) { state.ended.append(parts) }
    }

    private static func concerns(_ types: [RecordType]?, _ wanted: RecordType?) -> Bool {
        guard let wanted, let types else { return true }
        return types.contains(wanted)
    }

    // MARK: Devices

    /// Adds a notification to the queues of all devices except the one that made the change (N-05). Returns whether
    /// there was one.
    @discardableResult
    private mutating func fire(
        _ parts: SubscriptionKeyParts, _ template: NotificationTemplate?, _ subject: NotificationEntry.Subject,
        _ values: [FieldKey: FieldValue], _ account: StoredAccount, _ entry: OutboxEntry
    ) throws -> Bool {
        let filler = NotificationFiller(
            parts: parts, template: template, byteLimit: service.options.notificationByteCount)
        var isTold = false
        for name in try names(of: account.id) {
            if entry.originAccount == account.id, let device = entry.originDevice, device.hasSameBytes(as: name) {
                continue
            }
            guard state.userByteCount < Self.userByteCount else { return isTold }
            let address = DeviceAddress(account: account.id, name: name)
            let (key, limit) = (address.key, service.options.waitingNotificationCount)
            guard var queue = try state.queues[key] ?? DeviceQueue(address, limit: limit, in: transaction) else {
                continue
            }
            let id = identifier(state.noticeCount)
            var byteCount = 0
            try queue.add(badges: template?.badges ?? false) { badge in
                let notification = filler.notification(of: subject, values, id: id, badge: badge)
                byteCount = notification.encoded().count
                return notification
            }
            state.queues[key] = queue

            state.noticeCount += 1
            state.byteCount += byteCount
            state.userByteCount += byteCount
            isTold = true
        }
        return isTold
    }

    /// An identifier that no other notification has.
    private func identifier(_ number: Int) -> UUID {
        var writer = CursorWriter()
        writer.append(seed.uuidString)
        writer.append(UInt64(number))
        let b = ContentDigest.sha256(writer.bytes)
        return UUID(
            uuid: (
                b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
            ))
    }

    // MARK: Look-ups, each done once

    /// The account, if it may get notifications; nil for a closed one.
    private mutating func account(_ user: UserName) throws -> StoredAccount? {
        if let known = accounts[user] { return known }
        let found = try service.accountDirectory.account(userName: user, in: transaction)
        let account = AccountVerdict.status(of: found) == .available ? found : nil
        accounts[user] = .some(account)
        return account
    }

    private mutating func names(of account: AccountID) throws -> [String] {
        if let known = deviceNames[account] { return known }
        let names = try transaction.deviceNames(of: account)
        deviceNames[account] = names
        return names
    }

    private mutating func known(
        _ user: UserName, _ container: ContainerName, _ database: DatabaseSelector
    ) throws -> [(parts: SubscriptionKeyParts, entry: SubscriptionEntry)] {
        let scope = Scope(container: container, user: user, database: database)
        if let known = subscriptions[scope] { return known }
        let found = try transaction.subscriptions(of: user, in: container, database)
        subscriptions[scope] = found
        return found
    }
}

extension String {
    /// Whether a name is the same, by bytes like all names.
    fileprivate func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension StoreError {
    fileprivate init(damaged key: [UInt8], _ cause: String) {
        self.init(
            .corruption, "An entry of the outbox cannot be read. Verify the store.",
            ["key": KeyDescription.text(of: key), "cause": cause])
    }
}

extension CloudService {
    /// Delivers everything in the outbox at the time of the call, in its own transactions. Returns the devices that
    /// have new notifications. Call it when the host gets the signal that there is something, and once after opening a
    /// store. Where several processes write the store, one of them delivers for all, and it does nothing in the others.
    ///
    /// Throws the store's failures, and `internalError` if an entry cannot be read. That entry stays, and everything
    /// else is delivered; `waitingDevices` returns the devices. Each such entry is reported once in a process, and one
    /// in each call.
    package func deliverNotifications() throws(CloudError) -> Set<DeviceAddress> {
        try answering {
            let delivery = try deliver()
            if let damage = delivery.damage {
                deliveryBell.keep(delivery.devices)
                deliveryBell.noteReport(of: damage.key)
                throw damage.error
            }
            return delivery.devices.union(deliveryBell.takeDevices())
        }
    }

    /// Delivers before a caller deletes data that determines the recipients. The next call of `deliverNotifications`
    /// returns the devices that have something new, and reports entries that cannot be read.
    func deliverBetween() throws { deliveryBell.keep(try deliver(takingOver: true).devices) }

    /// Delivers everything, or nothing while another process delivers. A caller that relies on it takes the work over;
    /// each attempt that is then overtaken in turn has delivered something.
    private func deliver(takingOver: Bool = false) throws -> Delivery {
        var delivery = Delivery()
        while true {
            let round: Void? = try engine.working(on: .deliveries, takingOver: takingOver) {
                try deliver(&delivery, leavingIt: !takingOver)
            }
            if round != nil || !takingOver { return delivery }
        }
    }

    private struct Delivery {
        var devices: Set<DeviceAddress> = []
        var damage: (key: [UInt8], error: StoreError)?
    }

    private func deliver(_ delivery: inout Delivery, leavingIt: Bool) throws {
        var position: [UInt8]?
        // Write nothing if the outbox is empty.
        while true {
            let range = position.map { GlobalKeys.outbox(after: $0) } ?? GlobalKeys.keyspace(.outbox)
            let isWanted = try engine.read { reader in
                if leavingIt { reader.willRead(.deliveries) }
                return try reader.store.hasEntries(in: range)
                    && !(leavingIt && engine.isElsewhere(.deliveries, in: reader))
            }
            guard isWanted else { return }
            let (start, seed) = (position, environment.identifiers.makeUUID())
            let reported = deliveryBell.reportedEntries
            let step = try engine.transact { transaction in
                var run = DeliveryRun(self, transaction, seed: seed, reported: reported)
                return try run.run(after: start)
            }
            delivery.devices.formUnion(step.devices)
            delivery.damage = delivery.damage ?? step.damage
            position = step.last
            guard step.isMoreComing else { return }
        }
    }
}
