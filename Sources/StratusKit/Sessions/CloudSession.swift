// One open store as the client's side uses it: the server, who is signed in, the threads that wait for the server, the
// timers, and what is still to be delivered.

import Foundation
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
    /// With `deleted` containers of that account are told, too.
    package func signIn(_ account: AccountID?, after deleted: AccountID? = nil) {
        let hasChanged = signedIn.withLock { signedIn in
            defer { signedIn = account }
            return signedIn != account
        }
        if hasChanged { postAccountChange(of: deleted.map { [nil, $0] } ?? [nil]) }
    }

    /// Posts that the status of accounts has changed, also when a host suspends or restores one; nil where another account
    /// has signed in, or nobody is signed in any more. It is posted once for each container of the account, from a
    /// queue of the session and never from the caller's thread.
    package func postAccountChange(of accounts: [AccountID?]) {
        hub.watchers.tellOfAccounts()
        activity.begin()
        notifications.async { [self] in
            for holder in AccountHolders.all where accounts.contains(where: { holder.isOf($0, in: self) }) {
                NotificationCenter.default.post(name: .CKAccountChanged, object: holder)
            }
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
    package var openSession: CloudSession? { self }
}

/// What acts for an account, and is the object of notifications of its changes: a container.
protocol AccountHolder: AnyObject, Sendable {
    /// Whether it acts for the account, or with nil for the one that is signed in. Opens no store.
    func isOf(_ account: AccountID?, in session: CloudSession) -> Bool
}

/// Those of this process. They are not kept alive.
enum AccountHolders {
    private static let objects = Locked<[ObjectIdentifier: WeakObject]>([:])

    static func add(_ holder: any AccountHolder) {
        objects.withLock { $0[ObjectIdentifier(holder)] = WeakObject(object: holder) }
    }

    static func remove(_ holder: any AccountHolder) {
        objects.withLock { $0[ObjectIdentifier(holder)] = nil }
    }

    /// The caller lets go of them outside the lock, which the last reference to one takes.
    static var all: [any AccountHolder] {
        let objects = objects.withLock { Array($0.values) }
        return objects.compactMap { $0.object as? any AccountHolder }
    }
}

// What a container or an operation was made for: an open session, or the default store, which is opened when it is
// needed and, once closed, opened again.

/// Where a session comes from. Containers and operations keep it from when they are made, so that they never end up in
/// another store than the one that was meant then.
package protocol SessionSource: AnyObject, Sendable {
    /// The session to use now. Opens what has to be opened, and never fails: what cannot be opened refuses requests.
    var session: CloudSession { get }
    /// The session where it is open already; nothing is opened.
    var openSession: CloudSession? { get }
    /// Objects that belong to the source.
    var sharedObjects: SharedObjects { get }
}

/// Objects that there is one of as long as somebody refers to it, such as the default container. They are not kept alive,
/// because they refer to the source.
package final class SharedObjects: Sendable {
    private let objects = Locked<[String: WeakObject]>([:])

    package init() {}

    /// The object under this key, or the one that `make` makes.
    package func object<Shared: AnyObject & Sendable>(for key: String, make: @Sendable () -> Shared) -> Shared {
        objects.withLock { objects in
            if let shared = objects[key]?.object as? Shared { return shared }
            let made = make()
            objects[key] = WeakObject(object: made)
            return made
        }
    }
}

struct WeakObject: Sendable {
    weak let object: (any AnyObject & Sendable)?
}

// Which store is meant where none is named: a task's own, else the process's, else the embedded default store.

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

    /// What is meant now, without opening anything: containers and operations remember it when they are made.
    package static func captured() -> any SessionSource { ofTask ?? ofProcess ?? CloudSession.defaultStore }
}
