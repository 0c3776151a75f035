// The state of an engine: what clients see and change of it, and what the engine does with it. All under one lock.
//
// Invariants:
//   1. What differs from what the delegate was told last is marked as changed, and told at the next occasion.
//   2. `moment` grows with every change of a client's, so that a change can be known to be older than a request.
//   3. Nobody is called under the lock.

import Foundation
import StratusStore

extension CKSyncEngine {
    /// What an engine is still to send, and what else it remembers. A program changes it whenever its own data change, in
    /// callbacks too.
    public final class State: Sendable {
        private struct Inner {
            var content: SyncContent
            var moment: UInt64 = 0
            /// When a client has last set `hasPendingUntrackedChanges`.
            var untrackedMoment: UInt64 = 0
            var isChanged = false
            /// Called after a change of a client's; whether there is something new to send.
            var onChange: (@Sendable (_ isToSend: Bool) -> Void)?
        }

        private let inner: Locked<Inner>

        init(_ configuration: Configuration) {
            let place = SyncPlace(configuration.database)
            var content = SyncContent(place: place)
            // What is of another database means nothing here.
            if let stored = configuration.stateSerialization?.content, stored.place == place { content = stored }
            // A state that never left the process has the moments of its engine: what was pending then is older than any request
            // of this one, or it would be sent without end.
            let moment = max(content.records.newestMoment, content.zones.newestMoment)
            inner = Locked(Inner(content: content, moment: moment))
        }

        // MARK: What clients see

        /// The records that are to be sent, each once, in the order in which they were first added (E-05).
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            inner.withLock { $0.content.records.changes }
        }

        /// The zones that are to be sent, each once, in the order in which they were first added (E-05).
        public var pendingDatabaseChanges: [PendingDatabaseChange] { inner.withLock { $0.content.zones.changes } }

        /// Whether there is something to send that the engine has not been told of one by one: it then asks the delegate
        /// for batches until there are none, and sets this to false (E-16).
        public var hasPendingUntrackedChanges: Bool {
            get { inner.withLock { $0.content.hasUntrackedChanges } }
            set {
                change(isToSend: newValue) { inner in
                    let isNew = inner.content.hasUntrackedChanges != newValue
                    inner.content.hasUntrackedChanges = newValue
                    if newValue { inner.untrackedMoment = inner.moment }
                    return isNew
                }
            }
        }

