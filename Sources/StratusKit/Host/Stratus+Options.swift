// How a host wants a store to be.

public import Foundation
public import Logging
public import Metrics
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

extension Stratus {
    /// Whether record types and fields are learnt from what is saved, or must be known.
    public enum SchemaMode: Hashable, Sendable {
        /// New types and fields are learnt from what is saved, as CloudKit's development environment does.
        case development
        /// New types and fields are refused (S-13).
        case production
    }

    /// How a store is opened. The defaults are CloudKit's where CloudKit has any.
    ///
    /// A path that is open in this process already is shared as it is: the options of whoever opened it first hold.
    public struct Options: Sendable {
        /// The container that `CKContainer.default()` means. Default: `iCloud.default`.
        public var defaultContainerIdentifier = "iCloud.default"

        /// Whether a store of an older format gets that of this software, which older software cannot open any more. The
        /// tool asks first.
        package var migratesOlderFormat = true

        // MARK: The server's rules

        /// Whether record types and fields are learnt from what is saved. Default: `.development`.
        public var schemaMode = SchemaMode.development
        /// Records and record IDs in one request; a request over it fails with `limitExceeded` (L-01). Default: 400.
        public var requestItemCount = 400
        /// Bytes of one request without its assets (L-01). Default: 2 MiB.
        public var requestByteCount = 2 << 20
        /// Bytes of one asset (L-04); nil, the default, for no limit.
        public var assetByteCount: Int64?
        /// Bytes an account may hold where ``Account/quotaByteCount`` is nil (S-16); nil, the default, for no limit.
        public var quotaByteCount: Int64?
        /// Bytes that the public database of each container may hold, assets counted, whoever saved them: public data is
        /// the app's (S-16); nil, the default, for no limit.
        public var publicQuotaByteCount: Int64?
        /// Whether deleting a record that does not exist fails with `unknownItem`, which on the real service it does
        /// not. Default: false.
        public var unknownRecordDeletionFails = false
        /// Whether `CKDatabase`'s single-item call that deletes a zone succeeds where there is none.
        /// Default: false, so that it fails with `zoneNotFound`.
        public var unknownZoneDeletionSucceeds = false
        /// Whether saving a child gives its parent a new change tag, as the real service may do (S-10). Default: false.
        public var childSaveTouchesParent = false
        /// How many metres one unit of the radius is in `distanceToLocation:fromLocation:(place, centre) < radius`.
        /// Default: 1. An app that was written for kilometres finds what it expects with 1,000.
        public var queryDistanceUnitMetres = 1.0

        // MARK: Sharing

        /// Whether records can be shared. Where they cannot, saving and accepting shares fails with `permissionFailure`
        /// (P-19), as in an app without `CKSharingSupported`. Default: true.
        public var isSharingEnabled = true
        /// The names of containers in which records cannot be shared although they can in others, as in one app without
        /// `CKSharingSupported` among several (P-19). Default: none.
        public var containersWithoutSharing: Set<String> = []
        /// Participants of one share, pending and public ones included, its owner not (L-12, X-10). Beyond it
        /// `tooManyParticipants`. Default: 100.
        public var shareParticipantCount = 100
        /// What the URLs of shares begin with; a secret is put behind it. Where somebody opens such a URL, the host calls
        /// `Stratus.open(_:as:)`. A URL is known by its last part, so that the beginning can change. Default:
        /// `https://stratus.invalid/share/`, where nobody answers.
        public var shareURLBase = "https://stratus.invalid/share/"
        /// Called when somebody was invited, after the commit, on the thread that has served the request: it must be quick
        /// and must not call the store. What it is given is what a mail or a message would carry.
        public var onInvitation: (@Sendable (Invitation) -> Void)?

        // MARK: Notifications

