import Foundation
import StratusKit

let account = try await cloud.account(externalID: user, createIfMissing: .init())
let database = cloud.container("iCloud.com.example.app", signedInAs: account).privateCloudDatabase
let record = CKRecord(recordType: "Note")
record["title"] = title
return try await database.save(record).recordID.recordName
