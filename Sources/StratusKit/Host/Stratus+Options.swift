// The options of a store, its clocks, and the source of its identifiers.

public import Foundation
public import Logging
public import Metrics
import StratusCloud
import StratusModel
package import StratusStore
import Synchronization

extension Stratus {
    /// Whether saving defines new record types and fields.
    public enum SchemaMode: Hashable, Sendable {
        /// Saving defines new types and fields, as in CloudKit's development environment.
        case development
        /// New types and fields are refused (S-13).
        case production
    }

    /// The options of a store. The defaults are CloudKit's where CloudKit has them.
    ///
    /// If a path is already open in this process, the options of the first opening apply.
    public struct Options: Sendable {
        /// The container of `CKContainer.default()`. Default: `iCloud.default`.
        public var defaultContainerIdentifier = "iCloud.default"

        /// Whether to migrate a store of an older format, which older software cannot open afterwards. The tool asks
        /// first.
        package var migratesOlderFormat = true

        /// What makes the store of `inMemory(options:)`, for tests that run on another one. Nil: a store in memory.
        package var makeMemoryStore: (@Sendable () throws -> any OrderedStore)?

        // MARK: The server's rules

        /// Whether saving defines new record types and fields. Default: `.development`.
        public var schemaMode = SchemaMode.development
        /// The most records and record IDs in one request; a larger request fails with `limitExceeded` (L-01). Default:
        /// 400.
        public var requestItemCount = 400
        /// The most bytes of one request without its assets (L-01). Default: 2 MiB.
        public var requestByteCount = 2 << 20
        /// The most bytes of one asset (L-04); nil, the default, for no limit.
        public var assetByteCount: Int64?
        /// The most bytes of an account whose ``Account/quotaByteCount`` is nil (S-16); nil, the default, for no limit.
        public var quotaByteCount: Int64?
        /// The most bytes in the public database of each container, including assets, no matter who saved them. Public
        /// data belongs to the app (S-16). Nil, the default, for no limit.
        public var publicQuotaByteCount: Int64?
        /// Whether deleting a record that does not exist fails with `unknownItem`. On the real service it succeeds
        /// . Default: false.
        public var unknownRecordDeletionFails = false
        /// Whether `CKDatabase`'s single-item call for deleting a zone succeeds if the zone does not exist.
        /// Default: false, so it fails with `zoneNotFound`.
        public var unknownZoneDeletionSucceeds = false
        /// Whether saving a child gives its parent a new change tag, as the real service may do (S-10). Default: false.
        public var childSaveTouchesParent = false
        /// The length of one unit of the radius in `distanceToLocation:fromLocation:(place, centre) < radius`, in
        /// metres. Default: 1. Use 1,000 for an app that expects kilometres.
        public var queryDistanceUnitMetres = 1.0

        // MARK: Sharing

        /// Whether records can be shared. If not, saving and accepting shares fails with `permissionFailure` (P-19), as
        /// in an app without `CKSharingSupported`. Default: true.
        public var isSharingEnabled = true
        /// The names of containers without sharing in a store with sharing, as for one app without `CKSharingSupported`
        /// among several (P-19). Default: none.
        public var containersWithoutSharing: Set<String> = []
        /// The most participants of one share, including pending and public ones, without its owner (L-12, X-10).
        /// Beyond it: `tooManyParticipants`. Default: 100.
        public var shareParticipantCount = 100
        /// The beginning of the URLs of shares; a secret follows it. When a person opens such a URL, call
        /// `Stratus.open(_:as:)`. A URL is identified by its last part, so you may change the beginning. Default:
        /// `https://stratus.invalid/share/`, which has no server.
        public var shareURLBase = "https://stratus.invalid/share/"
        /// Called after the commit when a person is invited, on the thread that served the request. It must be quick
        /// and must not call the store. It gets what a mail or a message would contain.
        public var onInvitation: (@Sendable (Invitation) -> Void)?

        // MARK: Notifications

