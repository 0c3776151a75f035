// Notes in a file, kept the same on all devices of a person with a sync engine, in today's style: the program is an
// actor and the engine's delegate, stores the engine's state with its own data, and decides conflicts by date.

import CloudKit

/// A note as stored in the file.
public struct PocketNote: Codable, Equatable, Identifiable, Sendable {
    /// Its name, the same as its record's.
    public var id: String
    /// What it says.
    public var text: String
    /// The date of the user's last change: the later one wins.
    public var changed: Date
    /// The server's system fields of its record.
    var systemFields: Data?

    static let recordType = "PocketNote"
    static let zoneID = CKRecordZone.ID(zoneName: "PocketNotes")

    var recordID: CKRecord.ID { CKRecord.ID(recordName: id, zoneID: Self.zoneID) }

    /// A new note.
    public init(id: String = CKRecord.ID().recordName, text: String, changed: Date = Date()) {
        self.id = id
        self.text = text
        self.changed = changed
    }

    /// Two notes are equal when the user sees no difference.
    public static func == (left: PocketNote, right: PocketNote) -> Bool {
        left.id == right.id && left.text == right.text && left.changed == right.changed
    }

    /// The record to send.
    func makeRecord() -> CKRecord {
        let record = lastKnownRecord ?? CKRecord(recordType: Self.recordType, recordID: recordID)
        record["text"] = text
        record["changed"] = changed
        return record
    }

    /// The record as the server last returned it, without its values.
    var lastKnownRecord: CKRecord? {
        get {
            guard let systemFields, let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
            coder.requiresSecureCoding = true
            return CKRecord(coder: coder)
        }
        set {
            systemFields = newValue.map { record in
                let coder = NSKeyedArchiver(requiringSecureCoding: true)
                record.encodeSystemFields(with: coder)
                return coder.encodedData
            }
        }
    }

    /// Takes over the server's version if it is later.
    mutating func merge(_ record: CKRecord) {
        guard let changed = record["changed"] as? Date, let text = record["text"] as? String else { return }
        guard changed > self.changed else { return }
        self.text = text
        self.changed = changed
    }

    /// Stores the server's system fields of the record, unless newer ones are known.
    mutating func remember(_ record: CKRecord) {
        let known = lastKnownRecord?.modificationDate ?? .distantPast
        guard let date = record.modificationDate, date > known else { return }
        lastKnownRecord = record
    }
}

/// The notes of a person.
public final actor PocketNotes {
    private struct Stored: Codable {
        var notes: [String: PocketNote] = [:]
        var engineState: CKSyncEngine.State.Serialization?
    }

    private let file: URL
    private let database: CKDatabase
    private let automaticallySync: Bool
    private var stored: Stored
    private var _syncEngine: CKSyncEngine?

    /// The notes in a file.
    public init(
        file: URL, automaticallySync: Bool = true, database: CKDatabase = CKContainer.default().privateCloudDatabase
    ) {
        self.file = file
        self.database = database
        self.automaticallySync = automaticallySync
        let data = try? Data(contentsOf: file)
        stored = data.flatMap { try? JSONDecoder().decode(Stored.self, from: $0) } ?? Stored()
    }

    /// The engine, created at its first use.
    public var syncEngine: CKSyncEngine {
        if let _syncEngine { return _syncEngine }
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: stored.engineState, delegate: self)
        configuration.automaticallySync = automaticallySync
        let engine = CKSyncEngine(configuration)
        _syncEngine = engine
        return engine
    }

    /// All notes by name.
    public var notes: [String: PocketNote] { stored.notes }

    /// Saves notes, and sends them.
    public func save(_ notes: [PocketNote]) throws {
        for var note in notes {
            note.systemFields = stored.notes[note.id]?.systemFields
            stored.notes[note.id] = note
        }
        try store()
        syncEngine.state.add(pendingRecordZoneChanges: notes.map { .saveRecord($0.recordID) })
    }

    /// Deletes notes, here and everywhere.
    public func delete(_ ids: [PocketNote.ID]) throws {
        let deletions = ids.compactMap { stored.notes.removeValue(forKey: $0)?.recordID }
        try store()
        syncEngine.state.add(pendingRecordZoneChanges: deletions.map { .deleteRecord($0) })
    }

    /// Deletes all notes of the person, and their zone.
    public func deleteEverything() throws {
        stored.notes = [:]
        try store()
        syncEngine.state.add(pendingDatabaseChanges: [.deleteZone(PocketNote.zoneID)])
    }

    private func store() throws { try JSONEncoder().encode(stored).write(to: file) }
}

