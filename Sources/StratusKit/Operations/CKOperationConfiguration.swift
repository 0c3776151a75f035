// How an operation is to run. Every property remembers whether it was set, because what was not set is inherited: an
// operation's own value goes before its group's, and that before the built-in one (O-12).

public import Foundation
import StratusStore

extension CKOperation {
    /// How an operation is to run. Properties that were not set have the group's value, else a built-in one.
    public final class Configuration: NSObject, NSCopying, Sendable {
        /// The values that were set; nil for those that were not.
        struct Explicit: Sendable {
            var container: CKContainer?
            var qualityOfService: QualityOfService?
            var allowsCellularAccess: Bool?
            var isLongLived: Bool?
            var requestSeconds: TimeInterval?
            var resourceSeconds: TimeInterval?

            /// These values, and where one is not set that of `other`.
            func inheriting(_ other: Explicit?) -> Explicit {
                guard let other else { return self }
                return Explicit(
                    container: container ?? other.container,
                    qualityOfService: qualityOfService ?? other.qualityOfService,
                    allowsCellularAccess: allowsCellularAccess ?? other.allowsCellularAccess,
                    isLongLived: isLongLived ?? other.isLongLived,
                    requestSeconds: requestSeconds ?? other.requestSeconds,
                    resourceSeconds: resourceSeconds ?? other.resourceSeconds)
            }
        }

        private let values: Locked<Explicit>

        /// A configuration in which nothing is set.
        public override init() {
            values = Locked(Explicit())
            super.init()
        }

        init(_ explicit: Explicit) {
            values = Locked(explicit)
            super.init()
        }

        var explicit: Explicit { values.value }

        /// The container; nil for the default one.
        public var container: CKContainer? {
            get { explicit.container }
            set { values.withLock { $0.container = newValue } }
        }

        /// How urgent the operation is: it decides the order in which requests are sent, the resource time-out, and
        /// whether network errors are tried again (O-10). By default `.default`.
        public var qualityOfService: QualityOfService {
            get { explicit.qualityOfService ?? .default }
            set { values.withLock { $0.qualityOfService = newValue } }
        }

        /// Without meaning here, since no request leaves the machine. By default true.
        public var allowsCellularAccess: Bool {
            get { explicit.allowsCellularAccess ?? true }
            set { values.withLock { $0.allowsCellularAccess = newValue } }
        }

        /// Whether the operation outlives its process (O-14). By default false.
        public var isLongLived: Bool {
            get { explicit.isLongLived ?? false }
            set { values.withLock { $0.isLongLived = newValue } }
        }

        /// How many seconds one request may take. By default 60; zero and less for no limit.
        public var timeoutIntervalForRequest: TimeInterval {
            get { explicit.requestSeconds ?? EffectiveConfiguration.defaultRequestSeconds }
            set { values.withLock { $0.requestSeconds = newValue } }
        }

        /// How many seconds the operation may take, pauses and repetitions included. By default a week, and no limit
        /// (infinity) for the user's own business (O-10); zero and less for no limit.
        public var timeoutIntervalForResource: TimeInterval {
            get { explicit.resourceSeconds ?? EffectiveConfiguration.defaultResourceSeconds(for: qualityOfService) }
            set { values.withLock { $0.resourceSeconds = newValue } }
        }

        /// A configuration of its own with the same values set.
        public func copy(with zone: NSZone? = nil) -> Any { Configuration(explicit) }
    }
}

/// What an operation runs with, decided when it starts (O-12).
struct EffectiveConfiguration: Sendable {
    static let defaultRequestSeconds: TimeInterval = 60
    private static let weekSeconds: TimeInterval = 7 * 86_400

    let container: CKContainer?
    let qualityOfService: QualityOfService
    let isLongLived: Bool
    /// Nil for no limit.
    let requestSeconds: TimeInterval?
    let resourceSeconds: TimeInterval?

    init(_ explicit: CKOperation.Configuration.Explicit, qualityOfService builtIn: QualityOfService) {
        let urgency = explicit.qualityOfService ?? builtIn
        container = explicit.container
        qualityOfService = urgency
        isLongLived = explicit.isLongLived ?? false
        requestSeconds = Self.limit(explicit.requestSeconds ?? Self.defaultRequestSeconds)
        resourceSeconds = Self.limit(explicit.resourceSeconds ?? Self.defaultResourceSeconds(for: urgency))
    }

    static func defaultResourceSeconds(for qualityOfService: QualityOfService) -> TimeInterval {
        switch qualityOfService {
        case .userInteractive, .userInitiated: .infinity
        default: weekSeconds
        }
    }

    private static func limit(_ seconds: TimeInterval) -> TimeInterval? {
        seconds > 0 && seconds < .infinity ? seconds : nil
    }

    /// The time that a single request has; nil for no limit.
    var shortestSeconds: TimeInterval? {
        guard let requestSeconds, let resourceSeconds else { return requestSeconds ?? resourceSeconds }
        return min(requestSeconds, resourceSeconds)
    }

    /// Which of the requests that wait is sent first.
    var priority: BlockingPool.Priority {
        switch qualityOfService {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .utility: .utility
        case .background: .background
        default: .normal
        }
    }

    /// Whether errors of the network are tried again until the time is over (O-10).
    var retriesNetworkErrors: Bool { qualityOfService == .utility || qualityOfService == .background }
}

/// What everything done through a container or database of `configuredWith` inherits.
struct ConfiguredDefaults: OperationDefaults {
    var configuration: CKOperation.Configuration?
    var group: CKOperationGroup?
}
