// Where the events of a store go: the host's hook, its log, its metrics.
//
// The names of metrics and of their dimensions are documented in Docs/HOST.md and do not change.

public import Foundation
import Logging
import Metrics
import StratusCloud
import StratusModel
import StratusStore

/// Tells a host of every request.
final class EventOutput: Sendable {
    private let hook: (@Sendable (Stratus.Event) -> Void)?
    private let logger: Logger?
    private let metrics: RequestMetrics?
    /// Whoever watches from another process.
    let feed: EventFeed
    private let clock: any CloudClock
    private let secretBase: String

    /// `secretBase` is what the URLs of shares begin with, which nobody who watches gets to know.
    init(
        hook: (@Sendable (Stratus.Event) -> Void)?, logger: Logger?, metricsFactory: (any MetricsFactory)?,
        feed: EventFeed, clock: any CloudClock, secretBase: String
    ) {
        self.feed = feed
        self.clock = clock
        self.secretBase = secretBase
        self.hook = hook
        self.logger = logger
        metrics = metricsFactory.map(RequestMetrics.init)
    }

    func tell(_ event: CloudEvent) {
        metrics?.record(event)
        if let logger { log(event, logger) }
        if feed.isWatched { feed.tell(WatchedEvent(event, at: clock.now, hiding: secretBase)) }
        hook?(Stratus.Event(event))
    }

    /// Says something that is no request, at a level of its own.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        logger?.log(level: level, message, metadata: metadata)
    }

    /// Reports that the store takes no writes, with the reason, or takes them again.
    func tellRecovery(_ error: (any Error)?) {
        metrics?.record(takesWrites: error == nil)
        tell(
            CloudEvent(
                kind: .recoverStore, caller: Caller(container: "", account: nil),
                error: error.map { error in
                    CloudError(
                        .serviceUnavailable,
                        "The store takes no writes: fix the cause, then call recover() or wait for it.",
                        cause: "\(error)")
                }))
    }

    /// Tells that notifications could not be handed on.
    func tellDeliveryFailure(_ error: any Error) {
        let caller = Caller(container: "", account: nil)
        tell(CloudEvent(kind: .deliverNotifications, caller: caller, error: CloudError(answering: error)))
    }

    private func log(_ event: CloudEvent, _ logger: Logger) {
        // What only the host can mend is an error; what the client must deal with is not.
        if [.openStore, .queryUnknownField].contains(event.kind), let error = event.error {
            return logger.warning("\(error.message)", metadata: error.fields.mapValues { .string($0) })
        }
        let isDelivery = event.kind == .deliverNotifications
        let isContent = event.kind == .fetchAssets && event.error?.code == .assetNotAvailable
        let isHostsBusiness =
            isDelivery || isContent || event.error?.code == .internalError || event.error?.code == .serviceUnavailable
        let level: Logger.Level =
            event.error == nil
            ? event.kind == .recoverStore ? .notice : .trace : isHostsBusiness ? .error : .debug
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "operation": .string(event.kind.rawValue),
            "container": .string(event.caller.container.text),
            "items": .stringConvertible(event.itemCount),
            "failedItems": .stringConvertible(event.failedItemCount),
            "conflicts": .stringConvertible(event.conflictCount),
            "commits": .stringConvertible(event.commitCount),
            "durationSeconds": .stringConvertible(event.durationSeconds),
        ]
        if let account = event.caller.account { metadata["account"] = .string(account.text) }
        if let error = event.error { metadata["error"] = .string(error.description) }
        let message: Logger.Message =
            if isDelivery {
                "notifications cannot be delivered"
            } else if event.kind == .recoverStore {
                event.error == nil ? "the store takes writes" : "the store takes no writes"
            } else if isContent {
                "the content of an asset cannot be read"
            } else {
                event.error == nil ? "request answered" : "request failed"
            }
        logger.log(level: level, message, metadata: metadata)
    }
}