        /// The zones of which the engine knows that something in them has changed, and has not fetched it.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            inner.withLock { $0.content.unfetchedZoneIDs }
        }

        /// Adds records that are to be sent. One that is there stays where it is; a deletion takes the place of a save of
        /// the same record, and the other way round (E-05).
        /// - Parameter pendingRecordZoneChanges: The changes.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            guard !pendingRecordZoneChanges.isEmpty else { return }
            change(isToSend: true) { inner in
                for change in pendingRecordZoneChanges { inner.content.records.add(change, at: inner.moment) }
                return true
            }
        }

        /// Removes records that are no longer to be sent.
        /// - Parameter pendingRecordZoneChanges: The changes. Those that are not there are passed over.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            change(isToSend: false) { inner in
                pendingRecordZoneChanges.reduce(false) { inner.content.records.remove($1) || $0 }
            }
        }

        /// Adds zones that are to be sent. One that is there stays where it is; a deletion takes the place of a save of
        /// the same zone, and the other way round.
        /// - Parameter pendingDatabaseChanges: The changes.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            guard !pendingDatabaseChanges.isEmpty else { return }
            change(isToSend: true) { inner in
                for change in pendingDatabaseChanges { inner.content.zones.add(change, at: inner.moment) }
                return true
            }
        }

        /// Removes zones that are no longer to be sent.
        /// - Parameter pendingDatabaseChanges: The changes. Those that are not there are passed over.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            change(isToSend: false) { inner in
                pendingDatabaseChanges.reduce(false) { inner.content.zones.remove($1) || $0 }
            }
        }

        private func change(isToSend: Bool, _ body: @Sendable (inout Inner) -> Bool) {
            let onChange = inner.withLock { inner -> (@Sendable (Bool) -> Void)? in
                inner.moment += 1
                guard body(&inner) else { return nil }
                inner.isChanged = true
                return inner.onChange
            }
            onChange?(isToSend)
        }

        // MARK: What the engine does with it

        /// Who is told of changes of clients'.
        func setOnChange(_ onChange: (@Sendable (_ isToSend: Bool) -> Void)?) {
            inner.withLock { $0.onChange = onChange }
        }

        /// The content as it is now.
        var content: SyncContent { inner.withLock { $0.content } }

        /// How much there is, for logs.
        var summary: String { inner.withLock { $0.content.summary } }

        /// Changes the content without telling the engine of it.
        func update(_ body: @Sendable (inout SyncContent) -> Void) {
            inner.withLock { inner in
                body(&inner.content)
                inner.isChanged = true
            }
        }

        /// What to tell the delegate; nil where it knows.
        func takeUpdate() -> Serialization? {
            inner.withLock { inner in
                guard inner.isChanged else { return nil }
                inner.isChanged = false
                return Serialization(content: inner.content)
            }
        }

        /// The moment: what is added later is not in what is asked for now.
        var moment: UInt64 { inner.withLock { $0.moment } }

        /// The next changes of zones to send.
        func nextZones(_ limit: Int, in scope: SendChangesOptions.Scope) -> [PendingDatabaseChange] {
            inner.withLock { $0.content.zones.first(limit, where: scope.contains) }
        }

        /// Drops what is done with, unless it was added again after `moment`.
        func finish(_ records: [PendingRecordZoneChange], _ zones: [PendingDatabaseChange], asOf moment: UInt64) {
            update { content in
                for change in records { content.records.finish(change, asOf: moment) }
                for change in zones { content.zones.finish(change, asOf: moment) }
            }
        }

        /// The delegate had nothing more to send when it was asked at `moment` (E-16).
        func finishUntracked(asOf moment: UInt64) {
            inner.withLock { inner in
                guard inner.content.hasUntrackedChanges, inner.untrackedMoment <= moment else { return }
                inner.content.hasUntrackedChanges = false
                inner.isChanged = true
            }
        }
    }
}

extension SyncPlace {
    /// The place of a database.
    init(_ database: CKDatabase) {
        let scope = database.scope
        self.init(
            container: scope.identifier ?? scope.session.defaultContainerIdentifier,
            scope: database.databaseScope.rawValue)
    }
}

// An engine's state as programs store it. The content is encoded only when a program does so: an engine tells of its state
// after every request, and most of what it tells is replaced before anybody stores it.
//
//   {"data": the bytes of}
//   {
//     "version": 1,
//     "container", "scope", "user":        whose state it is (X-24: tokens are sealed, and refused by any other)
//     "token":                             of the database
//     "zones": [{"name", "owner", "token", "unfetched", "pending", "isDeletion", "encryptionScope"}]
//         unfetched    its place among the zones that are to be fetched
//         pending      its place among the zones that are to be sent
//     "records": [{"zone": place in zones, "name", "isDeletion"}]
//     "hasUntracked"
//   }
//
// Never change the meaning of a version: programs keep what was written.

extension CKSyncEngine.State {
    /// An engine's state, to be stored by the program and given to the next engine (E-09). What is in it is the engine's
    /// own. It is good for the same account and database; an engine of another one begins anew (E-10).
    public struct Serialization: Codable, Sendable {
        let content: SyncContent

        init(content: SyncContent) { self.content = content }

        private enum Key: String, CodingKey {
            case data
        }

        /// Decodes a state.
        /// - Parameter decoder: Where from.
        /// - Throws: `DecodingError.dataCorrupted` for what no engine of this version has written: begin anew, with nil.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let data = try container.decode(Data.self, forKey: .data)
            do {
                content = try SyncArchive.content(of: data)
            } catch {
                throw DecodingError.dataCorruptedError(
                    forKey: .data, in: container,
                    debugDescription: "This is no state of a sync engine, or a damaged one: begin anew (\(error)).")
            }
        }

        /// Encodes the state.
        /// - Parameter encoder: Where to.
        /// - Throws: What the encoder throws.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(try SyncArchive.data(of: content), forKey: .data)
        }
    }
}

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
