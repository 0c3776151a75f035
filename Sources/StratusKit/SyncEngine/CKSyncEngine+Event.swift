// What an engine tells its delegate.

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