        /// Devices of one person that get notifications. Default: 20.
        public var deviceCount = 20
        /// Subscriptions of one person in one database. Default: 200.
        public var subscriptionCount = 200
        /// Whether saving a subscription fails with `serverRejectedRequest` where the person has an equal one under another
        /// identifier in the same database, as the real service has been seen to do (N-07). Equal are two with the same
        /// zone, or with the same query, zone and options, whatever their notifications say. What is in the store already
        /// stays. Default: false.
        public var duplicateSubscriptionFails = false
        /// Notifications that wait for one device; beyond it the oldest are dropped (N-05). Default: 100.
        public var waitingNotificationCount = 100
        /// Bytes of one notification, as the store keeps it; what is over it is left out (N-06). Default: 4,096.
        public var notificationByteCount = 4_096

        // MARK: Time and chance

        /// Where the time comes from. Default: the system.
        public var clock = Clock.system
        /// Where identifiers come from. Default: the system's generator.
        public var identifiers = Identifiers.random

        // MARK: Memory

        /// How many bytes of a directory's store are kept in memory: uncompressed, and a quarter of them as records.
        /// Default: 64 MiB.
        public var cacheByteCount = 64 << 20
        /// How many bytes may hold where records stand, so that asking in which share a record is, and checking a save, need not
        /// walk up to its root. 0 keeps nothing: every answer is the same. Default: 128 MiB, which is enough for about a
        /// million records.
        public var hierarchyCacheByteCount = 128 << 20
        /// How many bytes of a directory's store are gathered in memory before they become a table; two such buffers may exist at
        /// once, as much is read again on opening, and as much may hold which names were written into new zones. Between 64 KiB
        /// and 1 GiB. Default: 32 MiB.
        public var writeBufferByteCount = 32 << 20

        // MARK: Upkeep

        /// How often the background work is done that nothing waits for: deleted zones, history, orphaned assets.
        /// Deleting a zone asks for it at once. In seconds of the system's clock; nil: only when the host calls
        /// `Stratus.performUpkeep()`. Default: 60.
        public var upkeepIntervalSeconds: TimeInterval? = 60
        /// How long a copy of an asset stays where it was handed out when no `CKAsset` of its record is left, in seconds
        /// of the store's monotonic clock. The client may have kept its path. Nil: until the store is opened next.
        /// Default: an hour.
        public var assetCopySeconds: TimeInterval? = 3_600
        /// How long deletions stay in change feeds, in seconds of the store's wall clock, which stamps them. Default: 30
        /// days.
        public var historySeconds: TimeInterval = 30 * 24 * 3600

        // MARK: Recovery

        /// How long after a failed write the store is opened again by itself, in seconds of the monotonic clock; while that
        /// fails the pauses double, up to a minute. Nil, the default: only when the host calls `Stratus.recover()`.
        public var recoveryPauseSeconds: TimeInterval?

        // MARK: Watching

        /// Called after every request, on the thread that has served it: it must be quick and must not call the store.
        public var onEvent: (@Sendable (Event) -> Void)?
        /// Where the store logs: answered requests at `trace`, failed ones at `debug`, those only the host can mend at
        /// `error`. Nil for nowhere. Default: a logger named `stratus`.
        public var logger: Logger? = Logger(label: "stratus")
        /// Where the store's metrics are made, or nil for nowhere. Default: what the process has been bootstrapped with
        /// when the store is opened.
        public var metricsFactory: (any MetricsFactory)? = MetricsSystem.factory

        // MARK: The tool

        /// Whether the tool `stratus` may watch this host and write through it while it has the store: by a Unix socket in
        /// the store's directory that the host's own user and root alone can use, and that goes with the store's closing.
        /// Who may connect may do whatever the host may do with its store. A store in memory serves none. Default: false.
        public var servesTool = false

        /// The defaults.
        public init() {}

