// One open store as clients use it: the server, the signed-in account, the threads that wait for the server, the
// timers, and pending deliveries; and how a container or operation finds its session.

import Foundation
package import StratusCloud
package import StratusModel
package import StratusStore

/// A session with a server. Containers without an account of their own act for the account signed in here.
package final class CloudSession: SessionSource {
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
    /// The listeners for notifications.
    package let hub: NotificationHub
    /// The container that `CKContainer.default()` means in this session.
    package let defaultContainerIdentifier: String
    /// Whether the single-item call to delete a zone that does not exist succeeds.
    package let unknownZoneDeletionSucceeds: Bool

    package let defaultContainer = Locked(WeakObject(object: nil))
    private let signedIn: Locked<AccountID?>
    private let notifications: CallbackQueue

    /// The device name of containers that act for the signed-in account.
    package static let localDeviceName = "local"

    /// Creates a session. At most `threadCount` requests wait for the server at a time.
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

    /// The account that containers without one of their own act for; nil if no account is signed in.
    package var account: AccountID? { signedIn.value }

    /// Signs another account in, or out with nil. A change posts `CKAccountChanged` (O-18), with `deleted` also for the
    /// containers of that account.
    package func signIn(_ account: AccountID?, after deleted: AccountID? = nil) {
        let last = signedIn.withLock { exchange(&$0, with: account) }
        if last != account { postAccountChange(of: deleted.map { [nil, $0] } ?? [nil]) }
    }

    /// Posts that the status of accounts has changed, also when a host suspends or restores one. Nil means the
    /// signed-in account, after another one signed in or it signed out. The notification is posted once for each
    /// container of the account, on a queue of the session and never on the caller's thread.
    package func postAccountChange(of accounts: [AccountID?]) {
        hub.watchers.notifyOfAccounts()
        activity.begin()
        notifications.async { [self] in
            for holder in AccountHolders.all where accounts.contains(where: { holder.isOf($0, in: self) }) {
                NotificationCenter.default.post(name: .CKAccountChanged, object: holder)
            }
            activity.end()
        }
    }

    /// Refuses new requests. Accepted requests are finished, but no longer wait for a retry.
    package func close() {
        activity.close()
        timers.close()
    }

    package var session: CloudSession { self }
    package var openSession: CloudSession? { self }
}

/// An object that acts for an account, and for which changes of that account are posted: a container.
protocol AccountHolder: AnyObject, Sendable {
    /// Whether it acts for the account, or with nil for the signed-in one. Opens no store.
    func isOf(_ account: AccountID?, in session: CloudSession) -> Bool
}

/// The account holders of this process, held weakly.
enum AccountHolders {
    private static let objects = Locked<[ObjectIdentifier: WeakObject]>([:])

    static func add(_ holder: any AccountHolder) {
        objects.withLock { $0[ObjectIdentifier(holder)] = WeakObject(object: holder) }
    }

    static func remove(_ holder: any AccountHolder) {
        objects.withLock { $0[ObjectIdentifier(holder)] = nil }
    }

    /// The caller releases them outside the lock, because their `deinit` takes it.
    static var all: [any AccountHolder] {
        let objects = objects.withLock { Array($0.values) }
        return objects.compactMap { $0.object as? any AccountHolder }
    }
}

// Where containers and operations get their session from: an open session, or the default store, which is opened
// on demand and reopened after it was closed.

/// Where a session comes from. Containers and operations store it when they are created, so that they never use another
/// store than the one that was current then.
package protocol SessionSource: AnyObject, Sendable {
    /// The session to use now. Opens the store if needed, and never fails: if the store cannot be opened, the session
    /// refuses requests.
    var session: CloudSession { get }
    /// The session if it is open; opens nothing.
    var openSession: CloudSession? { get }
    /// The source's default container. It exists once while referenced, and is held weakly, because it refers to the
    /// source.
    var defaultContainer: Locked<WeakObject> { get }
}

/// An object that is not kept alive.
package struct WeakObject: Sendable {
    weak let object: (any AnyObject & Sendable)?
}

// The store that is used where none is named: the task's, else the process's, else the embedded default store.

/// The store that `CKContainer.default()`, `CKContainer(identifier:)` and operations without a container use.
package enum CurrentSession {
    /// A task's own session: tests and hosts that serve many users set it.
    @TaskLocal package static var ofTask: CloudSession?

    private static let ofProcessStorage = Locked<CloudSession?>(nil)

    /// The session of the process.
    package static var ofProcess: CloudSession? {
        get { ofProcessStorage.value }
        set { ofProcessStorage.withLock { $0 = newValue } }
    }

    /// The current source, without opening anything. Containers and operations store it when they are created.
    package static func captured() -> any SessionSource { ofTask ?? ofProcess ?? CloudSession.defaultStore }
}

extension Locked {
    /// The value, made at the first use.
    func made<Made: Sendable>(_ make: () throws -> Made) rethrows -> Made where Value == Made? {
        try withLock { value in
            let made = try value ?? make()
            value = made
            return made
        }
    }
}

/// Replaces a value, and returns the old one.
func exchange<Value>(_ value: inout Value, with new: Value) -> Value {
    defer { value = new }
    return value
}
