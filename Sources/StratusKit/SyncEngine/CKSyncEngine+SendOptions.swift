// What is to be sent, and why.

extension CKSyncEngine {
    /// What is to be sent.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// Which changes are sent. The engine holds its own changes of zones against it; the delegate is to hold its
        /// records against it (E-15).
        public enum Scope: Equatable, Sendable, CustomStringConvertible {
            /// All changes.
            case all
            /// All but those of these zones.
            case allExcluding([CKRecordZone.ID])
            /// Those of these zones.
            case zoneIDs([CKRecordZone.ID])
            /// Those of these records.
            case recordIDs([CKRecord.ID])

            /// Whether a record is sent.
            /// - Parameter recordID: The record.
            /// - Returns: Whether it is in the scope.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let excluded): !excluded.contains(recordID.zoneID)
                case .zoneIDs(let included): included.contains(recordID.zoneID)
                case .recordIDs(let included): included.contains(recordID)
                }
            }

            /// Whether a change is sent.
            /// - Parameter pendingRecordZoneChange: The change.
            /// - Returns: Whether its record is in the scope.
            public func contains(_ pendingRecordZoneChange: CKSyncEngine.PendingRecordZoneChange) -> Bool {
                contains(pendingRecordZoneChange.recordID)
            }

            /// Whether a change of a zone is sent. With records, the saving of the zones that they lie in is: without
            /// them the records could not be saved.
            func contains(_ change: CKSyncEngine.PendingDatabaseChange) -> Bool {
                switch (self, change) {
                case (.all, _): true
                case (.allExcluding(let excluded), _): !excluded.contains(change.zoneID)
                case (.zoneIDs(let included), _): included.contains(change.zoneID)
                case (.recordIDs(let included), .saveZone(let zone)): included.contains { $0.zoneID == zone.zoneID }
                case (.recordIDs, .deleteZone): false
                }
            }

            /// The scope's name and what is in it.
            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let excluded): "allExcluding(\(excluded))"
                case .zoneIDs(let included): "zoneIDs(\(included))"
                case .recordIDs(let included): "recordIDs(\(included))"
                }
            }
        }

        /// Which changes are sent.
        public var scope: Scope
        /// The group of the sending's operations.
        public var operationGroup: CKOperationGroup

        /// Options of sending.
        /// - Parameters:
        ///   - scope: Which changes are sent.
        ///   - operationGroup: The group of the sending's operations; nil for one of its own.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        /// The scope.
        public var description: String { "<CKSyncEngine.SendChangesOptions: scope=\(scope)>" }
    }

    /// Why an engine sends, and what.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        /// Why.
        public let reason: CKSyncEngine.SyncReason
        /// What.
        public let options: CKSyncEngine.SendChangesOptions

        /// The reason and the options.
        public var description: String {
            "<CKSyncEngine.SendChangesContext: reason=\(reason), options=\(options)>"
        }
    }
}
