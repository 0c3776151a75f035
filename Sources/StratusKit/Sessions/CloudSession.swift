// One open store as the client's side uses it: the server, who is signed in, the threads that wait for the server, the
// timers, and what is still to be delivered.

package import Foundation
package import StratusCloud
package import StratusModel
import StratusStore

/// A session with a server. Containers made without an account of their own act for the account signed in here.
package final class CloudSession: Sendable {
    package let server: any CloudServer
    package let clock: any CloudClock
    /// The threads that wait for the server.
    package let pool: BlockingPool
    /// The threads that call clients' blocks, which may wait for one another.
    package let callbackPool = BlockingPool(threadCount: 512)
    package let timers: SessionTimers
    package let activity = SessionActivity()
    package let longLived: LongLivedRegistry
    package let shareObservers = ShareObservers()
    /// Who listens for notifications.
    package let hub: NotificationHub
    /// The container that `CKContainer.default()` means in this session.
    package let defaultContainerIdentifier: String
    /// Whether the single-item call that deletes a zone that does not exist succeeds.
    package let unknownZoneDeletionSucceeds: Bool

    package let sharedObjects = SharedObjects()
    private let signedIn: Locked<AccountID?>
    private let notifications: CallbackQueue

    /// The name of the device on which containers act that act for whoever is signed in.
    package static let localDeviceName = "local"

    /// A session. `threadCount` requests at most wait for the server at a time.
    package init(
        server: any CloudServer, clock: any CloudClock, account: AccountID? = nil,
        defaultContainerIdentifier: String = "iCloud.default", unknownZoneDeletionSucceeds: Bool = false,
        threadCount: Int = 16, longLivedStore: any LongLivedStore = MemoryLongLivedStore(),
        notificationSource: (any NotificationSource)? = nil,
        onDeliveryFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        self.server = server
        self.clock = clock
        self.pool = BlockingPool(threadCount: threadCount)
        self.timers = SessionTimers(clock: clock)
        self.longLived = LongLivedRegistry(store: longLivedStore, clock: clock)
        self.defaultContainerIdentifier = defaultContainerIdentifier
        self.unknownZoneDeletionSucceeds = unknownZoneDeletionSucceeds
        self.signedIn = Locked(account)
        self.notifications = CallbackQueue(pool: callbackPool)
        self.hub = NotificationHub(
            source: notificationSource, activity: activity, pool: callbackPool, onFailure: onDeliveryFailure)
    }

    /// The account that containers without one of their own act for; nil when nobody is signed in.
    package var account: AccountID? { signedIn.value }

    /// Signs another account in, or out with nil. A change posts `CKAccountChanged` (O-18).
    package func signIn(_ account: AccountID?) {
        let hasChanged = signedIn.withLock { signedIn in
            defer { signedIn = account }
            return signedIn != account
        }
        if hasChanged { postAccountChange() }
    }

    /// Tells observers that the status of an account may have changed: also when a host suspends or restores one.
    package func postAccountChange() {
        hub.watchers.tellOfAccounts()
        post(.CKAccountChanged)
    }

    /// Posts a notification from a queue of the session, never from the caller's thread.
    package func post(_ name: Notification.Name) {
        activity.begin()
        notifications.async { [activity] in
            NotificationCenter.default.post(name: name, object: nil)
            activity.end()
        }
    }

    /// Refuses new requests. What was accepted is finished, without waiting to try anything again.
    package func close() {
        activity.close()
        timers.close()
    }
}

extension CloudSession: SessionSource {
    package var session: CloudSession { self }
}
