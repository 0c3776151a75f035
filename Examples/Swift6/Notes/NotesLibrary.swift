// A notes app's model layer: the notes on this device, and how they get into iCloud.
//
// Each note is kept with the system fields of the record it was last seen as, as Apple recommends, so that saving it
// sends only what changed and the server can detect that another device was faster.

import CloudKit

/// The notes of one device.
public actor NotesLibrary {
    /// What the device remembers of a note.
    private struct Entry {
        var note: Note
        /// The note as the server last had it: the base for merging the changes of both sides.
        var base: Note?
        var systemFields: Data?
    }

    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    private var entries: [String: Entry] = [:]
    /// What happened, for the log view.
    public private(set) var journal: [String] = []

    /// The notes in a container.
    public init(container: CKContainer = .default()) {
        database = container.privateCloudDatabase
    }

    /// Makes sure that the zone exists.
    public func setUp() async throws {
        do {
            _ = try await database.recordZone(for: zoneID)
        } catch CKError.zoneNotFound, CKError.unknownItem {
            let zone = try await database.save(CKRecordZone(zoneID: zoneID))
            journal.append("made zone \(zone.zoneID.zoneName)")
        }
    }

    /// This device's version of the note.
    public func note(_ id: String) -> Note? { entries[id]?.note }

    /// Changes a note on this device.
    public func edit(_ note: Note) {
        entries[note.id, default: Entry(note: note)].note = note
    }

    /// Sends a note, merging it with others' changes.
    @discardableResult
    public func push(_ id: String) async throws -> Note {
        guard let entry = entries[id] else { throw CKError(.unknownItem) }
        var record = entry.systemFields.flatMap(Self.record(from:)) ?? newRecord(id)
        entry.note.write(to: record, over: entry.base)
        for _ in 1...5 {
            do {
                remember(try await database.save(record))
                journal.append("saved \(id)")
                return entries[id]?.note ?? entry.note
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let server = error.serverRecord else { throw error }
                journal.append("merged \(id)")
                let merged = Note.merge(base: entry.base, mine: entry.note, theirs: Note(server))
                merged.write(to: server)
                record = server
            } catch let error as CKError where error.code == .zoneNotFound || error.code == .userDeletedZone {
                journal.append("zone is gone")
                try await setUp()
                record = newRecord(id)
                entry.note.write(to: record)
            } catch let error as CKError {
                guard let seconds = error.retryAfterSeconds else { throw error }
                journal.append("waits \(Int(seconds)) s")
                try await Task.sleep(nanoseconds: UInt64(seconds * 1_000_000_000))
            }
        }
        throw CKError(.zoneBusy)
    }

    /// Fetches a note; a note that is gone is forgotten.
    @discardableResult
    public func pull(_ id: String) async throws -> Note? {
        do {
            let record = try await database.record(for: CKRecord.ID(recordName: id, zoneID: zoneID))
            remember(record)
            return Note(record)
        } catch let error as CKError where error.code == .unknownItem {
            entries[id] = nil
            return nil
        }
    }

    /// Deletes a note everywhere.
    public func delete(_ id: String) async throws {
        try await database.deleteRecord(withID: CKRecord.ID(recordName: id, zoneID: zoneID))
        entries[id] = nil
        journal.append("deleted \(id)")
    }

    // MARK: Records

    private func newRecord(_ id: String) -> CKRecord {
        CKRecord(recordType: Note.recordType, recordID: CKRecord.ID(recordName: id, zoneID: zoneID))
    }

    private func remember(_ record: CKRecord) {
        let note = Note(record)
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        entries[note.id] = Entry(note: note, base: note, systemFields: archiver.encodedData)
    }

    private static func record(from systemFields: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        defer { unarchiver.finishDecoding() }
        return CKRecord(coder: unarchiver)
    }
}

extension Note {
    /// Sets what differs from the base; a record created from system fields has no values to compare with.
    func write(to record: CKRecord, over base: Note?) {
        guard let base = base else { return write(to: record) }
        if title != base.title { record[Key.title] = title }
        if body != base.body { record.encryptedValues[Key.body] = body }
        if tags != base.tags { record[Key.tags] = tags }
        if isPinned != base.isPinned { record[Key.isPinned] = isPinned }
        guard place?.latitude != base.place?.latitude || place?.longitude != base.place?.longitude else { return }
        record[Key.place] = place.map { CLLocation(latitude: $0.latitude, longitude: $0.longitude) }
    }

    /// Takes each value from the side that changed it; if both did, the other device wins the title and the text keeps
    /// both.
    static func merge(base: Note?, mine: Note, theirs: Note) -> Note {
        var merged = theirs
        if theirs.title == base?.title { merged.title = mine.title }
        if theirs.body == base?.body {
            merged.body = mine.body
        } else if mine.body != base?.body, mine.body != theirs.body {
            merged.body = theirs.body + "\n---\n" + mine.body
        }
        merged.tags = Set(theirs.tags).union(mine.tags).sorted()
        if theirs.isPinned == base?.isPinned { merged.isPinned = mine.isPinned }
        if theirs.place == nil { merged.place = mine.place }
        return merged
    }
}
