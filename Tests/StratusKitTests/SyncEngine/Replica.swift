// A typical program with the sync engine: notes with a text in one zone, stored with the system fields of their
// records; the greater text wins a conflict; state is stored when the engine reports it.

import Foundation
import StratusKit

actor Replica: CKSyncEngineDelegate {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    /// What is on the device's disk.
    struct Stored: Codable, Sendable {
        struct Note: Codable, Sendable {
            var text: String
            var systemFields: Data?
        }

        var notes: [String: Note] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    /// What a test may change.
    struct Habits: Sendable {
        var isAtomic = false
        /// Whether the replica repairs a failed record and adds it again.
        var repairs = true
        /// Returns the whole batch instead of pending changes.
        var batch: (@Sendable (CKSyncEngine) async -> CKSyncEngine.RecordZoneChangeBatch?)?
        var fetchOptions: (@Sendable (CKSyncEngine.FetchChangesContext) -> CKSyncEngine.FetchChangesOptions)?
        /// Called before an event is handled.
        var onEvent: (@Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void)?
    }

    nonisolated let name: String
    private(set) var stored: Stored
    /// What a restart would find.
    private(set) var disk: Stored
    private(set) var trace: [String] = []
    private(set) var batchSizes: [Int] = []
    private(set) var providedCount = 0
    private(set) var failures: [CKError] = []
    private var habits = Habits()
    private var ownEngine: CKSyncEngine?

    private init(_ name: String, _ stored: Stored?) {
        self.name = name
        self.stored = stored ?? Stored()
        disk = self.stored
    }

    static func started(
        _ name: String, _ database: CKDatabase, isAutomatic: Bool = false, _ stored: Stored? = nil,
        habits: Habits = Habits(), subscriptionID: CKSubscription.ID? = nil
    ) async throws -> Replica {
        let replica = Replica(name, stored)
        await replica.setHabits(habits)
        await replica.start(database, isAutomatic, subscriptionID)
        return replica
    }

    private func start(_ database: CKDatabase, _ isAutomatic: Bool, _ subscriptionID: CKSubscription.ID?) {
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: stored.state, delegate: self)
        configuration.automaticallySync = isAutomatic
        configuration.subscriptionID = subscriptionID
        ownEngine = CKSyncEngine(configuration)
    }

    func setHabits(_ habits: Habits) { self.habits = habits }
    func change(_ body: @Sendable (inout Habits) -> Void) { body(&habits) }

    var engine: CKSyncEngine {
        guard let ownEngine else { preconditionFailure("The engine was let go of.") }
        return ownEngine
    }

    func letGo() { ownEngine = nil }

    var texts: [String: String] { stored.notes.mapValues(\.text) }
    func takeTrace() -> [String] {
        defer { trace = [] }
        return trace
    }

    nonisolated static func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    // MARK: What the user does

    func createZone() { engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))]) }

    func write(_ names: [String], _ text: String) {
        for name in names { stored.notes[name, default: .init(text: text)].text = text }
        engine.state.add(pendingRecordZoneChanges: names.map { .saveRecord(Self.recordID($0)) })
    }

    func write(_ name: String, _ text: String) { write([name], text) }

    func delete(_ name: String) {
        stored.notes[name] = nil
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(Self.recordID(name))])
    }

    func fetch(_ scope: CKSyncEngine.FetchChangesOptions.Scope = .all) async throws {
        try await engine.fetchChanges(.init(scope: scope))
    }

    func send(_ scope: CKSyncEngine.SendChangesOptions.Scope = .all) async throws {
        try await engine.sendChanges(.init(scope: scope))
    }

    // MARK: The delegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        await habits.onEvent?(event, syncEngine)
        switch event {
        case .stateUpdate(let event):
            stored.state = event.stateSerialization
            disk = stored
        case .accountChange(let event):
            note("account \(event.changeType.word)")
            if case .signIn = event.changeType {} else { stored.notes = [:] }
        case .fetchedDatabaseChanges(let event): fetched(event, syncEngine)
        case .fetchedRecordZoneChanges(let event): fetched(event, syncEngine)
        case .sentDatabaseChanges(let event):
            note(
                "sent zones +\(event.savedZones.count) -\(event.deletedZoneIDs.count)"
                    + " failed \(event.failedZoneSaves.count + event.failedZoneDeletes.count)")
            failures += event.failedZoneSaves.map(\.error) + event.failedZoneDeletes.values
        case .sentRecordZoneChanges(let event): sent(event, syncEngine)
        case .willFetchChanges(let event): note("will fetch \(event.context.reason)")
        case .willFetchRecordZoneChanges(let event): note("will fetch \(event.zoneID.zoneName)")
        case .didFetchRecordZoneChanges(let event):
            note("did fetch \(event.zoneID.zoneName)\(event.error.map { " \($0.code)" } ?? "")")
        case .didFetchChanges(let event): note("did fetch \(event.context.reason)")
        case .willSendChanges(let event): note("will send \(event.context.reason)")
        case .didSendChanges(let event): note("did send \(event.context.reason)")
        @unknown default: note("unknown")
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        if let batch = habits.batch { return await batch(syncEngine) }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            guard let record = await self.record(for: recordID) else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            return record
        }
        batch?.atomicByZone = habits.isAtomic
        if let batch { batchSizes.append(batch.recordsToSave.count + batch.recordIDsToDelete.count) }
        return batch
    }

    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        habits.fetchOptions?(context) ?? context.options
    }

    private func record(for recordID: CKRecord.ID) -> CKRecord? {
        providedCount += 1
        guard let note = stored.notes[recordID.recordName] else { return nil }
        let record = note.systemFields.flatMap(Self.record) ?? CKRecord(recordType: "Note", recordID: recordID)
        record["text"] = note.text
        return record
    }

    // MARK: Events

    private func note(_ text: String) { trace.append(text) }

    private func fetched(_ event: CKSyncEngine.Event.FetchedDatabaseChanges, _ engine: CKSyncEngine) {
        let names = event.modifications.map(\.zoneID.zoneName).sorted()
        note("fetched zones \(names) gone \(event.deletions.map { "\($0.zoneID.zoneName) \($0.reason)" }.sorted())")
        for deletion in event.deletions where deletion.zoneID == Self.zoneID {
            stored.notes = [:]
            let pending = engine.state.pendingRecordZoneChanges
            engine.state.remove(pendingRecordZoneChanges: pending)
        }
    }

    private func fetched(_ event: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine) {
        note("fetched +\(event.modifications.count) -\(event.deletions.count)")
        let unsent = Set(engine.state.pendingRecordZoneChanges)
        for modification in event.modifications {
            let id = modification.record.recordID
            adopt(modification.record, keepingGreater: unsent.contains(.saveRecord(id)))
        }
        for deletion in event.deletions where deletion.recordID.zoneID == Self.zoneID {
            let name = deletion.recordID.recordName
            if unsent.contains(.saveRecord(deletion.recordID)) {
                stored.notes[name]?.systemFields = nil
            } else {
                stored.notes[name] = nil
            }
        }
    }

    /// Takes over the server's version. Returns whether the device's own text is to be sent.
    @discardableResult
    private func adopt(_ record: CKRecord, keepingGreater: Bool) -> Bool {
        guard record.recordID.zoneID == Self.zoneID, let text = record["text"] as? String else { return false }
        let name = record.recordID.recordName
        let own = keepingGreater ? stored.notes[name]?.text : nil
        stored.notes[name] = .init(text: max(own ?? text, text), systemFields: Self.systemFields(of: record))
        return own.map { $0 > text } ?? false
    }

    private func sent(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
        note(
            "sent +\(event.savedRecords.count) -\(event.deletedRecordIDs.count)"
                + " failed \(event.failedRecordSaves.count + event.failedRecordDeletes.count)")
        for record in event.savedRecords {
            stored.notes[record.recordID.recordName]?.systemFields = Self.systemFields(of: record)
        }
        failures += event.failedRecordSaves.map(\.error) + event.failedRecordDeletes.values
        guard habits.repairs else { return }
        for failed in event.failedRecordSaves { repair(failed, engine) }
        engine.state.add(
            pendingRecordZoneChanges: event.failedRecordDeletes.filter { $1.code != .zoneNotFound }.keys.map {
                .deleteRecord($0)
            })
    }

    private func repair(_ failed: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ engine: CKSyncEngine) {
        let id = failed.record.recordID
        switch failed.error.code {
        case .serverRecordChanged:
            guard let server = failed.error.serverRecord, adopt(server, keepingGreater: true) else { return }
        case .zoneNotFound, .userDeletedZone:
            stored.notes[id.recordName]?.systemFields = nil
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        case .unknownItem:
            stored.notes[id.recordName]?.systemFields = nil
        case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
            .requestRateLimited, .accountTemporarilyUnavailable, .operationCancelled:
            return
        default: break
        }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    // MARK: System fields

    private static func systemFields(of record: CKRecord) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        return archiver.encodedData
    }

    private static func record(_ data: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        return CKRecord(coder: unarchiver)
    }
}

extension CKSyncEngine.Event.AccountChange.ChangeType {
    fileprivate var word: String {
        switch self {
        case .signIn: "signIn"
        case .signOut: "signOut"
        case .switchAccounts: "switchAccounts"
        }
    }
}
