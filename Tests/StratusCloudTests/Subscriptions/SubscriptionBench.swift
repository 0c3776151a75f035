// Helpers for tests of subscriptions: devices, subscriptions, and the notifications of devices as short lines.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

extension RecordBench {
    /// A server with Alice's zone Notes; Alice has a phone and a pad, Bob a phone.
    static func forSubscriptions(
        inMemory: Bool = true, runsBodiesTwice: Bool = true, _ change: (inout CloudOptions) -> Void = { _ in }
    ) throws -> RecordBench {
        let bench = try RecordBench.forSharing(inMemory: inMemory, runsBodiesTwice: runsBodiesTwice, change)
        try bench.register(bench.alice, "phone", "pad")
        try bench.register(bench.bob, "phone")
        return bench
    }

    func register(_ account: StoredAccount, _ names: String...) throws {
        for name in names { try service.registerDevice(DeviceAddress(account: account.id, name: name)) }
    }

    func caller(_ account: StoredAccount, on device: String?) -> Caller {
        Caller(container: Self.container, account: account.id, device: device)
    }

    // MARK: Subscriptions

    /// Saves subscriptions that must all be saved.
    func subscribe(
        _ subscriptions: ClientSubscription..., by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws {
        let request = ModifySubscriptionsRequest(saves: subscriptions)
        let answer = try service.modifySubscriptions(request, as: caller(account ?? alice), in: database)
        for result in answer.saves { _ = try result.get() }
    }

    /// The code of the error of the only item.
    func subscriptionError(
        _ subscription: ClientSubscription, by account: StoredAccount? = nil, in database: DatabaseSelector = .private
    ) throws -> CloudError? {
        let request = ModifySubscriptionsRequest(saves: [subscription])
        return try service.modifySubscriptions(request, as: caller(account ?? alice), in: database).saves[0].error
    }

    func subscriptions(of account: StoredAccount? = nil, in database: DatabaseSelector = .private) throws -> [String] {
        try service.fetchSubscriptions(.all, as: caller(account ?? alice), in: database).map(\.0)
    }

    // MARK: Writing on a device

    @discardableResult
    func save(
        _ saves: RecordSave..., on device: String, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> [ClientRecord] {
        let request = ModifyRecordsRequest(saves: saves, policy: .allKeys)
        return try service.modifyRecords(request, as: caller(account ?? alice, on: device), in: database).saves
            .map { try $0.get() }
    }

    func delete(_ name: String, on device: String) throws {
        let request = ModifyRecordsRequest(deletes: [.note(name)])
        for result in try service.modifyRecords(request, as: caller(alice, on: device), in: .private).deletes {
            _ = try result.get()
        }
    }

    // MARK: Telling

    @discardableResult
    func deliver() throws -> Set<DeviceAddress> { try service.deliverNotifications() }

    func take(_ account: StoredAccount, _ device: String = "phone", limit: Int = .max) throws -> [ClientNotification] {
        try service.takeNotifications(for: DeviceAddress(account: account.id, name: device), limit: limit)
    }

    /// The notifications of a device after a delivery, in short.
    func told(_ account: StoredAccount, _ device: String = "phone") throws -> [String] {
        try deliver()
        return try take(account, device).map(\.line)
    }

    /// Entries in the outbox.
    func outboxCount() throws -> Int {
        try service.engine.read { reader in
            var count = 0
            try reader.store.scan(GlobalKeys.keyspace(.outbox)) { _, _ in
                count += 1
                return .next
            }
            return count
        }
    }

    /// What is wrong with subscriptions and queues.
    func subscriptionFindings() throws -> [String] {
        try SubscriptionVerifier(engine: service.engine).verify().findings.map(\.description)
    }
}

extension ClientNotification {
    /// The subscription, and its subject.
    var line: String {
        let id = subscriptionID ?? "?"
        switch subject {
        case nil: return "\(id) nothing"
        case .prunedQuery, .prunedZone: return "\(id) pruned"
        case .database: return "\(id) \(database)"
        case .zone(let zone): return "\(id) \(zone.zoneName)"
        case .query(let reason, let record, _): return "\(id) \(reason.word) \(record.recordName)"
        }
    }
}

extension QueryNotificationReason {
    var word: String {
        switch self {
        case .recordCreated: "created"
        case .recordUpdated: "updated"
        case .recordDeleted: "deleted"
        }
    }
}

extension ClientSubscription {
    static func database(_ id: String, type: String? = nil) -> ClientSubscription {
        ClientSubscription(id: id, subject: .database(recordType: type))
    }

    static func zone(
        _ id: String, _ zone: ZoneAddress = RecordBench.notes, type: String? = nil
    ) -> ClientSubscription {
        ClientSubscription(id: id, subject: .zone(zone, recordType: type))
    }

    static func query(
        _ id: String, _ filters: QueryFilter..., type: String = "Note", zone: ZoneAddress? = nil,
        triggers: SubscriptionTriggers = [.creation, .update, .deletion]
    ) -> ClientSubscription {
        ClientSubscription(
            id: id,
            subject: .query(
                ClientQuery(recordType: type, filters: filters), zone: zone, triggers: triggers,
                predicateArchive: [1, 2, 3]))
    }

    func with(_ change: (inout NotificationTemplate) -> Void) -> ClientSubscription {
        var subscription = self
        var template = subscription.template ?? NotificationTemplate()
        change(&template)
        subscription.template = template
        return subscription
    }
}

extension QueryFilter {
    static func isSize(_ size: Int64) -> QueryFilter {
        QueryFilter(key: "size", comparator: .equals, operand: .int64(size))
    }
}
