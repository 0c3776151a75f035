// What an engine is made with.

import StratusStore

extension CKSyncEngine {
    /// What an engine keeps alike, from where on, and who is told.
    public struct Configuration: Sendable, CustomStringConvertible {
        /// The private or shared database.
        public var database: CKDatabase
        /// What the last ``CKSyncEngine/Event/stateUpdate(_:)`` has told; nil for the first engine there is.
        public var stateSerialization: CKSyncEngine.State.Serialization?
        /// Who gives records and hears of events. The configuration keeps it, the engine does not.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine fetches and sends by itself: when it begins, when something is to be sent, when another
        /// device has written, and when the account changes (E-11). By default true.
        public var automaticallySync = true
        /// The subscription by which the engine hears of other devices; nil for any database subscription that there is,
        /// or one of its own (E-12).
        public var subscriptionID: CKSubscription.ID?

        /// A configuration of an engine that syncs automatically.
        /// - Parameters:
        ///   - database: The private or shared database.
        ///   - stateSerialization: What the last state update has told; nil to begin anew.
        ///   - delegate: Who gives records and hears of events.
        public init(
            database: CKDatabase, stateSerialization: CKSyncEngine.State.Serialization?,
            delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }

        /// The database, and whether the engine syncs automatically.
        public var description: String {
            "<CKSyncEngine.Configuration: \(database), automaticallySync=\(automaticallySync)>"
        }
    }
}
