// What an engine tells its delegate.

import StratusModel

extension CKSyncEngine {
    /// What has happened. Versions to come may know more: a `switch` has an `@unknown default`.
    public enum Event: Sendable, CustomStringConvertible {
        /// The engine's state has changed: store it, with what was fetched before it (E-09).
        case stateUpdate(StateUpdate)
        /// Somebody has signed in, or out, or another person has (E-10).
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
        /// What to give to the next engine, in the configuration.
        public let stateSerialization: CKSyncEngine.State.Serialization

        /// The event's name, and how much is in the state.
        public var description: String { "stateUpdate(\(stateSerialization.content.summary))" }
    }

    /// Somebody has signed in, or out, or another person has. Signing out and switching have cleared the engine's state,
    /// what was pending included (E-10).
    public struct AccountChange: Sendable, CustomStringConvertible {
        /// What has changed, since the engine has looked last.
        public enum ChangeType: Equatable, Sendable {
            /// There is an account, and there was none. The first engine of a program hears of it too.
            case signIn(currentUser: CKRecord.ID)
            /// There is none any more: what was fetched for it is to be deleted.
            case signOut(previousUser: CKRecord.ID)
            /// There is another one: what was fetched for the one before is to be deleted.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// What has changed.
        public let changeType: ChangeType

        /// The event's name, and what has changed.
        public var description: String { "accountChange(\(changeType))" }
    }

    /// A fetch begins.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        /// Why, and what.
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
        /// Why it has failed; nil where it has not.
        public let error: CKError?

        /// The event's name, the zone, and the error.
        public var description: String {
            "didFetchRecordZoneChanges(\(zoneID)\(error.map { ", \($0)" } ?? ""))"
        }
    }

    /// The fetch has ended.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        /// Why it was made, and what it was to bring.
        public let context: CKSyncEngine.FetchChangesContext

        /// The event's name, and the reason.
        public var description: String { "didFetchChanges(\(context.reason))" }
    }

    /// Sending begins.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        /// Why, and what.
        public let context: CKSyncEngine.SendChangesContext

        /// The event's name, and the reason.
        public var description: String { "willSendChanges(\(context.reason))" }
    }

    /// Sending has ended.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        /// Why it was done, and what was to be sent.
        public let context: CKSyncEngine.SendChangesContext

        /// The event's name, and the reason.
        public var description: String { "didSendChanges(\(context.reason))" }
    }
}

// The events that bring changes: fetched ones, and answers to those that were sent.

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