        /// The most devices of one person that get notifications. Default: 20.
        public var deviceCount = 20
        /// The most subscriptions of one person in one database. Default: 200.
        public var subscriptionCount = 200
        /// Whether saving a subscription fails with `serverRejectedRequest` if the person has an equal one under
        /// another identifier in the same database, as observed on the real service (N-07). Two are equal with the same
        /// zone, or with the same query, zone and options; their notifications do not matter. Existing subscriptions
        /// stay. Default: false.
        public var duplicateSubscriptionFails = false
        /// The most notifications that wait for one device; beyond it the oldest are dropped (N-05). Default: 100.
        public var waitingNotificationCount = 100
        /// The most bytes of one notification in the store; content beyond it is left out (N-06). Default: 4,096.
        public var notificationByteCount = 4_096

        // MARK: Time and chance

        /// The source of time. Default: the system.
        public var clock = Clock.system
        /// The source of identifiers. Default: the system's generator.
        public var identifiers = Identifiers.random

        // MARK: Memory

        /// How many bytes of a store in a directory are cached in memory, uncompressed; a quarter of them as records.
        /// Default: 64 MiB.
        public var cacheByteCount = 64 << 20
        /// How many bytes may cache the places of records in hierarchies. With them, finding a record's share and
        /// checking a save need not read all ancestors. 0 for no cache; answers are the same. Default: 128 MiB, enough
        /// for about a million records.
        public var hierarchyCacheByteCount = 128 << 20
        /// How many bytes of a store in a directory are collected in memory before they become a table. Two such
        /// buffers may exist at once. Closing writes up to that much, or else opening reads it. The same amount may
        /// hold the names of records in new zones. Between 64 KiB and 1 GiB. Default: 32 MiB.
        public var writeBufferByteCount = 32 << 20

        // MARK: A server

        /// How many connections a store on a PostgreSQL server has at most, which is how many requests it works on at
        /// once. A few more are for reads within requests. The server's `max_connections` must allow all. Default: 16.
        public var postgresConnectionCount = 16
        /// How long opening a store on a server waits for a verb that has it for itself, and `reset()` for
        /// other hosts: until they end, or are found dead, which takes about six seconds. In seconds of the system's
        /// monotonic clock. Default: 10.
        public var leaseWaitSeconds: TimeInterval = 10
        /// Whether a store on a server is opened only while no other host has it, and keeps others out.
        package var excludesHosts = false

        // MARK: Upkeep

        /// The time between runs of the background work: deleted zones, history, orphaned assets. Deleting a zone also
        /// starts it. In seconds of the system's clock; nil: only when the host calls `Stratus.performUpkeep()`.
        /// Default: 60.
        public var upkeepIntervalSeconds: TimeInterval? = 60
        /// How long a copy of an asset stays at its path after the last `CKAsset` of its record is gone, in seconds of
        /// the store's monotonic clock. The client may still have its path. Nil: until the store is opened next.
        /// Default: an hour.
        public var assetCopySeconds: TimeInterval? = 3_600
        /// How long deletions stay in change feeds, in seconds of the store's wall clock, which stamps them. Default:
        /// 30 days.
        public var historySeconds: TimeInterval = 30 * 24 * 3600

        // MARK: Recovery

        /// How long after a failed write the store is reopened automatically, in seconds of the monotonic clock. While
        /// that fails the pauses double, up to a minute. Nil, the default: only when the host calls
        /// `Stratus.recover()`.
        public var recoveryPauseSeconds: TimeInterval?

        // MARK: Watching

        /// Called after every request, on the thread that served it. It must be quick and must not call the store.
        public var onEvent: (@Sendable (Event) -> Void)?
        /// The store's logger. It logs answered requests at `trace`, failed ones at `debug`, and errors that only the
        /// host can fix at `error`. Nil for none. Default: a logger named `stratus`.
        public var logger: Logger? = Logger(label: "stratus")
        /// The factory of the store's metrics; nil for none. Default: the factory of the process when the store is
        /// opened.
        public var metricsFactory: (any MetricsFactory)? = MetricsSystem.factory

        // MARK: The tool

        /// Whether the tool `stratus` may watch this host and write through it while the host has the store open. It
        /// uses a Unix socket in the store's directory that only the host's own user and root can use, and that is
        /// removed when the store is closed. Who may connect may do anything with the store that the host may do. A
        /// store in memory has no socket. Opening a store on a server with it fails: verbs reach that store by its
        /// address. Default: false.
        public var servesTool = false

