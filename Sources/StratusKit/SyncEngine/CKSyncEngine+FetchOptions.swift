// What a fetch is to bring, and why it is made.

extension CKSyncEngine {
    /// What a fetch is to bring.
    public struct FetchChangesOptions: Sendable, CustomStringConvertible {
        /// Which zones are fetched.
        public enum Scope: Equatable, Sendable, CustomStringConvertible {
            /// All zones.
            case all
            /// All zones but these.
            case allExcluding([CKRecordZone.ID])
            /// These zones.
            case zoneIDs([CKRecordZone.ID])

            /// Whether a zone is fetched.
            /// - Parameter zoneID: The zone.
            /// - Returns: Whether it is in the scope.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let excluded): !excluded.contains(zoneID)
                case .zoneIDs(let included): included.contains(zoneID)
                }
            }

            /// The scope's name and its zones.
            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let excluded): "allExcluding(\(excluded))"
                case .zoneIDs(let included): "zoneIDs(\(included))"
                }
            }
        }

        /// Which zones are fetched. Which zones there are is always asked (E-15).
        public var scope: Scope
        /// The group of the fetch's operations.
        public var operationGroup: CKOperationGroup
        /// Zones that are fetched before all others, the first one first. Those without changes are passed over (E-15).
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Options of a fetch.
        /// - Parameters:
        ///   - scope: Which zones are fetched.
        ///   - operationGroup: The group of the fetch's operations; nil for one of its own.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        /// The scope, and what goes first.
        public var description: String {
            "<CKSyncEngine.FetchChangesOptions: scope=\(scope), prioritizedZoneIDs=\(prioritizedZoneIDs)>"
        }
    }

    /// Why an engine fetches, and what.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        /// Why.
        public let reason: CKSyncEngine.SyncReason
        /// What.
        public let options: CKSyncEngine.FetchChangesOptions

        /// The reason and the options.
        public var description: String {
            "<CKSyncEngine.FetchChangesContext: reason=\(reason), options=\(options)>"
        }
    }
}