        var memory: StoreMemory {
            StoreMemory(
                cacheByteCount: cacheByteCount, hierarchyCacheByteCount: hierarchyCacheByteCount,
                writeBufferByteCount: writeBufferByteCount,
                olderFormat: migratesOlderFormat ? .migrated : .refused)
        }

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
}

// The clocks of a store: the system's, or one that a test moves by hand.

extension Stratus {
    /// Where a store takes the time from.
    public enum Clock: Sendable {
        /// The clocks of the system.
        case system
        /// A clock that stands still until it is moved.
        case manual(ManualClock)
    }

    /// A wall clock and a monotonic clock that stand still until they are moved by hand.
    ///
    /// Records are stamped with the wall clock, and by it deletions leave change feeds; time-outs, planned faults, retries
    /// and copies of assets go by the monotonic clock.
    /// `advance(by:)` moves both. One clock may serve several stores.
    public final class ManualClock: Sendable {
        private struct Hands: Sendable {
            var now: Date
            var uptimeSeconds = 0.0
            var listeners: [@Sendable () -> Void] = []
        }

        private let hands: Locked<Hands>

        /// A clock whose wall clock shows `now`, and whose monotonic clock shows zero.
        ///
        /// - Parameter now: By default the beginning of the year 2025, UTC.
        public init(now: Date = Date(timeIntervalSince1970: 1_735_689_600)) {
            hands = Locked(Hands(now: now))
        }

        /// What the wall clock shows. Setting it moves the wall clock alone, backwards too, as people do with clocks.
        public var now: Date {
            get { hands.withLock { $0.now } }
            set { move { $0.now = newValue } }
        }

        /// What the monotonic clock shows, in seconds.
        public var uptimeSeconds: Double { hands.withLock { $0.uptimeSeconds } }

        /// Moves both clocks forward by `seconds`, which must not be negative. What was due meanwhile is told at once.
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
}

extension Stratus.ManualClock: HandMovedClock {}

extension Stratus.Clock {
    var cloudClock: any CloudClock {
        switch self {
        case .system: SystemClock()
        case .manual(let clock): clock
        }
    }
}

// Where a store's identities, salts and secrets come from: the system's generator, or a seed.

extension Stratus {
    /// Where a store draws its identifiers from: the identities of zones and accounts, change tags, secret URLs.
    public enum Identifiers: Hashable, Sendable {
        /// The system's generator: nobody can guess them.
        case random
        /// A sequence that the seed decides: **for tests only**, because who knows the seed knows every secret.
        case seeded(UInt64)
    }
}

/// Identifiers that nobody can guess.
struct RandomIdentifiers: IdentifierSource {
    func makeUUID() -> UUID { .drawn() }

    func makeSalt() -> UInt32 { SystemRandom.salt() }

    func makeSecret(byteCount: Int) -> [UInt8] { SystemRandom.bytes(count: byteCount) }
}

/// Identifiers that a seed decides, in the order they are drawn.
final class SeededIdentifiers: IdentifierSource {
    private let state: Locked<SplitMix64>

    init(seed: UInt64) { state = Locked(SplitMix64(state: seed)) }

    func makeUUID() -> UUID { state.withLock { UUID.drawn(from: &$0) } }

    func makeSalt() -> UInt32 { UInt32(truncatingIfNeeded: state.withLock { $0.next() }) }

    func makeSecret(byteCount: Int) -> [UInt8] {
        state.withLock { generator in
            var bytes: [UInt8] = []
            while bytes.count < byteCount {
                let number = generator.next()
                for shift in stride(from: 0, to: 64, by: 8) where bytes.count < byteCount {
                    bytes.append(UInt8(truncatingIfNeeded: number >> shift))
                }
            }
            return bytes
        }
    }

    /// A generator whose state is a counter, so that it never gives the same number twice.
    private struct SplitMix64: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var number = state
            number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
            number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
            return number ^ (number >> 31)
        }
    }
}

extension Stratus.Identifiers {
    func makeSource() -> any IdentifierSource {
        switch self {
        case .random: RandomIdentifiers()
        case .seeded(let seed): SeededIdentifiers(seed: seed)
        }
    }
}
