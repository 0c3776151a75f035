// A local copy of the user's notes, kept up to date with change tokens as one writes it with operations: tokens and
// notes are stored together, one page at a time, and after an expired token its zone starts over.

import CloudKit

/// A local copy of all zones of a database.
public final class SyncedNotes: @unchecked Sendable {
    // Unchecked because everything is touched on `queue`.

    /// A note as stored.
    public struct Note: Codable, Equatable, Sendable {
        /// What it says.
        public var text: String

        /// A note.
        public init(text: String) { self.text = text }
    }

    /// What is on disk.
    private struct Stored: Codable {
        var databaseToken: Data?
        var zones: [String: Zone] = [:]
    }

    private struct Zone: Codable {
        var ownerName: String
        var token: Data?
        var notes: [String: Note] = [:]
        /// The notes from before the zone started over that have not been fetched again yet.
        var unconfirmed: Set<String>?
    }

    private let database: CKDatabase
    private let file: URL
    private let queue = DispatchQueue(label: "notes")
    private var stored: Stored

    /// The copy in a file.
    public init(file: URL, database: CKDatabase = CKContainer.default().privateCloudDatabase) {
        self.file = file
        self.database = database
        let data = try? Data(contentsOf: file)
        stored = data.flatMap { try? JSONDecoder().decode(Stored.self, from: $0) } ?? Stored()
    }

    /// The notes of a zone by name; nil for a zone that is not there.
    public func notes(in zoneName: String) -> [String: Note]? {
        queue.sync { stored.zones[zoneName]?.notes }
    }

    /// Fetches the changes since the last time.
    public func sync(completion: @escaping @Sendable (Error?) -> Void) {
        let operation = CKFetchDatabaseChangesOperation(
            previousServerChangeToken: queue.sync { token(stored.databaseToken) })
        var changedZoneIDs: [CKRecordZone.ID] = []
        operation.recordZoneWithIDChangedBlock = { changedZoneIDs.append($0) }
        operation.recordZoneWithIDWasDeletedBlock = { zoneID in
            self.queue.sync { self.stored.zones[zoneID.zoneName] = nil }
        }
        operation.fetchDatabaseChangesResultBlock = { result in
            switch result {
            case .success((let token, _)):
                // The token is stored after the zones have been fetched, so that none is missed.
                self.fetch(changedZoneIDs) { error in
                    if error == nil { self.queue.sync { self.stored.databaseToken = self.data(token) } }
                    self.save()
                    completion(error)
                }
            case .failure(let error as CKError) where error.code == .changeTokenExpired:
                self.queue.sync { self.stored.databaseToken = nil }
                self.sync(completion: completion)
            case .failure(let error):
                completion(error)
            }
        }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    private func fetch(_ zoneIDs: [CKRecordZone.ID], completion: @escaping (Error?) -> Void) {
        guard !zoneIDs.isEmpty else { return completion(nil) }
        var configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration] = [:]
        for zoneID in zoneIDs {
            let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
            configuration.previousServerChangeToken = queue.sync { token(stored.zones[zoneID.zoneName]?.token) }
            configurations[zoneID] = configuration
        }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs, configurationsByRecordZoneID: configurations)
        var expired: [CKRecordZone.ID] = []
        var failure: Error?
        operation.recordWasChangedBlock = { recordID, result in
            guard case .success(let record) = result, record.recordType == "Note" else { return }
            self.change(recordID.zoneID) { zone in
                zone.notes[recordID.recordName] = Note(text: record["text"] as? String ?? "")
                zone.unconfirmed?.remove(recordID.recordName)
            }
        }
        operation.recordWithIDWasDeletedBlock = { recordID, _ in
            self.change(recordID.zoneID) { $0.notes[recordID.recordName] = nil }
        }
        operation.recordZoneChangeTokensUpdatedBlock = { zoneID, token, _ in
            guard let token = token else { return }
            self.change(zoneID) { $0.token = self.data(token) }
            self.save()
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            switch result {
            case .success((let token, _, _)):
                self.change(zoneID) { zone in
                    zone.token = self.data(token)
                    for name in zone.unconfirmed ?? [] { zone.notes[name] = nil }
                    zone.unconfirmed = nil
                }
            case .failure(let error as CKError) where error.code == .changeTokenExpired:
                expired.append(zoneID)
            case .failure(let error as CKError) where error.code == .zoneNotFound || error.code == .userDeletedZone:
                self.queue.sync { self.stored.zones[zoneID.zoneName] = nil }
            case .failure(let error):
                failure = error
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .failure(let error) = result { failure = error }
            for zoneID in expired {
                self.change(zoneID) { zone in
                    zone.token = nil
                    zone.unconfirmed = Set(zone.notes.keys)
                }
            }
            if let failure = failure { return completion(failure) }
            self.fetch(expired, completion: completion)
        }
        database.add(operation)
    }

    private func change(_ zoneID: CKRecordZone.ID, _ body: (inout Zone) -> Void) {
        queue.sync { body(&stored.zones[zoneID.zoneName, default: Zone(ownerName: zoneID.ownerName)]) }
    }

    private func save() {
        queue.sync { try? JSONEncoder().encode(stored).write(to: file, options: .atomic) }
    }

    private func token(_ data: Data?) -> CKServerChangeToken? {
        data.flatMap { try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: $0) }
    }

    private func data(_ token: CKServerChangeToken) -> Data? {
        try? NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    }
}
