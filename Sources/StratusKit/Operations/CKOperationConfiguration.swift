// How an operation runs, alone and in a group. Every property remembers whether it was set, because unset properties
// are inherited: an operation's own value precedes its group's, which precedes the built-in value (O-12). A group gives
// its operations defaults and a name; it makes nothing transactional (O-13).

public import Foundation
import StratusStore

extension CKOperation {
    /// How an operation runs. Properties that were not set have the group's value, or else a built-in value.
    public final class Configuration: NSObject, NSCopying, Sendable {
        /// The values that were set; nil for the others.
        struct Explicit: Sendable {
            var container: CKContainer?
            var qualityOfService: QualityOfService?
            var allowsCellularAccess: Bool?
            var isLongLived: Bool?
            var requestSeconds: TimeInterval?
            var resourceSeconds: TimeInterval?

            /// These values; those that are not set are taken from `other`.
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

            static let defaultRequestSeconds: TimeInterval = 60

            /// The values to run with (O-12).
            /// - Parameters:
            ///   - defaults: What `configuredWith` has set.
            ///   - group: The group of the operation; nil for that of `configuredWith`.
            ///   - qualityOfService: The quality of service if nothing sets one.
            /// - Returns: The values.
            func inheriting(
                from defaults: (any OperationDefaults)?, group: CKOperationGroup?, qualityOfService: QualityOfService
            ) -> Self {
                let defaults = defaults as? ConfiguredDefaults
                return inheriting(defaults?.configuration?.explicit)
                    .inheriting((group ?? defaults?.group)?.defaultConfiguration.explicit)
                    .inheriting(Self(qualityOfService: qualityOfService))
            }

            /// What the state machine needs of the values.
            var rules: OperationRules {
                let urgency = qualityOfService ?? .default
                return OperationRules(
                    requestSeconds: Self.limit(requestSeconds ?? Self.defaultRequestSeconds),
                    resourceSeconds: Self.limit(resourceSeconds ?? Self.defaultResourceSeconds(for: urgency)),
                    retriesNetworkErrors: urgency == .utility || urgency == .background)
            }

            static func defaultResourceSeconds(for qualityOfService: QualityOfService) -> TimeInterval {
                switch qualityOfService {
                case .userInteractive, .userInitiated: .infinity
                default: 7 * 86_400
                }
            }

            private static func limit(_ seconds: TimeInterval) -> TimeInterval? {
                seconds > 0 && seconds < .infinity ? seconds : nil
            }

            /// The time limit of an operation that sends a single request; nil for no limit.
            var shortestSeconds: TimeInterval? {
                [rules.requestSeconds, rules.resourceSeconds].compactMap { $0 }.min()
            }
        }

        private let values: Locked<Explicit>

        /// Creates a configuration in which nothing is set.
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

        /// How urgent the operation is. It decides the order of requests, the resource time-out, and whether network
        /// errors are tried again (O-10). By default `.default`.
        public var qualityOfService: QualityOfService {
            get { explicit.qualityOfService ?? .default }
            set { values.withLock { $0.qualityOfService = newValue } }
        }

        /// Has no effect: no request leaves the machine. By default true.
        public var allowsCellularAccess: Bool {
            get { explicit.allowsCellularAccess ?? true }
            set { values.withLock { $0.allowsCellularAccess = newValue } }
        }

        /// Whether the operation outlives its process (O-14). By default false.
        public var isLongLived: Bool {
            get { explicit.isLongLived ?? false }
            set { values.withLock { $0.isLongLived = newValue } }
        }

        /// How many seconds one request may take. By default 60; zero or less for no limit.
        public var timeoutIntervalForRequest: TimeInterval {
            get { explicit.requestSeconds ?? Explicit.defaultRequestSeconds }
            set { values.withLock { $0.requestSeconds = newValue } }
        }

        /// How many seconds the operation may take, pauses and repetitions included. By default a week, and no limit
        /// (infinity) for the user-initiated and user-interactive qualities of service (O-10); zero or less for no
        /// limit.
        public var timeoutIntervalForResource: TimeInterval {
            get { explicit.resourceSeconds ?? Explicit.defaultResourceSeconds(for: qualityOfService) }
            set { values.withLock { $0.resourceSeconds = newValue } }
        }

        /// Returns a new configuration with the same values set.
        public func copy(with zone: NSZone? = nil) -> Any { Configuration(explicit) }
    }
}

/// The defaults of everything that runs through a container or database of `configuredWith`.
struct ConfiguredDefaults: OperationDefaults {
    var configuration: CKOperation.Configuration?
    var group: CKOperationGroup?
}

// Operations that belong together (O-13).

