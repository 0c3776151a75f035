// The page about pitfalls for clients. Clients know only CloudKit.

import CloudKit

extension Guide {
    /// Numbers under one key, by the type that the context asks for.
    public static func minutes(of record: CKRecord) -> (native: Int?, converted: Int?, cast: Int?) {
        // snippet
        let value: (any CKRecordValueProtocol)? = record["minutes"]
        let native = value as? Int  // nil: the value is an Int64
        let converted: Int? = record["minutes"]
        let cast = record["minutes"] as? Int
        // end
        return (native, converted, cast)
    }

    /// Saves all records or throws.
    public static func saveAll(_ records: [CKRecord], in database: CKDatabase) async throws {
        // snippet
        let (saved, _) = try await database.modifyRecords(saving: records, deleting: [])
        for result in saved.values { _ = try result.get() }
        // end
    }

    /// Saves a record, and its zone first if there is none. False if the person has deleted the zone.
    public static func saveWithZone(_ record: CKRecord, in database: CKDatabase) async throws -> Bool {
        // snippet
        do {
            try await database.save(record)
        } catch CKError.zoneNotFound {
            try await database.save(CKRecordZone(zoneID: record.recordID.zoneID))
            try await database.save(record)
        } catch CKError.userDeletedZone {
            return false  // ask the person before anything is uploaded again
        }
        // end
        return true
    }
}
