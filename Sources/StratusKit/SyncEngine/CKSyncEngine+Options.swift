// The options of fetching and sending, and the batches that an engine sends.

import StratusCloud
import StratusStore

extension CKSyncEngine {
    /// The options of a fetch.
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

        /// Which zones are fetched. The list of zones is always fetched (E-15).
        public var scope: Scope
        /// The group of the fetch's operations.
        public var operationGroup: CKOperationGroup
        /// Zones that are fetched before all others, in this order. Zones without changes are skipped (E-15).
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Creates options of a fetch.
        /// - Parameters:
        ///   - scope: Which zones are fetched.
        ///   - operationGroup: The group of the fetch's operations; nil for a new one.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        /// The scope and the prioritized zones.
        public var description: String {
            "<CKSyncEngine.FetchChangesOptions: scope=\(scope), prioritizedZoneIDs=\(prioritizedZoneIDs)>"
        }
    }

    /// Why an engine fetches, and which zones.
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

    // The options and the context of sending.

    /// The options of sending.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// Which changes are sent. The engine filters its changes of zones by it; the delegate must filter its records
        /// (E-15).
        public enum Scope: Equatable, Sendable, CustomStringConvertible {
            /// All changes.
            case all
            /// All changes except those of these zones.
            case allExcluding([CKRecordZone.ID])
            /// The changes of these zones.
            case zoneIDs([CKRecordZone.ID])
            /// The changes of these records.
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

            /// Whether a change of a zone is sent. A scope of records includes saves of their zones, without which the
            /// records could not be saved.
            func contains(_ change: CKSyncEngine.PendingDatabaseChange) -> Bool {
                switch (self, change) {
                case (.all, _): true
                case (.allExcluding(let excluded), _): !excluded.contains(change.zoneID)
                case (.zoneIDs(let included), _): included.contains(change.zoneID)
                case (.recordIDs(let included), .saveZone(let zone)): included.contains { $0.zoneID == zone.zoneID }
                case (.recordIDs, .deleteZone): false
                }
            }

            /// The scope's name and content.
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
        /// The group of the operations.
        public var operationGroup: CKOperationGroup

        /// Creates options of sending.
        /// - Parameters:
        ///   - scope: Which changes are sent.
        ///   - operationGroup: The group of the operations; nil for a new one.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        /// The scope.
        public var description: String { "<CKSyncEngine.SendChangesOptions: scope=\(scope)>" }
    }

    /// Why an engine sends, and which changes.
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

    // The records of one request.

    /// Records that are sent in one request.
    public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
        /// The records to save, unless another client has saved them meanwhile (S-01).
        public var recordsToSave: [CKRecord]
        /// The records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether a zone is changed as a whole or not at all. By default false, unlike in operations (E-08).
        public var atomicByZone: Bool

        /// The maximum number of changes in a batch of pending changes (L-15).
        static let changeLimit = 250

        /// Creates a batch of pending changes, in their order, up to 250 changes or one and a half megabytes of
        /// records; assets are not counted (L-15). If the engine requests the batch, lower limits of its store apply
        /// too (L-01). The rest is for the next batch. Returns nil if there is nothing to send.
        /// - Parameters:
        ///   - pendingChanges: The pending changes. A duplicate is sent once.
        ///   - recordProvider: Returns the record to save; a change without a record is skipped (E-08).
        public init?(
            pendingChanges: [PendingRecordZoneChange], recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            self.init()
            let limits = SyncCallback.requestLimits ?? RequestSize()
            let changeLimit = min(Self.changeLimit, limits.itemCount)
            // Leaves room for what a program adds to the batch. A single record may be larger.
            let byteLimit = min(limits.byteCount, RequestSize().byteCount) / 4 * 3
            var byteCount = 0
            var seen: Set<CKRecord.ID> = []
            for change in pendingChanges where seen.insert(change.recordID).inserted {
                guard recordsToSave.count + recordIDsToDelete.count < changeLimit else { break }
                switch change {
                case .deleteRecord(let id): recordIDsToDelete.append(id)
                case .saveRecord(let id):
                    guard let record = await recordProvider(id) else { continue }
                    byteCount += record.sentByteCount
                    if byteCount > byteLimit, !recordsToSave.isEmpty { return }
                    recordsToSave.append(record)
                }
            }
            if isEmpty { return nil }
        }

        /// Creates a batch of these records. It is one request: above the limits of requests (L-01) it fails with
        /// `limitExceeded`, and each of its records with it.
        /// - Parameters:
        ///   - recordsToSave: The records to save.
        ///   - recordIDsToDelete: The records to delete.
        ///   - atomicByZone: Whether a zone is changed as a whole or not at all.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// Whether the batch is empty.
        var isEmpty: Bool { recordsToSave.isEmpty && recordIDsToDelete.isEmpty }

        /// The number of records.
        public var description: String {
            "<CKSyncEngine.RecordZoneChangeBatch: \(recordsToSave.count) to save, "
                + "\(recordIDsToDelete.count) to delete, atomicByZone=\(atomicByZone)>"
        }
    }
}

extension CKRecord {
    /// The bytes that saving the record sends, as the server counts them (L-01).
    var sentByteCount: Int {
        let state = parts
        let isNew = state.changeTag == nil
        return state.fields.reduce(recordID.recordName.utf8.count) { sum, field in
            guard isNew || state.edits[field.key] != nil else { return sum }
            return sum + field.key.utf8.count + field.value.value.sentByteCount
        }
    }
}

extension HeldValue {
    /// The bytes of the value; an asset counts as zero.
    fileprivate var sentByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .int64, .double, .date: 8
        case .bytes(let data): data.count
        case .location: 64
        case .reference(let reference): reference.recordID.recordName.utf8.count + 1
        case .asset: 0
        case .list(let values): values.reduce(0) { $0 + max(1, $1.sentByteCount) }
        }
    }
}
