// The state of an engine: the part that clients see and change, its serialization, and the engine's own access. One
// lock guards all of it.
//
// Invariants:
//   1. A state that differs from the last one the delegate got is marked as changed, and is sent at the next occasion.
//   2. `moment` grows with every change by a client, which shows whether a change is older than a request.
//   3. Nothing is called under the lock.

import Foundation
import StratusStore

extension CKSyncEngine {
    /// What an engine still has to send, and what else it remembers. Change it whenever your own data change, also in
    /// callbacks.
    public final class State: Sendable {
        private struct Inner {
            var content: SyncContent
            var moment: UInt64 = 0
            /// When a client last set `hasPendingUntrackedChanges`.
            var untrackedMoment: UInt64 = 0
            var isChanged = false
            /// Called after a change by a client, with whether there is something new to send.
            var onChange: (@Sendable (_ isToSend: Bool) -> Void)?
        }

        private let inner: Locked<Inner>

        init(_ configuration: Configuration) {
            let scope = configuration.database.scope
            var content = SyncContent(
                container: scope.identifier ?? scope.session.defaultContainerIdentifier,
                scope: configuration.database.databaseScope.rawValue)
            // The state of another database is useless here.
            if let stored = configuration.stateSerialization?.content, stored.container == content.container,
                stored.scope == content.scope
            {
                content = stored
            }
            // A state that never left the process has the moments of its own engine. Its pending changes must count as
            // older than any request of this engine, or they would be sent repeatedly.
            let moment = max(content.records.newestMoment, content.zones.newestMoment)
            inner = Locked(Inner(content: content, moment: moment))
        }

        // MARK: What clients see

        /// The pending changes of records, each once, in the order in which they were first added (E-05).
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            inner.withLock { $0.content.records.changes }
        }

        /// The pending changes of zones, each once, in the order in which they were first added (E-05).
        public var pendingDatabaseChanges: [PendingDatabaseChange] { inner.withLock { $0.content.zones.changes } }

        /// Whether there are changes to send that were not added one by one. The engine then asks the delegate for
        /// batches until there are none, and sets the property to false (E-16), unless it was asked for batches of a
        /// part of the changes. Set it to true for each new change: the delegate is asked again.
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

