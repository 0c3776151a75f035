// A host of a store on a PostgreSQL server by the public API, in a process of its own, which tests kill and pause.

import StratusKit

/// Opens the store at an address, and saves the records "1", "2", … in a zone of the account "counter" until it
/// cannot. It begins after those that are there. Prints each number after its save, and at the end the code of the
/// error.
func saveOnServer(_ url: String) async {
    do {
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        let store = try await Stratus.open(at: url, options: options)
        let account = try await store.account(externalID: "counter", createIfMissing: .init())
        let database = store.container("iCloud.com.example.counter", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Numbers"))
        var number = try await recordCount(of: zone.zoneID, in: database)
        while true {
            number += 1
            let id = CKRecord.ID(recordName: "\(number)", zoneID: zone.zoneID)
            _ = try await database.save(CKRecord(recordType: "Number", recordID: id))
            say("\(number)")
        }
    } catch let error as StratusError {
        say("\(error.code)")
    } catch let error as CKError {
        say("CKError \(error.code.rawValue)")
    } catch {
        say("\(error)")
    }
}

private func recordCount(of zone: CKRecordZone.ID, in database: CKDatabase) async throws -> Int {
    var (count, token, isMoreComing) = (0, CKServerChangeToken?.none, true)
    while isMoreComing {
        let changes = try await database.recordZoneChanges(inZoneWith: zone, since: token)
        count += changes.modificationResultsByID.count
        (token, isMoreComing) = (changes.changeToken, changes.moreComing)
    }
    return count
}
