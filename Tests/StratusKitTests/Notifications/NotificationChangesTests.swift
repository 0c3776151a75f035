// The deprecated operations for notifications: fetching the waiting ones, marking them as read, and the badge. A
// protocol creates them, so that their use gives no warning.

import Foundation
import StratusKit
import StratusStore
import Testing

private protocol LegacyNotificationChanges: CKOperation {
    var resultsLimit: Int { get set }
    var moreComing: Bool { get }
    var notificationChangedBlock: ((CKNotification) -> Void)? { get set }
    var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)? { get set }
}

private protocol LegacyMarkRead: CKOperation {
    var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)? { get set }
}

private protocol LegacyBadge: CKOperation {
    var badgeValue: Int { get }
    var modifyBadgeCompletionBlock: (((any Error)?) -> Void)? { get set }
}

private protocol LegacyMaker: Sendable {
    func changes(since token: CKServerChangeToken?) -> any LegacyNotificationChanges
    func markRead(_ ids: [CKNotification.ID]) -> any LegacyMarkRead
    func badge(_ value: Int) -> any LegacyBadge
    func badge(of notification: CKNotification) -> NSNumber?
}

private struct LegacyOperations {}

@available(*, deprecated)
extension CKFetchNotificationChangesOperation: LegacyNotificationChanges {}
@available(*, deprecated)
extension CKMarkNotificationsReadOperation: LegacyMarkRead {}
@available(*, deprecated)
extension CKModifyBadgeOperation: LegacyBadge {}

extension LegacyOperations: LegacyMaker {
    @available(*, deprecated)
    func changes(since token: CKServerChangeToken?) -> any LegacyNotificationChanges {
        CKFetchNotificationChangesOperation(previousServerChangeToken: token)
    }

    @available(*, deprecated)
    func markRead(_ ids: [CKNotification.ID]) -> any LegacyMarkRead {
        CKMarkNotificationsReadOperation(notificationIDsToMarkRead: ids)
    }

    @available(*, deprecated)
    func badge(_ value: Int) -> any LegacyBadge { CKModifyBadgeOperation(badgeValue: value) }

    @available(*, deprecated)
    func badge(of notification: CKNotification) -> NSNumber? { notification.badge }
}

/// The result of one operation.
private struct FetchedNotifications {
    var subscriptions: [String] = []
    var ids: [CKNotification.ID] = []
    var token: CKServerChangeToken?
    var isMoreComing = false
    var code: CKError.Code?
}

@Suite("Waiting notifications")
struct NotificationChangesTests {
    private static let identifier = "iCloud.test"
    private let operations: any LegacyMaker = LegacyOperations()

    private func fetch(
        _ container: CKContainer, since token: CKServerChangeToken? = nil, limit: Int = 0
    ) async -> FetchedNotifications {
        let told = Locked<[CKNotification]>([])
        let end = Locked<(CKServerChangeToken?, (any Error)?)>((nil, nil))
        let operation = operations.changes(since: token)
        operation.resultsLimit = limit
        operation.notificationChangedBlock = { notification in told.withLock { $0.append(notification) } }
        operation.fetchNotificationChangesCompletionBlock = { token, error in end.withLock { $0 = (token, error) } }
        await run(operation, in: container)
        return FetchedNotifications(
            subscriptions: told.value.map { $0.subscriptionID ?? "-" }, ids: told.value.compactMap(\.notificationID),
            token: end.value.0, isMoreComing: operation.moreComing, code: (end.value.1 as? CKError)?.code)
    }

    private func markRead(
        _ ids: [CKNotification.ID], in container: CKContainer
    ) async -> ([CKNotification.ID]?, CKError?) {
        let end = Locked<([CKNotification.ID]?, CKError?)>((nil, nil))
        let operation = operations.markRead(ids)
        operation.markNotificationsReadCompletionBlock = { ids, error in end.withLock { $0 = (ids, error as? CKError) }
        }
        await run(operation, in: container)
        return end.value
    }

