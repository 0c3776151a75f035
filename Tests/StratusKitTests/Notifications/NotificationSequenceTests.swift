// Notifications of Foundation's center, awaited one after the other like clients of Apple's Foundation do.

import Foundation
import StratusKit
import StratusTesting
import Testing

@Suite struct NotificationSequenceTests {
    private let center = NotificationCenter()
    private let name = Notification.Name("NotificationSequenceTests")

    @Test("[O-18] a loop over notifications learns that the account has changed", .stratus)
    func account() async throws {
        let store = try Stratus.current
        let container = CKContainer.default()
        var changes = NotificationCenter.default.notifications(named: .CKAccountChanged).makeAsyncIterator()
        #expect(try await container.accountStatus() == .available)
        store.signOut()
        // Other tests' accounts change meanwhile: only the name of the notification counts.
        #expect(await changes.next()?.name == .CKAccountChanged)
        #expect(try await container.accountStatus() == .noAccount)
    }

    @Test("notifications come in order, from the start of the loop, and only those of the name and the object")
    func order() async {
        let other = Listener()
        center.post(name: name, object: other, userInfo: ["number": 0])
        var all = center.notifications(named: name).makeAsyncIterator()
        var some = center.notifications(named: name, object: sender).makeAsyncIterator()
        center.post(name: Notification.Name("another"), object: sender)
        center.post(name: name, object: other, userInfo: ["number": 1])
        center.post(name: name, object: sender, userInfo: ["number": 2])
        #expect(await all.next()?.userInfo?["number"] as? Int == 1)
        #expect(await all.next()?.userInfo?["number"] as? Int == 2)
        #expect(await some.next()?.userInfo?["number"] as? Int == 2)
    }

    @MainActor @Test("a loop on the main actor takes notifications that are not sendable, and ends with its task")
    func cancelling() async {
        let notifications: NotificationCenter.Notifications = center.notifications(named: name)
        let (heard, tell) = AsyncStream.makeStream(of: Int.self)
        let task = Task { @MainActor in
            var count = 0
            var iterator = notifications.makeAsyncIterator()
            tell.yield(count)
            while await iterator.next(isolation: #isolation) != nil {
                count += 1
                tell.yield(count)
            }
            return count
        }
        var told = heard.makeAsyncIterator()
        #expect(await told.next() == 0)
        center.post(name: name, object: nil)
        #expect(await told.next() == 1)
        task.cancel()
        #expect(await task.value == 1)
    }

    @Test("a listener that has stopped is not retained")
    func release() async {
        weak var listener: Listener?
        do {
            let object = Listener()
            listener = object
            let iterator = center.notifications(named: name, object: object).makeAsyncIterator()
            _ = consume iterator
        }
        #expect(listener == nil)
    }

    private let sender = Listener()
}

/// A poster of notifications.
private final class Listener: NSObject, Sendable {}
