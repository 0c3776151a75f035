// The events that bring changes: fetched ones, and answers to those that were sent.

import StratusModel

extension CKSyncEngine.Event {
    /// Zones are new, have changed, or are gone.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        /// Zones that are new or have changed. What has changed in them is fetched next.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// Zones that are gone, and why (Z-07).
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        /// The event's name, and how many zones there are.
        public var description: String {
            "fetchedDatabaseChanges(\(modifications.count.counting("modification")), \(deletions.count.counting("deletion")))"
        }
    }

    /// Records of a zone are new, have changed, or are gone. What the engine itself has sent comes back here (T-12).
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        /// Records that are new or have changed, in no order that means something (T-15).
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// Records that are gone.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        /// The event's name, and how many records there are.
        public var description: String {
            "fetchedRecordZoneChanges(\(modifications.count.counting("modification")), \(deletions.count.counting("deletion")))"
        }
    }

    /// Changes of zones were sent, and answered one by one.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// A zone that could not be saved.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            /// The zone.
            public let zone: CKRecordZone
            /// Why. Errors that the engine tries again by itself leave the change pending (E-07).
            public let error: CKError

            /// The zone and the error.
            public var description: String { "\(zone.zoneID): \(error)" }
        }

        /// Zones that were saved.
        public let savedZones: [CKRecordZone]
        /// Zones that could not be.
        public let failedZoneSaves: [FailedZoneSave]
        /// Zones that were deleted.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// Zones that could not be, and why.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        /// The event's name, and how many zones there are.
        public var description: String {
            "sentDatabaseChanges(\(savedZones.count) saved, \(failedZoneSaves.count) not saved, "
                + "\(deletedZoneIDs.count) deleted, \(failedZoneDeletes.count) not deleted)"
        }
    }

    /// Changes of records were sent, and answered one by one.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        /// A record that could not be saved.
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            /// The record, as the delegate has given it.
            public let record: CKRecord
            /// Why; of a conflict with the server's version, to merge into (S-05). Errors that the engine tries again by
            /// itself leave the change pending (E-07); after any other the delegate adds it again, if it is to be sent.
            public let error: CKError

            /// The record's name and the error.
            public var description: String { "\(record.recordID): \(error)" }
        }

        /// Records that were saved, with the server's fields (C-04).
        public let savedRecords: [CKRecord]
        /// Records that could not be.
        public let failedRecordSaves: [FailedRecordSave]
        /// Records that were deleted.
        public let deletedRecordIDs: [CKRecord.ID]
        /// Records that could not be, and why.
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        /// The event's name, and how many records there are.
        public var description: String {
            "sentRecordZoneChanges(\(savedRecords.count) saved, \(failedRecordSaves.count) not saved, "
                + "\(deletedRecordIDs.count) deleted, \(failedRecordDeletes.count) not deleted)"
        }
    }
}