/// The metrics of requests, one set for each kind and outcome, made once.
private final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        var kind: RequestKind
        var isFailed: Bool
    }

    private struct Instruments: Sendable {
        let requests: Counter
        let items: Counter
        let failedItems: Counter
        let conflicts: Counter
        let commits: Counter
        let duration: Timer
    }

    private let sets: [Key: Instruments]
    /// 1 while the store takes writes, else 0.
    private let takesWrites: Gauge

    init(factory: any MetricsFactory) {
        var sets: [Key: Instruments] = [:]
        for kind in RequestKind.allCases {
            for isFailed in [false, true] {
                let dimensions = [("operation", kind.rawValue), ("outcome", isFailed ? "failed" : "answered")]
                func counter(_ name: String) -> Counter {
                    Counter(label: "stratus.\(name)", dimensions: dimensions, factory: factory)
                }
                sets[Key(kind: kind, isFailed: isFailed)] = Instruments(
                    requests: counter("requests"), items: counter("items"), failedItems: counter("items.failed"),
                    conflicts: counter("conflicts"), commits: counter("commits"),
                    duration: Timer(label: "stratus.request.duration", dimensions: dimensions, factory: factory))
            }
        }
        self.sets = sets
        takesWrites = Gauge(label: "stratus.store.takesWrites", factory: factory)
        takesWrites.record(1)
    }

    func record(takesWrites isTaking: Bool) { takesWrites.record(isTaking ? 1 : 0) }

    func record(_ event: CloudEvent) {
        guard let set = sets[Key(kind: event.kind, isFailed: event.error != nil)] else { return }
        set.requests.increment()
        set.items.increment(by: event.itemCount)
        set.failedItems.increment(by: event.failedItemCount)
        set.conflicts.increment(by: event.conflictCount)
        set.commits.increment(by: event.commitCount)
        set.duration.recordNanoseconds(Int64(event.durationSeconds * 1e9))
    }
}

// What a host can watch: one event for every request that was answered, and for what has failed unasked.

extension Stratus {
    /// A request that has been answered, with what it cost.
    ///
    /// An operation of a client is one request, and so is each of the convenience calls; one that is answered in pages is
    /// a request for each page. Where notifications cannot be handed on there is an event of
    /// ``Operation/deliverNotifications``, with its error and nothing else: what waits is safe, and is tried again. Where
    /// the content of an asset is missing, damaged or unreadable there is an event of ``Operation/fetchAssets`` each time
    /// it is asked for, with an error that names the file: restore that file from a backup.
    public struct Event: Sendable {
        /// What was asked for.
        public let operation: Operation
        /// The identifier of the container; empty for what concerns the store as a whole.
        public let containerIdentifier: String
        /// ``Account/id`` of who asked; nil when nobody was signed in.
        public let accountID: String?
        /// Records or zones that were asked for.
        public let itemCount: Int
        /// Those of them that failed.
        public let failedItemCount: Int
        /// Those of them that failed because the server's record was newer (`serverRecordChanged`).
        public let conflictCount: Int
        /// Commits that were made: one for each zone at most.
        public let commitCount: Int
        /// From the beginning of the work to its end, in seconds.
        public let durationSeconds: TimeInterval
        /// The error of the request as a whole; nil also where items failed.
        public let errorCode: CKError.Code?
        /// The description of that error, with its variables.
        public let errorDescription: String?

        init(_ event: CloudEvent) {
            operation = Operation(event.kind)
            containerIdentifier = event.caller.container.text
            accountID = event.caller.account?.text
            itemCount = event.itemCount
            failedItemCount = event.failedItemCount
            conflictCount = event.conflictCount
            commitCount = event.commitCount
            durationSeconds = event.durationSeconds
            errorCode = event.error.flatMap { CKError.Code(rawValue: $0.code.rawValue) }
            errorDescription = event.error.map(\.description)
        }
    }
}
