import Foundation
import StratusKit

let hostQueue = DispatchQueue(label: "host calls", attributes: .concurrent)

/// Makes a call that blocks, on a thread that may be blocked, while the task is suspended.
func hostCall<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        hostQueue.async { continuation.resume(with: Result(catching: body)) }
    }
}

let account = try await hostCall { try cloud.account(externalID: user, createIfMissing: .init()) }
let database = cloud.container("iCloud.com.example.app", signedInAs: account).privateCloudDatabase
let record = CKRecord(recordType: "Note")
record["title"] = title
return try await database.save(record).recordID.recordName
