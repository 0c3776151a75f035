// A guest book as it was written in 2016: completion blocks everywhere, the old ones among them.

import CloudKit

/// The guest book of the signed-in user.
public final class GuestBook: @unchecked Sendable {
    // @unchecked because the lock guards `lines`.
    private let container: CKContainer
    private let database: CKDatabase
    private let lock = NSLock()
    private var lines: [String] = []

    /// The book in a container.
    public init(container: CKContainer = CKContainer.default()) {
        self.container = container
        database = container.privateCloudDatabase
    }

    /// The log so far.
    public var log: [String] {
        lock.lock()
        defer { lock.unlock() }
        return lines
    }

    private func write(_ line: String) {
        lock.lock()
        lines.append(line)
        lock.unlock()
    }

    /// Goes through all features of the book, and calls `completion` at the end.
    public func demonstrate(completion: @escaping @Sendable (Error?) -> Void) {
        container.accountStatus { status, error in
            if let error = error { return completion(error) }
            guard status == .available else {
                self.write("account: \(status.rawValue)")
                return completion(CKError(.notAuthenticated))
            }
            self.write("account: available")
            self.container.fetchUserRecordID { recordID, error in
                self.write("user: \(recordID == nil ? "unknown" : "known")")
                self.signTwice(completion: completion)
            }
        }
    }

    private func signTwice(completion: @escaping @Sendable (Error?) -> Void) {
        let entry = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "first"))
        entry.setObject("Ada" as NSString, forKey: "name")
        entry.setValue(1, forKey: "visits")
        database.save(entry) { record, error in
            guard let record = record else { return completion(error) }
            self.write("saved \(record.recordID.recordName): \(record.value(forKey: "name") as? String ?? "nobody")")

            // The same again, as a new record: another save was first.
            let again = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "first"))
            again["name"] = "Grace" as NSString
            self.database.save(again) { _, error in
                if let error = error as NSError?, error.domain == CKErrorDomain,
                    error.code == CKError.Code.serverRecordChanged.rawValue
                {
                    self.write("conflict")
                }
                self.writeMany(completion: completion)
            }
        }
    }

    private func writeMany(completion: @escaping @Sendable (Error?) -> Void) {
        let zone = CKRecordZone(zoneName: "Pages")
        let zoneOperation = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: nil)
        zoneOperation.modifyRecordZonesCompletionBlock = { saved, _, error in
            self.write("zones: \((saved ?? []).map { $0.zoneID.zoneName }.joined(separator: ", "))")
        }

        let page = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "page-1", zoneID: zone.zoneID))
        page["text"] = "Welcome" as CKRecordValue
        let missing = CKRecord(
            recordType: "Page", recordID: CKRecord.ID(recordName: "orphan", zoneID: CKRecordZone.ID(zoneName: "Gone")))
        let operation = CKModifyRecordsOperation(recordsToSave: [page, missing], recordIDsToDelete: nil)
        operation.savePolicy = .changedKeys
        operation.perRecordProgressBlock = { record, progress in
            if progress == 1 { self.write("sent \(record.recordID.recordName)") }
        }
        operation.perRecordCompletionBlock = { record, error in
            let code = (error as? CKError)?.code.rawValue ?? 0
            self.write("\(record.recordID.recordName): \(code == 0 ? "saved" : "error \(code)")")
        }
        operation.modifyRecordsCompletionBlock = { saved, _, error in
            self.write("saved \(saved?.count ?? 0) of 2")
            if let error = error as? CKError, error.code == .partialFailure {
                let failed = error.partialErrorsByItemID?.keys.compactMap { ($0 as? CKRecord.ID)?.recordName } ?? []
                self.write("failed: \(failed.joined(separator: ", "))")
            }
            self.readBack(page.recordID, completion: completion)
        }
        operation.addDependency(zoneOperation)
        database.add(zoneOperation)
        database.add(operation)
    }

    private func readBack(_ pageID: CKRecord.ID, completion: @escaping @Sendable (Error?) -> Void) {
        let unknownID = CKRecord.ID(recordName: "unknown", zoneID: pageID.zoneID)
        let operation = CKFetchRecordsOperation(recordIDs: [pageID, unknownID])
        operation.desiredKeys = ["text"]
        operation.qualityOfService = .userInitiated
        operation.fetchRecordsCompletionBlock = { records, error in
            self.write("fetched: \(records?[pageID]?["text"] as? String ?? "nothing")")
            let errors = (error as? CKError)?.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error]
            if (errors?[unknownID] as? CKError)?.code == .unknownItem { self.write("unknown: not found") }
            self.database.delete(withRecordID: pageID) { deletedID, error in
                self.write("deleted \(deletedID?.recordName ?? "nothing")")
                completion(error)
            }
        }
        database.add(operation)
    }
}