/// Operations that belong together: they inherit the group's configuration where they have none of their own (O-12).
public final class CKOperationGroup: NSObject, NSSecureCoding, Sendable {
    /// How much data the operations of a group are expected to move.
    public enum TransferSize: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Kilobytes.
        case kilobytes = 1
        /// Megabytes.
        case megabytes = 2
        /// Tens of megabytes.
        case tensOfMegabytes = 3
        /// Hundreds of megabytes.
        case hundredsOfMegabytes = 4
        /// Gigabytes.
        case gigabytes = 5
        /// Tens of gigabytes.
        case tensOfGigabytes = 6
        /// Hundreds of gigabytes, or more.
        case hundredsOfGigabytes = 7
    }

    private struct State {
        var defaults = CKOperation.Configuration()
        var name: String?
        var quantity = 0
        var sendSize = TransferSize.unknown
        var receiveSize = TransferSize.unknown
    }

    /// The identity of the group. Archiving keeps it.
    public let operationGroupID: String
    private let state: Locked<State>

    /// Creates a group with a new identity.
    public override init() {
        operationGroupID = UUID.drawn().uuidString
        state = Locked(State())
        super.init()
    }

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The configuration that operations of the group inherit. Setting it copies the value; nil resets it.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { state.withLock { $0.defaults } }
        set {
            let copy = CKOperation.Configuration(newValue?.explicit ?? .init())
            state.withLock { $0.defaults = copy }
        }
    }

    /// A name for logs.
    public var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The number of items that the group handles, for logs.
    public var quantity: Int {
        get { state.withLock { $0.quantity } }
        set { state.withLock { $0.quantity = newValue } }
    }

    /// How much the group is expected to send, for logs.
    public var expectedSendSize: CKOperationGroup.TransferSize {
        get { state.withLock { $0.sendSize } }
        set { state.withLock { $0.sendSize = newValue } }
    }

    /// How much the group is expected to receive, for logs.
    public var expectedReceiveSize: CKOperationGroup.TransferSize {
        get { state.withLock { $0.receiveSize } }
        set { state.withLock { $0.receiveSize = newValue } }
    }

    // MARK: Archiving

    private enum Key {
        static let groupID = "OperationGroupID"
        static let name = "Name"
        static let quantity = "Quantity"
        static let sendSize = "ExpectedSendSize"
        static let receiveSize = "ExpectedReceiveSize"
        static let container = "StratusContainer"
        static let qualityOfService = "StratusQualityOfService"
        static let allowsCellularAccess = "StratusAllowsCellularAccess"
        static let isLongLived = "StratusLongLived"
        static let requestSeconds = "StratusRequestTimeout"
        static let resourceSeconds = "StratusResourceTimeout"
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKOperationGroup"] }

    /// Archives the group with its identity and configuration. Of the container it archives the identifier.
    public func encode(with coder: NSCoder) {
        let state = state.value
        let defaults = state.defaults.explicit
        coder.encodeText(operationGroupID, forKey: Key.groupID)
        coder.encodeText(state.name, forKey: Key.name)
        coder.encode(Int64(state.quantity), forKey: Key.quantity)
        coder.encode(Int64(state.sendSize.rawValue), forKey: Key.sendSize)
        coder.encode(Int64(state.receiveSize.rawValue), forKey: Key.receiveSize)
        coder.encodeText(defaults.container?.scope.identifier, forKey: Key.container)
        if let value = defaults.qualityOfService { coder.encode(Int64(value.rawValue), forKey: Key.qualityOfService) }
        if let value = defaults.allowsCellularAccess { coder.encode(value, forKey: Key.allowsCellularAccess) }
        if let value = defaults.isLongLived { coder.encode(value, forKey: Key.isLongLived) }
        if let value = defaults.requestSeconds { coder.encode(value, forKey: Key.requestSeconds) }
        if let value = defaults.resourceSeconds { coder.encode(value, forKey: Key.resourceSeconds) }
    }

    /// Decodes a group. Invalid values are replaced by those of a new group.
    public init(coder: NSCoder) {
        operationGroupID = coder.decodeText(forKey: Key.groupID) ?? UUID.drawn().uuidString
        var state = State()
        state.name = coder.decodeText(forKey: Key.name)
        state.quantity = Int(clamping: coder.decodeNumber(forKey: Key.quantity))
        state.sendSize = TransferSize(rawValue: Int(clamping: coder.decodeNumber(forKey: Key.sendSize))) ?? .unknown
        state.receiveSize =
            TransferSize(rawValue: Int(clamping: coder.decodeNumber(forKey: Key.receiveSize))) ?? .unknown
        var defaults = CKOperation.Configuration.Explicit()
        defaults.container = coder.decodeText(forKey: Key.container).map { CKContainer(identifier: $0) }
        if coder.containsValue(forKey: Key.qualityOfService) {
            let rawValue = Int(clamping: coder.decodeNumber(forKey: Key.qualityOfService))
            defaults.qualityOfService = QualityOfService(rawValue: rawValue)
        }
        defaults.allowsCellularAccess = coder.decodeFlagIfPresent(forKey: Key.allowsCellularAccess)
        defaults.isLongLived = coder.decodeFlagIfPresent(forKey: Key.isLongLived)
        defaults.requestSeconds = coder.decodeNumberIfPresent(forKey: Key.requestSeconds)
        defaults.resourceSeconds = coder.decodeNumberIfPresent(forKey: Key.resourceSeconds)
        state.defaults = CKOperation.Configuration(defaults)
        self.state = Locked(state)
        super.init()
    }
}