        /// The default options.
        public init() {}

        var cloudOptions: CloudOptions {
            var options = CloudOptions()
            options.schemaMode = schemaMode == .development ? .development : .production
            options.requestItemCount = requestItemCount
            options.requestByteCount = requestByteCount
            options.assetByteCount = assetByteCount
            options.assetCopySeconds = assetCopySeconds
            options.quotaByteCount = quotaByteCount
            options.publicQuotaByteCount = publicQuotaByteCount
            options.unknownRecordDeletionFails = unknownRecordDeletionFails
            options.unknownZoneDeletionSucceeds = unknownZoneDeletionSucceeds
            options.childSaveTouchesParent = childSaveTouchesParent
            options.queryDistanceUnitMetres = queryDistanceUnitMetres
            options.isSharingEnabled = isSharingEnabled
            options.containersWithoutSharing = Set(containersWithoutSharing.map { ContainerName($0) })
            options.participantCount = shareParticipantCount
            options.shareURLBase = shareURLBase
            options.deviceCount = deviceCount
            options.subscriptionCount = subscriptionCount
            options.duplicateSubscriptionFails = duplicateSubscriptionFails
            options.waitingNotificationCount = waitingNotificationCount
            options.notificationByteCount = notificationByteCount
            return options
        }
    }

    // Clocks: the system's, or one that a test moves by hand.

    /// A store's source of time.
    public enum Clock: Sendable {
        /// The clocks of the system.
        case system
        /// A clock that stands still until you move it.
        case manual(ManualClock)

        var cloudClock: any CloudClock {
            switch self {
            case .system: SystemClock()
            case .manual(let clock): clock
            }
        }
    }

    /// A wall clock and a monotonic clock that stand still until you move them.
    ///
    /// The wall clock stamps records and removes deletions from change feeds. Time-outs, planned faults, retries and
    /// copies of assets use the monotonic clock. `advance(by:)` moves both. One clock may serve several stores.
    public final class ManualClock: HandMovedClock, Sendable {
        private struct Hands: Sendable {
            var now: Date
            var uptimeSeconds = 0.0
            var listeners: [@Sendable () -> Void] = []
        }

        private let hands: Locked<Hands>

        /// Creates a clock. Its wall clock shows `now`, its monotonic clock zero.
        ///
        /// - Parameter now: Default: the beginning of the year 2025, UTC.
        public init(now: Date = Date(timeIntervalSince1970: 1_735_689_600)) {
            hands = Locked(Hands(now: now))
        }

        /// The time of the wall clock. Setting it moves only the wall clock, also backwards, as people do with clocks.
        public var now: Date {
            get { hands.withLock { $0.now } }
            set { move { $0.now = newValue } }
        }

        /// The time of the monotonic clock, in seconds.
        public var uptimeSeconds: Double { hands.withLock { $0.uptimeSeconds } }

        /// Moves both clocks forward by `seconds`, which must not be negative. What became due happens at once.
        public func advance(by seconds: Double) {
            precondition(seconds >= 0, "A monotonic clock does not go back: set `now` to move the wall clock alone.")
            move {
                $0.now += seconds
                $0.uptimeSeconds += seconds
            }
        }

        package func onMove(_ body: @escaping @Sendable () -> Void) {
            hands.withLock { $0.listeners.append(body) }
        }

        private func move(_ change: @Sendable (inout Hands) -> Void) {
            let listeners = hands.withLock { state in
                change(&state)
                return state.listeners
            }
            for listener in listeners { listener() }
        }
    }

    // Identifiers, salts and secrets: from the system's generator, or from a seed.

    /// A store's source of identifiers: identities of zones and accounts, change tags, secret URLs.
    public enum Identifiers: Hashable, Sendable {
        /// The system's generator. Its identifiers are unpredictable.
        case random
        /// A sequence that a seed determines. **For tests only**: the seed reveals every secret.
        case seeded(UInt64)

        func makeSource() -> any IdentifierSource {
            switch self {
            case .random: RandomIdentifiers()
            case .seeded(let seed): SeededIdentifiers(seed: seed)
            }
        }
    }
}
