// The sync engine as clients see it. It is a thin handle: the work is done by a `SyncWorker`, which does not keep the
// handle alive, so that an engine ends when its program lets go of it.
//
//   CKSyncEngine ──> SyncWorker ──> State
//        ▲               │
//        └──── weak ─────┘──── weak ──> delegate
//
// It stands on the operations that every client has, and sees nothing that they do not.

import Foundation
import StratusCloud
import StratusStore

/// Keeps a program's own data and one private or shared database alike: it sends what the program says has changed, and
/// fetches what others have changed.
///
/// ```swift
/// let engine = CKSyncEngine(.init(database: database, stateSerialization: stored, delegate: self))
/// engine.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
/// ```
///
/// The program hears of everything as a ``CKSyncEngineDelegate``, and gives records when it is asked for them. Events
/// come one after another (E-04). The engine refers to its delegate weakly, and ends when nobody refers to the engine.
///
/// A callback must not wait for its own engine: on Apple's systems that ends the process, and here the call throws
/// `invalidArguments`, unless ``StratusMisuse/trapsAtOnce`` is set.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The database that is kept alike.
    public let database: CKDatabase
    /// What is still to be sent, and what else the engine remembers.
    public let state: CKSyncEngine.State
    private let worker: SyncWorker

    /// An engine, which begins at once where it syncs automatically.
    /// - Parameter configuration: What to keep alike, from where on, and who is told.
    public init(_ configuration: CKSyncEngine.Configuration) {
        database = configuration.database
        state = State(configuration)
        worker = SyncWorker(configuration, state)
        worker.begin(as: self)
    }

    deinit { worker.end() }

    /// The database, and whether the engine syncs automatically.
    public var description: String {
        "<CKSyncEngine: \(database), automaticallySync=\(worker.isAutomatic), \(state.summary)>"
    }

    /// Fetches at once what has changed, and returns when the delegate has handled it (E-04). Without an account it
    /// returns without telling anybody (E-03).
    /// - Parameter options: Which zones to fetch.
    /// - Throws: `CKError` where the fetch failed, `partialFailure` with an error for each zone where only zones did;
    ///   `operationCancelled` where the task or the engine's operations were cancelled; `invalidArguments` in a callback
    ///   of the engine's own delegate.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try worker.refuseCallback()
        try await worker.perform(.fetch(options))
    }

    /// Sends at once what is pending, and returns when the delegate has handled the answers (E-04). Without an account
    /// it returns without telling anybody.
    ///
    /// It ends with the first batch of which something failed, after the delegate has been told of it; call it again to
    /// send the rest, and what the delegate has put back.
    /// - Parameter options: What to send.
    /// - Throws: `CKError` as `fetchChanges(_:)` does; `partialFailure` has an error for each record or zone that failed.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try worker.refuseCallback()
        try await worker.perform(.send(options))
    }

    /// Cancels what the engine does and what it has scheduled, and returns when it has ended; in a callback of its own
    /// delegate it returns at once. What the server has done already stays. What is pending stays pending, and is sent
    /// at the next occasion.
    public func cancelOperations() async {
        await worker.cancel()
    }
}

/// Gives a sync engine the records to send, and hears of what it does.
///
/// Calls come one after another, on no particular thread or actor; a delegate is often an actor of its own.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Something has happened. The engine goes on when this returns.
    /// - Parameters:
    ///   - event: What has happened.
    ///   - syncEngine: The engine. Its `state` may be changed here; its calls must not be awaited.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// The next records to send, in one request.
    /// - Parameters:
    ///   - context: Why the engine sends, and what: see ``CKSyncEngine/SendChangesOptions/Scope``.
    ///   - syncEngine: The engine.
    /// - Returns: The batch; nil when there is nothing to send.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// What to fetch next, asked before every request of a fetch, so that a program can say what is urgent now.
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

// What an engine is made with.

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
