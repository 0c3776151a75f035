// The sync engine as clients see it. It is a thin handle: a `SyncWorker` does the work and does not retain the handle,
// so that an engine ends when its program releases it.
//
//   CKSyncEngine ──> SyncWorker ──> State
//        ▲               │
//        └──── weak ─────┘──── weak ──> delegate
//
// It uses the public operations, and sees nothing that other clients do not see.

/// Synchronises a program's own data with one private or shared database: it sends the changes that the program names,
/// and fetches the changes of others.
///
/// ```swift
/// let engine = CKSyncEngine(.init(database: database, stateSerialization: stored, delegate: self))
/// engine.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
/// ```
///
/// The program receives events as a ``CKSyncEngineDelegate``, and provides records on request. Events come one after
/// another (E-04). The engine refers to its delegate weakly, and ends when it is no longer referenced.
///
/// A callback must not wait for its own engine: on Apple's systems that ends the process, and here the call throws
/// `invalidArguments`, unless ``StratusMisuse/trapsAtOnce`` is set.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The database to synchronise.
    public let database: CKDatabase
    /// What the engine still has to send, and what else it remembers.
    public let state: CKSyncEngine.State
    private let worker: SyncWorker

    /// Creates an engine, which begins at once if it syncs automatically.
    /// - Parameter configuration: The database, the stored state and the delegate.
    public init(_ configuration: CKSyncEngine.Configuration) {
        database = configuration.database
        state = State(configuration)
        worker = SyncWorker(configuration, state)
        worker.begin(as: self)
    }

    deinit { worker.end() }

    /// The database, and whether the engine syncs automatically.
    public var description: String {
        "<CKSyncEngine: \(database), automaticallySync=\(worker.isAutomatic), \(state.content.summary)>"
    }

    /// Fetches changes now, and returns when the delegate has handled them (E-04). Without an account it returns
    /// without an event (E-03).
    /// - Parameter options: Which zones to fetch.
    /// - Throws: `CKError` if the fetch failed: `partialFailure` with an error for each zone if only zones failed;
    ///   `operationCancelled` if the task or the engine's operations were cancelled; `invalidArguments` in a callback
    ///   of the engine's own delegate.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try await worker.run { try await $0.fetch(options) }
    }

    /// Sends pending changes now, and returns when the delegate has handled the answers (E-04). Without an account it
    /// returns without an event.
    ///
    /// It ends with the first batch in which something failed, after the delegate got the event. Call it again to send
    /// the rest, and the changes that the delegate added again.
    /// - Parameter options: What to send.
    /// - Throws: `CKError` as in `fetchChanges(_:)`; `partialFailure` has an error for each record or zone that failed.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try await worker.run { try await $0.send(options) }
    }

    /// Cancels running and scheduled work of the engine, and returns when it has ended. In a callback of the engine's
    /// own delegate it returns immediately. Changes on the server stay. Pending changes stay pending and are sent at
    /// the next occasion.
    public func cancelOperations() async {
        await worker.cancel()
    }

    // The configuration of an engine.

    /// The database, the stored state and the delegate of an engine.
    public struct Configuration: Sendable, CustomStringConvertible {
        /// The private or shared database.
        public var database: CKDatabase
        /// The state of the last ``CKSyncEngine/Event/stateUpdate(_:)`` event; nil for the first engine.
        public var stateSerialization: CKSyncEngine.State.Serialization?
        /// The delegate, which provides records and receives events. The configuration retains it, the engine does not.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine fetches and sends automatically: when it begins, when changes are pending, when another
        /// device has written, and when the account changes (E-11). By default true.
        public var automaticallySync = true
        /// The subscription that notifies the engine of other devices; nil for any existing database subscription, or a
        /// new one (E-12).
        public var subscriptionID: CKSubscription.ID?

        /// Creates a configuration of an engine that syncs automatically.
        /// - Parameters:
        ///   - database: The private or shared database.
        ///   - stateSerialization: The state of the last state update; nil to start from the beginning.
        ///   - delegate: The delegate, which provides records and receives events.
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

/// Provides a sync engine with records to send, and receives its events.
///
/// Calls come one after another, on no particular thread or actor. A delegate is often an actor.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Handles an event. The engine continues when this returns.
    /// - Parameters:
    ///   - event: What has happened.
    ///   - syncEngine: The engine. You may change its `state` here, but must not await its calls.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Returns the next records to send, in one request.
    /// - Parameters:
    ///   - context: Why the engine sends, and what: see ``CKSyncEngine/SendChangesOptions/Scope``.
    ///   - syncEngine: The engine.
    /// - Returns: The batch; nil when there is nothing to send.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Returns what to fetch next. The engine calls it before every request of a fetch, so that you can say what is
    /// urgent now.
    /// - Parameters:
    ///   - context: Why the engine fetches, and what.
    ///   - syncEngine: The engine.
    /// - Returns: The options; by default those of the context.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// The options of the context.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}