    /// A store, a device that has subscribed to zones A, B and C, and another container of the same person.
    private func make(
        _ change: (inout Stratus.Options) -> Void = { _ in }
    ) async throws -> (Stratus, Stratus.Account, CKContainer, CKDatabase) {
        let (store, account) = try Stratus.tested(change)
        let phone = try await store.device("phone", signedInAs: account)
        let database = store.container(Self.identifier, signedInAs: account).privateCloudDatabase
        for name in ["A", "B", "C"] {
            let zone = try await database.save(CKRecordZone(zoneName: name))
            let subscription = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "in \(name)")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldBadge: true)
            try await database.save(subscription)
        }
        return (store, account, phone.container(Self.identifier), database)
    }

    @Test("[N-05] a device fetches waiting notifications in pages from a token, and they wait until marked as read")
    func pages() async throws {
        let (_, _, phone, database) = try await make()
        for name in ["A", "B", "C"] { try await database.save(note("n", in: name)) }
        let first = await fetch(phone, limit: 2)
        #expect(first.subscriptions == ["in A", "in B"])
        #expect(first.isMoreComing)
        #expect(first.code == nil)
        let second = await fetch(phone, since: first.token, limit: 2)
        #expect(second.subscriptions == ["in C"])
        #expect(!second.isMoreComing)
        #expect(await fetch(phone, since: second.token).subscriptions.isEmpty)
        // Nothing was lost: a client that starts over gets all of it, under the same identities.
        let all = await fetch(phone)
        #expect(all.subscriptions == ["in A", "in B", "in C"])
        #expect(all.ids == first.ids + second.ids)

        let (read, error) = await markRead([all.ids[0], all.ids[2]], in: phone)
        #expect(read == [all.ids[0], all.ids[2]])
        #expect(error == nil)
        #expect(await fetch(phone).subscriptions == ["in B"])
        // What is read already is read.
        #expect(await markRead([all.ids[0]], in: phone).1 == nil)
        #expect(await fetch(phone).ids == [all.ids[1]])
        // A newer notification replaces the waiting one, and is delivered from the last token on.
        try await database.save(note("m", in: "B"))
        let newer = await fetch(phone, since: second.token)
        #expect(newer.subscriptions == ["in B"])
        #expect(newer.ids != [all.ids[1]])
        #expect(await fetch(phone).ids == newer.ids)
    }

    @Test("[N-05] a notification read on one device waits for the others, and one that a listener took is not fetched")
    func devices() async throws {
        let (store, account, phone, database) = try await make()
        let desk = try await store.device("desk", signedInAs: account)
        try await database.save(note("n", in: "A"))
        let onPhone = await fetch(phone)
        #expect(await markRead(onPhone.ids, in: phone).1 == nil)
        #expect(await fetch(phone).subscriptions.isEmpty)
        #expect(await fetch(desk.container(Self.identifier)).subscriptions == ["in A"])
        let heard = Heard.of(desk)
        await store.settle()
        #expect(heard.all == ["in A zone A"])
        #expect(await fetch(desk.container(Self.identifier)).subscriptions.isEmpty)
        // Identities are a device's own.
        try await database.save(note("m", in: "A"))
        #expect(await markRead(onPhone.ids, in: phone).1 == nil)
        #expect(await fetch(phone).subscriptions == ["in A"])
    }

    @Test("[N-08] notifications of another container are neither fetched nor marked as read")
    func containers() async throws {
        let (store, account, phone, database) = try await make()
        let other = try await store.device("phone", signedInAs: account).container("iCloud.other")
        try await database.save(note("n", in: "A"))
        let fetched = await fetch(phone)
        #expect(await fetch(other).subscriptions.isEmpty)
        #expect(await markRead(fetched.ids, in: other).1 == nil)
        #expect(await fetch(phone).ids == fetched.ids)
    }

    @Test(
        "[X-24][X-30] a token is valid for the device, the container and the person that received it, and for no one else"
    )
    func tokens() async throws {
        let (store, account, phone, database) = try await make()
        try await database.save(note("n", in: "A"))
        let token = await fetch(phone).token
        let bob = try await store.createAccount(.init(), externalID: "bob")
        let strangers = await [
            try store.device("desk", signedInAs: account).container(Self.identifier),
            try store.device("phone", signedInAs: account).container("iCloud.other"),
            try store.device("phone", signedInAs: bob).container(Self.identifier),
        ]
        for stranger in strangers { #expect(await fetch(stranger, since: token).code == .changeTokenExpired) }
        let change = try await database.recordZoneChanges(inZoneWith: .init(zoneName: "A"), since: nil)
        #expect(await fetch(phone, since: change.changeToken).code == .changeTokenExpired)
        // A device that is removed and added again gets the later ones.
        try await store.device("phone", signedInAs: account).remove()
        _ = try await store.device("phone", signedInAs: account)
        try await database.save(note("m", in: "B"))
        #expect(await fetch(phone, since: token).subscriptions == ["in B"])
    }

    @Test("the first of the operations registers its device; a container without a device has none")
    func unknownDevice() async throws {
        let (store, account) = try Stratus.tested()
        try await store.signIn(account)
        let app = store.container(Self.identifier)
        #expect(try await store.devices(of: account).isEmpty)
        let first = await fetch(app)
        #expect(first.token != nil)
        #expect(first.subscriptions.isEmpty)
        #expect(try await store.devices(of: account).map(\.name) == ["local"])
        let other = store.container(Self.identifier, signedInAs: account)
        let zone = try await other.privateCloudDatabase.save(CKRecordZone(zoneName: "A"))
        try await other.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
        try await other.privateCloudDatabase.save(note("n", in: zone.zoneID.zoneName))
        #expect(await fetch(app, since: first.token).subscriptions == ["all"])
        #expect(await fetch(other).code == .invalidArguments)
        #expect(await markRead([], in: other).1 == nil)
        #expect(await markRead(fetch(app).ids, in: other).1?.code == .invalidArguments)
        store.signOut()
        #expect(await fetch(app).code == .notAuthenticated)
    }

    @Test("[N-04] the badge that an operation sets is stored, and notifications count from it")
    func badge() async throws {
        let (_, _, phone, database) = try await make()
        let failed = Locked<CKError?>(nil)
        for value in [41, -3, 7] {
            let operation = operations.badge(value)
            #expect(operation.badgeValue == value)
            operation.modifyBadgeCompletionBlock = { error in failed.withLock { $0 = error as? CKError } }
            await run(operation, in: phone)
            #expect(failed.value == nil)
        }
        let badges = Locked<[NSNumber?]>([])
        try await database.save(note("n", in: "A"))
        try await database.save(note("n", in: "B"))
        let operation = operations.changes(since: nil)
        operation.notificationChangedBlock = { notification in
            badges.withLock { $0.append(operations.badge(of: notification)) }
        }
        await run(operation, in: phone)
        #expect(badges.value == [8, 9])
    }
}
