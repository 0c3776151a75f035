import CloudKit

let share = CKShare(rootRecord: folder)
share[CKShare.SystemFieldKey.title] = "Our trip" as CKRecordValue
let (results, _) = try await database.modifyRecords(saving: [folder, share], deleting: [])
for result in results.values { _ = try result.get() }
