// What a fetch is to bring, and why it is made.

import StratusCloud
import StratusStore

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

// What is sent in one request.

extension CKSyncEngine {
    /// Records that are sent in one request.
    public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
        /// The records to save, if nobody else has saved them meanwhile (S-01).
        public var recordsToSave: [CKRecord]
        /// The records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether a zone is changed whole or not at all. By default false, unlike that of operations (E-08).
        public var atomicByZone: Bool

        /// The most changes of a batch that is made of pending changes (L-15).
        static let changeLimit = 250

        /// A batch of pending changes, in their order, until there are 250 of them or their records have one and a half
        /// megabytes; assets are not counted (L-15). Where the engine asks for it, the limits of its store count too, if
        /// they are lower (L-01). The rest is for the next batch. It is nil where there is nothing.
        /// - Parameters:
        ///   - pendingChanges: What is to be sent. One that stands twice is taken once.
        ///   - recordProvider: Gives the record to save; a change for which it has none is passed over (E-08).
        public init?(
            pendingChanges: [PendingRecordZoneChange], recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            self.init()
            let limits = SyncCallback.requestLimits ?? RequestSize()
            let changeLimit = min(Self.changeLimit, limits.itemCount)
            // What a program adds to the batch finds room. One record may have more.
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

        /// A batch of just these. It is one request: over the limits of requests (L-01) it fails whole with
        /// `limitExceeded`, and each of its records with it.
        /// - Parameters:
        ///   - recordsToSave: The records to save.
        ///   - recordIDsToDelete: The records to delete.
        ///   - atomicByZone: Whether a zone is changed whole or not at all.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// Whether there is nothing in it.
        var isEmpty: Bool { recordsToSave.isEmpty && recordIDsToDelete.isEmpty }

        /// How many records there are.
        public var description: String {
            "<CKSyncEngine.RecordZoneChangeBatch: \(recordsToSave.count) to save, "
                + "\(recordIDsToDelete.count) to delete, atomicByZone=\(atomicByZone)>"
        }
    }
}

extension CKRecord {
    /// The bytes that saving the record sends, as the server counts them (L-01).
    var sentByteCount: Int {
        let state = state.value
        let isNew = state.changeTag == nil
        return state.fields.reduce(recordID.recordName.utf8.count) { sum, field in
            guard isNew || state.edits[field.key] != nil else { return sum }
            return sum + field.key.utf8.count + field.value.value.sentByteCount
        }
    }
}

extension HeldValue {
    /// The bytes of the value; an asset counts nothing.
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
