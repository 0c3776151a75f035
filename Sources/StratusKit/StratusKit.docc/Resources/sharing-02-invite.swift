import CloudKit

let share = CKShare(rootRecord: folder)
share[CKShare.SystemFieldKey.title] = "Our trip" as CKRecordValue
let (results, _) = try await database.modifyRecords(saving: [folder, share], deleting: [])
for result in results.values { _ = try result.get() }

let guest = try await container.shareParticipant(forEmailAddress: email)
guest.permission = .readWrite
share.addParticipant(guest)
try await container.privateCloudDatabase.save(share)