        /// The zones with known changes that the engine has not fetched.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            inner.withLock { $0.content.unfetchedZoneIDs }
        }

        /// Adds changes of records to send. A change that is pending keeps its position; a deletion replaces a save of
        /// the same record, and vice versa (E-05).
        /// - Parameter pendingRecordZoneChanges: The changes.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            guard !pendingRecordZoneChanges.isEmpty else { return }
            change(isToSend: true) { inner in
                for change in pendingRecordZoneChanges { inner.content.records.add(change, at: inner.moment) }
                return true
            }
        }

        /// Removes pending changes of records.
        /// - Parameter pendingRecordZoneChanges: The changes. Those that are not pending are ignored.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            change(isToSend: false) { inner in
                pendingRecordZoneChanges.reduce(false) { inner.content.records.remove($1) || $0 }
            }
        }

        /// Adds changes of zones to send. A change that is pending keeps its position; a deletion replaces a save of
        /// the same zone, and vice versa.
        /// - Parameter pendingDatabaseChanges: The changes.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            guard !pendingDatabaseChanges.isEmpty else { return }
            change(isToSend: true) { inner in
                for change in pendingDatabaseChanges { inner.content.zones.add(change, at: inner.moment) }
                return true
            }
        }

        /// Removes pending changes of zones.
        /// - Parameter pendingDatabaseChanges: The changes. Those that are not pending are ignored.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            change(isToSend: false) { inner in
                pendingDatabaseChanges.reduce(false) { inner.content.zones.remove($1) || $0 }
            }
        }

        private func change(isToSend: Bool, _ body: @Sendable (inout Inner) -> Bool) {
            let onChange = inner.withLock { inner -> (@Sendable (Bool) -> Void)? in
                inner.moment += 1
                let isNew = body(&inner)
                if isNew { inner.isChanged = true }
                // What was to be sent before may have been asked for already.
                return isNew || isToSend ? inner.onChange : nil
            }
            onChange?(isToSend)
        }

        // MARK: What the engine does with it

        /// Sets the closure that is called after changes by clients.
        func setOnChange(_ onChange: (@Sendable (_ isToSend: Bool) -> Void)?) {
            inner.withLock { $0.onChange = onChange }
        }

        /// The content as it is now.
        var content: SyncContent { inner.withLock { $0.content } }

        /// Changes the content without calling `onChange`.
        func update(_ body: @Sendable (inout SyncContent) -> Void) {
            inner.withLock { inner in
                body(&inner.content)
                inner.isChanged = true
            }
        }

        /// The state for the delegate; nil if it has not changed.
        func takeUpdate() -> Serialization? {
            inner.withLock { inner in
                guard inner.isChanged else { return nil }
                inner.isChanged = false
                return Serialization(content: inner.content)
            }
        }

        /// The moment: later changes are not in the current request.
        var moment: UInt64 { inner.withLock { $0.moment } }

        /// The next changes of zones to send.
        func nextZones(_ limit: Int, in scope: SendChangesOptions.Scope) -> [PendingDatabaseChange] {
            inner.withLock { $0.content.zones.first(limit, where: scope.contains) }
        }

        /// Drops finished changes, unless they were added again after `moment`.
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

    // Pending changes as clients name them, and the reason of a sync.

    /// A pending change of a record.
    public enum PendingRecordZoneChange: Hashable, Sendable, CustomStringConvertible {
        /// Save the record of this name. The engine asks the delegate for the record when it sends the change.
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

    /// A pending change of a zone. Two saves of a zone with the same name are equal.
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

        /// Whether both do the same with a zone of the same name.
        public static func == (left: PendingDatabaseChange, right: PendingDatabaseChange) -> Bool {
            left.isSave == right.isSave && left.zoneID == right.zoneID
        }

        /// Hashes the values that are compared.
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
        /// The engine's schedule.
        case scheduled
        /// The program has called `fetchChanges(_:)` or `sendChanges(_:)`.
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

// An engine's state as programs store it. The content is encoded only when a program encodes it: an engine reports its
// state after every request, and most states are replaced before a program stores them.
//
//   {"data": the bytes of}
//   {
//     "version": 1,
//     "container", "scope", "user":        the owner of the state (X-24: tokens are sealed for it)
//     "token":                             the database's
//     "zones": [{"name", "owner", "token", "unfetched", "pending", "isDeletion", "encryptionScope"}]
//         unfetched    its position among the zones to fetch
//         pending      its position among the zones to send
//     "records": [{"zone": index in zones, "name", "isDeletion"}]
//     "hasUntracked"
//   }
//
// Never change the meaning of a version: programs store these bytes.

extension CKSyncEngine.State {
    /// An engine's state. Store it and pass it to the next engine (E-09). Its content is opaque. It is valid for the
    /// same account and database; an engine of another one starts from the beginning (E-10).
    public struct Serialization: Codable, Sendable {
        let content: SyncContent

        init(content: SyncContent) { self.content = content }

        private enum Key: String, CodingKey {
            case data
        }

        /// Decodes a state.
        /// - Parameter decoder: The decoder.
        /// - Throws: `DecodingError.dataCorrupted` if no engine of this version wrote the data: start from the
        ///   beginning, with nil.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let data = try container.decode(Data.self, forKey: .data)
            do {
                content = try SyncArchive.content(of: data)
            } catch {
                throw DecodingError.dataCorruptedError(
                    forKey: .data, in: container,
                    debugDescription:
                        "This is not the state of a sync engine, or it is damaged: start without a state (\(error)).")
            }
        }

        /// Encodes the state.
        /// - Parameter encoder: The encoder.
        /// - Throws: What the encoder throws.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(try SyncArchive.data(of: content), forKey: .data)
        }
    }
}
