// All random values of a client or a host, twice, in a process that cannot open a descriptor and, if its user may, has
// an empty /dev: what Foundation's `UUID()` needs. Each is printed as a line, kind and value.

import Foundation
import StratusKit
import StratusStore

/// Creates a store in `path` and draws identities in it. Prints first whether /dev is empty.
func drawIdentities(_ path: String) throws {
    var options = Stratus.Options()
    options.logger = nil
    options.upkeepIntervalSeconds = nil
    let host = try Stratus.open(at: URL(fileURLWithPath: path), options: options)
    defer { host.close() }
    let account = try host.account(externalID: "local", createIfMissing: .init())
    let database = host.container("iCloud.com.example.app", signedInAs: account).privateCloudDatabase
    let devices = try FileManager.default.contentsOfDirectory(atPath: "/dev")
    say(devices.isEmpty ? "/dev is empty" : "/dev is not empty: this process has only the limit of descriptors")
    let taken = takeAllDescriptors()
    defer { for handle in taken { try? handle.close() } }
    say("Foundation: \(UUID())")
    for name in ["one", "two"] {
        for (kind, value) in drawObjects() { say("\(kind) \(value)") }
        try save(CKRecordZone(zoneName: name), to: database)
        let account = try host.account(externalID: name, createIfMissing: .init())
        say("account \(account.id)")
        say("user \(account.userRecordName)")
    }
}

/// One of each object that draws a name at its creation.
private func drawObjects() -> [(kind: String, value: String)] {
    let record = CKRecord(recordType: "Note")
    return [
        ("record", record.recordID.recordName), ("recordID", CKRecord.ID().recordName),
        ("share", CKShare(rootRecord: record).recordID.recordName),
        ("participant", CKShare.Participant.oneTimeURLParticipant().participantID),
        ("operation", CKFetchRecordsOperation(recordIDs: []).operationID),
        ("group", CKOperationGroup().operationGroupID),
    ]
}

/// Opens this program repeatedly until nothing more can be opened. The parent process sets a low limit.
private func takeAllDescriptors() -> [FileHandle] {
    var taken: [FileHandle] = []
    while let handle = FileHandle(forReadingAtPath: CommandLine.arguments[0]) { taken.append(handle) }
    return taken
}

private func save(_ zone: CKRecordZone, to database: CKDatabase) throws {
    let (done, failure) = (DispatchSemaphore(value: 0), Locked<(any Error)?>(nil))
    database.save(zone) { _, error in
        failure.withLock { $0 = error }
        done.signal()
    }
    done.wait()
    if let error = failure.value { throw error }
}
