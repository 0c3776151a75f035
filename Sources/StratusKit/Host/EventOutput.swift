// The events of a store, and where they go: the host's hook, its log, its metrics.
//
// Docs/HOST.md documents the names of metrics and of their dimensions. Never change them.

public import Foundation
import Logging
import Metrics
import StratusCloud
import StratusModel

/// Reports every request to a host.
final class EventOutput: Sendable {
    private let hook: (@Sendable (Stratus.Event) -> Void)?
    private let logger: Logger?
    private let metrics: RequestMetrics?
    /// The watchers in other processes.
    let feed = EventFeed()
    private let clock: any CloudClock
    /// The beginning of the URLs of shares, whose secrets watchers must not get.
    private let secretBase: String

    init(_ options: Stratus.Options, clock: any CloudClock) {
        self.clock = clock
        secretBase = options.shareURLBase
        hook = options.onEvent
        logger = options.logger
        metrics = options.metricsFactory.map(RequestMetrics.init)
    }

    func tell(_ event: CloudEvent) {
        metrics?.record(event)
        if let logger { log(event, logger) }
        if feed.isWatched { feed.tell(WatchedEvent(event, at: clock.now, hiding: secretBase)) }
        hook?(Stratus.Event(event))
    }

    /// Logs a message that is not about a request.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        logger?.log(level: level, message, metadata: metadata)
    }

    /// Reports that the store refuses writes, with the reason, or that it accepts them again.
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

    /// Reports that notifications could not be delivered.
    func tellDeliveryFailure(_ error: any Error) {
        let caller = Caller(container: "", account: nil)
        tell(CloudEvent(kind: .deliverNotifications, caller: caller, error: CloudError(answering: error)))
    }

    private func log(_ event: CloudEvent, _ logger: Logger) {
        // Problems that only the host can fix are errors; problems that clients must handle are not.
        if [.openStore, .queryUnknownField].contains(event.kind), let error = event.error {
            return logger.warning("\(error.message)", metadata: error.fields.mapValues { .string($0) })
        }
        let (level, message): (Logger.Level, Logger.Message) =
            switch (event.kind, event.error?.code) {
            case (.deliverNotifications, _): (.error, "notifications cannot be delivered")
            case (.recoverStore, nil): (.notice, "the store takes writes")
            case (.recoverStore, _?): (.error, "the store takes no writes")
            case (.fetchAssets, .assetNotAvailable?): (.error, "the content of an asset cannot be read")
            case (_, nil): (.trace, "request answered")
            case (_, .internalError?), (_, .serviceUnavailable?): (.error, "request failed")
            case (_, _?): (.debug, "request failed")
            }
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
        logger.log(level: level, message, metadata: metadata)
    }
}

/// The metrics of requests, one set for each kind and outcome, created once.
private final class RequestMetrics: Sendable {
    private struct Instruments: Sendable {
        let requests: Counter
        let items: Counter
        let failedItems: Counter
        let conflicts: Counter
        let commits: Counter
        let duration: Timer
    }

    private let answered: [RequestKind: Instruments]
    private let failed: [RequestKind: Instruments]
    /// 1 while the store takes writes, else 0.
    private let takesWrites: Gauge

    init(factory: any MetricsFactory) {
        func instruments(_ kind: RequestKind, _ outcome: String) -> Instruments {
            let dimensions = [("operation", kind.rawValue), ("outcome", outcome)]
            func counter(_ name: String) -> Counter {
                Counter(label: "stratus.\(name)", dimensions: dimensions, factory: factory)
            }
            return Instruments(
                requests: counter("requests"), items: counter("items"), failedItems: counter("items.failed"),
                conflicts: counter("conflicts"), commits: counter("commits"),
                duration: Timer(label: "stratus.request.duration", dimensions: dimensions, factory: factory))
        }
        let kinds = RequestKind.allCases
        answered = Dictionary(uniqueKeysWithValues: kinds.map { ($0, instruments($0, "answered")) })
        failed = Dictionary(uniqueKeysWithValues: kinds.map { ($0, instruments($0, "failed")) })
        takesWrites = Gauge(label: "stratus.store.takesWrites", factory: factory)
        takesWrites.record(1)
    }

    func record(takesWrites isTaking: Bool) { takesWrites.record(isTaking ? 1 : 0) }

    func record(_ event: CloudEvent) {
        guard let set = (event.error == nil ? answered : failed)[event.kind] else { return }
        set.requests.increment()
        set.items.increment(by: event.itemCount)
        set.failedItems.increment(by: event.failedItemCount)
        set.conflicts.increment(by: event.conflictCount)
        set.commits.increment(by: event.commitCount)
        set.duration.recordNanoseconds(Int64(event.durationSeconds * 1e9))
    }
}

extension Stratus {
    /// A request that was answered, and its cost.
    ///
    /// An operation of a client is one request, and so is each convenience call. A request that is answered in pages
    /// has an event for each page. If notifications cannot be delivered, there is an event of
    /// ``Operation/deliverNotifications`` with only an error: waiting notifications are safe, and delivery is tried
    /// again. A damaged notification has one such event, and the others are delivered. If the content of an asset is
    /// missing, damaged or unreadable, there is an event of ``Operation/fetchAssets`` at each attempt to read it. Its
    /// error names the file: restore that file from a backup.
    public struct Event: Sendable {
        /// The kind of request.
        public let operation: Operation
        /// The identifier of the container; empty for an event of the whole store.
        public let containerIdentifier: String
        /// ``Account/id`` of the caller; nil if no account was signed in.
        public let accountID: String?
        /// The number of records or zones in the request.
        public let itemCount: Int
        /// How many of them failed.
        public let failedItemCount: Int
        /// How many of them failed because the server's record was newer (`serverRecordChanged`).
        public let conflictCount: Int
        /// The number of commits: at most one for each zone.
        public let commitCount: Int
        /// The duration of the work, in seconds.
        public let durationSeconds: TimeInterval
        /// The error of the request as a whole; nil if only items failed.
        public let errorCode: CKError.Code?
        /// The description of that error, including its variables.
        public let errorDescription: String?
        /// The error's message without code and variables.
        package let errorMessage: String?

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
            errorMessage = event.error.map(\.message)
        }
    }
}
