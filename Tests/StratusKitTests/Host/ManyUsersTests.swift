// Many users in one store, at once: each sees only their own.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

@Suite("Many users")
struct ManyUsersTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    @Test("1,000 accounts in one directory see only their own records, before and after it is reopened")
    func thousand() async throws {
        let directory = try HostDirectory()
        let url = directory.store
        let store = try await onThread { try Stratus.open(at: url, options: .tested()) }
        // Side by side, here and below, so that many commits share a sync of the disk.
        let made = Collected<Stratus.Account>()
        try await TestThreads.offPool {
            try TestThreads.run(40) { share in
                for number in (share * 25)..<(share * 25 + 25) {
                    made.append(try store.createAccount(.init(), externalID: "user-\(number)"))
                }
            }
        }
        let accounts = made.values
        #expect(try await store.accounts().count == 1_000)
        #expect(Set(accounts.map(\.userRecordName)).count == 1_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<40 {
                group.addTask {
                    for account in accounts[(share * 25)..<(share * 25 + 25)] {
                        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
                        try await database.save(note("a", text: account.id))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await expectOwnRecords(of: accounts, in: store)
        try await onThread { store.close() }
        let reopened = try await onThread { try Stratus.open(at: url, options: .tested()) }
        let found = try await reopened.accounts()
        #expect(found.count == 1_000)
        #expect(Set(found.map(\.id)) == Set(accounts.map(\.id)))
        try await expectOwnRecords(of: found, in: reopened)
        try await onThread { reopened.close() }
        withExtendedLifetime(directory) {}
    }

    /// Reads each account's record, which has the same name in all and contains its owner.
    private func expectOwnRecords(of accounts: [Stratus.Account], in store: Stratus) async throws {
        for account in accounts {
            let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
            #expect(try await database.record(for: CKRecord.ID(recordName: "a"))["text"] as? String == account.id)
        }
    }

    @Test(
        "[Z-03][S-05][A-02] 64 callers of 16 accounts save, count up, fetch and delete; no account loses or sees more"
    )
    func callers() async throws {
        let store = try await Stratus.inMemory(options: .tested { $0.upkeepIntervalSeconds = 0.02 })
        let accounts = try (0..<16).map { try store.createAccount(.init(), externalID: "user-\($0)") }
        let rounds = 3
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<64 {
                let account = accounts[caller % 16]
                group.addTask {
                    let container = store.container("iCloud.test", signedInAs: account)
                    try await Self.work(container.privateCloudDatabase, account, caller: caller, rounds: rounds)
                }
            }
            try await group.waitForAll()
        }
        for account in accounts {
            let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
            let counter = try await database.record(for: CKRecord.ID(recordName: "counter", zoneID: Self.zoneID))
            #expect(counter["count"] as? Int == 4 * rounds)
            #expect(counter["owner"] as? String == account.id)
            let zones = try await database.allRecordZones().map(\.zoneID.zoneName).sorted()
            #expect(zones == ["Notes", "_defaultZone"])
        }
        try await onThread { store.close() }
    }

    /// The repeated acts of one caller.
    private static func work(
        _ database: CKDatabase, _ account: Stratus.Account, caller: Int, rounds: Int
    ) async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        for round in 0..<rounds {
            try await countUp(database, account)
            let mine = (0..<3).map { note("n\(caller)-\(round)-\($0)", in: "Notes", text: account.id) }
            let saved = try await database.modifyRecords(saving: mine, deleting: []).saveResults
            #expect(saved.values.allSatisfy { (try? $0.get()) != nil })
            let found = try await database.records(for: mine.map(\.recordID))
            #expect(try found.values.allSatisfy { try $0.get()["text"] as? String == account.id })
            let deleted = try await database.modifyRecords(saving: [], deleting: mine.map(\.recordID)).deleteResults
            #expect(deleted.values.allSatisfy { (try? $0.get()) != nil })
            let scratch = CKRecordZone(zoneName: "Scratch-\(caller)")
            try await database.save(scratch)
            try await database.save(note("s", in: scratch.zoneID.zoneName))
            try await database.deleteRecordZone(withID: scratch.zoneID)
        }
    }

    /// Increments the account's counter, also under concurrent increments.
    private static func countUp(_ database: CKDatabase, _ account: Stratus.Account) async throws {
        let id = CKRecord.ID(recordName: "counter", zoneID: zoneID)
        var record = CKRecord(recordType: "Counter", recordID: id)
        while true {
            record["count"] = (record["count"] as? Int ?? 0) + 1
            record["owner"] = account.id
            do {
                try await database.save(record)
                return
            } catch let error as CKError where error.code == .serverRecordChanged {
                record = try #require(error.serverRecord)
                #expect(record["owner"] as? String == account.id)
            }
        }
    }
}