// MARK: The engine's delegate

extension PocketNotes: CKSyncEngineDelegate {
    /// Applies the engine's events.
    public func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event): stored.engineState = event.stateSerialization
        case .accountChange(let event): accountHasChanged(event, syncEngine)
        case .fetchedDatabaseChanges(let event): fetched(event)
        case .fetchedRecordZoneChanges(let event): fetched(event)
        case .sentRecordZoneChanges(let event): sent(event, syncEngine)
        case .sentDatabaseChanges: break
        case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges, .didFetchChanges,
            .willSendChanges, .didSendChanges:
            break
        @unknown default: break
        }
        try? store()
    }

    /// Gives the next notes to send.
    public func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        let notes = stored.notes
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            if let note = notes[recordID.recordName] { return note.makeRecord() }
            // The note is gone: there is nothing left to save.
            syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
            return nil
        }
    }

    private func accountHasChanged(_ event: CKSyncEngine.Event.AccountChange, _ engine: CKSyncEngine) {
        switch event.changeType {
        case .signIn:
            // Notes that were written before belong to the first account that signs in.
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: PocketNote.zoneID))])
            engine.state.add(pendingRecordZoneChanges: stored.notes.values.map { .saveRecord($0.recordID) })
        case .signOut, .switchAccounts: stored.notes = [:]
        @unknown default: break
        }
    }

    private func fetched(_ event: CKSyncEngine.Event.FetchedDatabaseChanges) {
        for deletion in event.deletions where deletion.zoneID == PocketNote.zoneID {
            switch deletion.reason {
            case .deleted, .purged: stored.notes = [:]
            case .encryptedDataReset: for id in stored.notes.keys { stored.notes[id]?.systemFields = nil }
            @unknown default: break
            }
        }
    }

    private func fetched(_ event: CKSyncEngine.Event.FetchedRecordZoneChanges) {
        for modification in event.modifications {
            let record = modification.record
            let id = record.recordID.recordName
            var note = stored.notes[id] ?? PocketNote(id: id, text: "", changed: .distantPast)
            note.merge(record)
            note.remember(record)
            stored.notes[id] = note
        }
        for deletion in event.deletions { stored.notes[deletion.recordID.recordName] = nil }
    }

    private func sent(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
        for record in event.savedRecords { stored.notes[record.recordID.recordName]?.remember(record) }
        var again: [CKSyncEngine.PendingRecordZoneChange] = []
        var zones: [CKSyncEngine.PendingDatabaseChange] = []
        for failed in event.failedRecordSaves {
            let id = failed.record.recordID
            switch failed.error.code {
            case .serverRecordChanged:
                guard let server = failed.error.serverRecord else { continue }
                stored.notes[id.recordName]?.merge(server)
                stored.notes[id.recordName]?.remember(server)
                again.append(.saveRecord(id))
            case .zoneNotFound:
                zones.append(.saveZone(CKRecordZone(zoneID: id.zoneID)))
                fallthrough
            case .unknownItem:
                // It is a new record from now on.
                stored.notes[id.recordName]?.lastKnownRecord = nil
                again.append(.saveRecord(id))
            case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
                .operationCancelled:
                break  // The engine retries automatically.
            default: print("\(id.recordName) cannot be saved: \(failed.error)")
            }
        }
        engine.state.add(pendingDatabaseChanges: zones)
        engine.state.add(pendingRecordZoneChanges: again)
    }
}
