// What is sent in one request.

import StratusCloud
import StratusStore

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
