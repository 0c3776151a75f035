// The events that an engine sends to its delegate.

import StratusModel

extension CKSyncEngine {
    /// What has happened. Later versions may add cases: a `switch` needs an `@unknown default`.
    public enum Event: Sendable, CustomStringConvertible {
        /// The engine's state has changed: store it, with what was fetched before it (E-09).
        case stateUpdate(StateUpdate)
        /// An account was signed in or out, or was switched (E-10).
        case accountChange(AccountChange)
        /// Zones are new, have changed, or are gone.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// Records of a zone are new, have changed, or are gone.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// Changes of zones were sent, and answered one by one.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// Changes of records were sent, and answered one by one.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(WillFetchChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The fetch of a zone has ended.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// The fetch has ended.
        case didFetchChanges(DidFetchChanges)
        /// Sending begins.
        case willSendChanges(WillSendChanges)
        /// Sending has ended.
        case didSendChanges(DidSendChanges)

        /// What has happened, in a line for a log.
        public var description: String {
            switch self {
            case .stateUpdate(let event): event.description
            case .accountChange(let event): event.description
            case .fetchedDatabaseChanges(let event): event.description
            case .fetchedRecordZoneChanges(let event): event.description
            case .sentDatabaseChanges(let event): event.description
            case .sentRecordZoneChanges(let event): event.description
            case .willFetchChanges(let event): event.description
            case .willFetchRecordZoneChanges(let event): event.description
            case .didFetchRecordZoneChanges(let event): event.description
            case .didFetchChanges(let event): event.description
            case .willSendChanges(let event): event.description
            case .didSendChanges(let event): event.description
            }
        }
    }
}

extension CKSyncEngine.Event {
    /// The engine's state has changed.
    public struct StateUpdate: Sendable, CustomStringConvertible {
        /// The state for the configuration of the next engine.
        public let stateSerialization: CKSyncEngine.State.Serialization

        /// The event's name, and the size of the state.
        public var description: String { "stateUpdate(\(stateSerialization.content.summary))" }
    }

    /// An account was signed in or out, or was switched. Signing out and switching clear the engine's state, including
    /// pending changes (E-10).
    public struct AccountChange: Sendable, CustomStringConvertible {
        /// What has changed since the engine last checked.
        public enum ChangeType: Equatable, Sendable {
            /// There is an account, and there was none. The first engine of a program gets this event too.
            case signIn(currentUser: CKRecord.ID)
            /// There is no account now: delete what was fetched for the previous one.
            case signOut(previousUser: CKRecord.ID)
            /// There is another account: delete what was fetched for the previous one.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// What has changed.
        public let changeType: ChangeType

        /// The event's name, and what has changed.
        public var description: String { "accountChange(\(changeType))" }
    }

    /// A fetch begins.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        /// The reason and the options.
        public let context: CKSyncEngine.FetchChangesContext

        /// The event's name, and the reason.
        public var description: String { "willFetchChanges(\(context.reason))" }
    }

    /// The fetch of a zone begins.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone.
        public let zoneID: CKRecordZone.ID

        /// The event's name, and the zone.
        public var description: String { "willFetchRecordZoneChanges(\(zoneID))" }
    }

    /// The fetch of a zone has ended.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone.
        public let zoneID: CKRecordZone.ID
        /// The error; nil if the fetch succeeded.
        public let error: CKError?

        /// The event's name, the zone, and the error.
        public var description: String {
            "didFetchRecordZoneChanges(\(zoneID)\(error.map { ", \($0)" } ?? ""))"
        }
    }

    /// The fetch has ended.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        /// The reason and the options.
        public let context: CKSyncEngine.FetchChangesContext

        /// The event's name, and the reason.
        public var description: String { "didFetchChanges(\(context.reason))" }
    }

    /// Sending begins.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        /// The reason and the options.
        public let context: CKSyncEngine.SendChangesContext

        /// The event's name, and the reason.
        public var description: String { "willSendChanges(\(context.reason))" }
    }

    /// Sending has ended.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        /// The reason and the options.
        public let context: CKSyncEngine.SendChangesContext

        /// The event's name, and the reason.
        public var description: String { "didSendChanges(\(context.reason))" }
    }

    // The events with changes: fetched changes, and answers to sent changes.

    /// Zones are new, have changed, or are gone.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        /// Zones that are new or have changed. What has changed in them is fetched next.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// Zones that are gone, and why (Z-07).
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        /// The event's name, and the number of zones.
        public var description: String {
            "fetchedDatabaseChanges(\(modifications.count.counting("modification")), "
                + "\(deletions.count.counting("deletion")))"
        }
    }

    /// Records of a zone are new, have changed, or are gone. Changes that the engine itself has sent are included
    /// (T-12).
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        /// Records that are new or have changed, in no particular order (T-15).
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// Records that are gone.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        /// The event's name, and the number of records.
        public var description: String {
            "fetchedRecordZoneChanges(\(modifications.count.counting("modification")), "
                + "\(deletions.count.counting("deletion")))"
        }
    }

    /// Changes of zones were sent, and answered one by one.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// A zone that could not be saved.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            /// The zone.
            public let zone: CKRecordZone
            /// The error. If the engine itself tries again, the change stays pending (E-07).
            public let error: CKError

            /// The zone and the error.
            public var description: String { "\(zone.zoneID): \(error)" }
        }

        /// Zones that were saved.
        public let savedZones: [CKRecordZone]
        /// Zones that could not be saved.
        public let failedZoneSaves: [FailedZoneSave]
        /// Zones that were deleted.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// Zones that could not be deleted, and why.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        /// The event's name, and the number of zones.
        public var description: String {
            "sentDatabaseChanges(\(savedZones.count) saved, \(failedZoneSaves.count) not saved, "
                + "\(deletedZoneIDs.count) deleted, \(failedZoneDeletes.count) not deleted)"
        }
    }

    /// Changes of records were sent, and answered one by one.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        /// A record that could not be saved.
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            /// The record that the delegate provided.
            public let record: CKRecord
            /// The error. A conflict's error has the server's version, to merge into (S-05). If the engine itself tries
            /// again, the change stays pending (E-07). After any other error, add the change again to send it.
            public let error: CKError

            /// The record's name and the error.
            public var description: String { "\(record.recordID): \(error)" }
        }

        /// Records that were saved, with the server's fields (C-04).
        public let savedRecords: [CKRecord]
        /// Records that could not be saved.
        public let failedRecordSaves: [FailedRecordSave]
        /// Records that were deleted.
        public let deletedRecordIDs: [CKRecord.ID]
        /// Records that could not be deleted, and why.
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        /// The event's name, and the number of records.
        public var description: String {
            "sentRecordZoneChanges(\(savedRecords.count) saved, \(failedRecordSaves.count) not saved, "
                + "\(deletedRecordIDs.count) deleted, \(failedRecordDeletes.count) not deleted)"
        }
    }
}
