// Changes that are to be sent, as clients name them.

extension CKSyncEngine {
    /// A record that is to be sent.
    public enum PendingRecordZoneChange: Hashable, Sendable, CustomStringConvertible {
        /// Save the record of this name: the delegate is asked for it when it is sent.
        case saveRecord(CKRecord.ID)
        /// Delete the record of this name.
        case deleteRecord(CKRecord.ID)

        /// The record.
        var recordID: CKRecord.ID {
            switch self {
            case .saveRecord(let id), .deleteRecord(let id): id
            }
        }

        /// Whether to save or to delete, and which record.
        public var description: String {
            switch self {
            case .saveRecord(let id): "saveRecord(\(id))"
            case .deleteRecord(let id): "deleteRecord(\(id))"
            }
        }
    }

    /// A zone that is to be sent. Two that save a zone of one name are equal, whatever objects they hold.
    public enum PendingDatabaseChange: Hashable, Sendable, CustomStringConvertible {
        /// Save the zone.
        case saveZone(CKRecordZone)
        /// Delete the zone of this name with all its records.
        case deleteZone(CKRecordZone.ID)

        /// The zone.
        var zoneID: CKRecordZone.ID {
            switch self {
            case .saveZone(let zone): zone.zoneID
            case .deleteZone(let id): id
            }
        }

        private var isSave: Bool {
            if case .saveZone = self { true } else { false }
        }

        /// Whether the same is to be done with the zone of the same name.
        public static func == (left: PendingDatabaseChange, right: PendingDatabaseChange) -> Bool {
            left.isSave == right.isSave && left.zoneID == right.zoneID
        }

        /// Hashes what changes are compared by.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(isSave)
            hasher.combine(zoneID)
        }

        /// Whether to save or to delete, and which zone.
        public var description: String {
            switch self {
            case .saveZone(let zone): "saveZone(\(zone.zoneID))"
            case .deleteZone(let id): "deleteZone(\(id))"
            }
        }
    }

    /// Why an engine fetches or sends.
    public enum SyncReason: Hashable, Sendable, CustomStringConvertible {
        /// By itself.
        case scheduled
        /// Because the program has called `fetchChanges(_:)` or `sendChanges(_:)`.
        case manual

        /// The reason's name.
        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }
}
