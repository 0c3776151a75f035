// A host's switches and planned faults, as clients meet them.

import Foundation
import StratusKit
import Testing

@Suite("Switches")
struct SwitchTests {
    @Test(
        "[X-04][S-20] deleting an unknown record succeeds, unless the host chose unknownItem",
        arguments: [false, true])
    func unknownRecord(fails: Bool) async throws {
        let (store, account) = try Stratus.tested { $0.unknownRecordDeletionFails = fails }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let id = CKRecord.ID(recordName: "nothing")
        do {
            _ = try await database.deleteRecord(withID: id)
            #expect(!fails)
        } catch let error as CKError {
            #expect(fails)
            #expect(error.code == .unknownItem)
        }
    }

    @Test(
        "[X-04][Z-04] deleting an unknown zone is zoneNotFound, unless the host chose success for the single call",
        arguments: [false, true])
    func unknownZone(succeeds: Bool) async throws {
        let (store, account) = try Stratus.tested { $0.unknownZoneDeletionSucceeds = succeeds }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let id = CKRecordZone.ID(zoneName: "Nothing")
        do {
            _ = try await database.deleteRecordZone(withID: id)
            #expect(succeeds)
        } catch let error as CKError {
            #expect(!succeeds)
            #expect(error.code == .zoneNotFound)
        }
        let results = try await database.modifyRecordZones(saving: [], deleting: [id]).deleteResults
        let error = #expect(throws: CKError.self) { try results[id]?.get() }
        #expect(error?.code == .zoneNotFound)
    }

    @Test("[S-13] production refuses types and fields that development would learn")
    func schemaMode() async throws {
        let (store, account) = try Stratus.tested { $0.schemaMode = .production }
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let error = try await #require(throws: CKError.self) { try await database.save(note("a")) }
        #expect(error.code == .invalidArguments)
    }
}

@Suite("Planned faults")
struct PlannedFaultTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func database(
        _ change: (inout Stratus.Options) -> Void = { _ in }
    ) async throws -> (Stratus, CKDatabase) {
        let (store, account) = try Stratus.tested(change)
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        return (store, database)
    }

    @Test("[A-02] in an atomic request one record's fault fails its zone, and nothing is written")
    func record() async throws {
        let (store, database) = try await database()
        let records = [note("a", in: "Notes"), note("b", in: "Notes")]
        store.faults.fail(.record(records[1].recordID), with: .quotaExceeded)
        let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
        #expect(code(results[records[1].recordID]) == .quotaExceeded)
        #expect(code(results[records[0].recordID]) == .batchRequestFailed)
        let found = try await database.records(for: records.map(\.recordID))
        #expect(found.values.allSatisfy { code($0) == .unknownItem })
        // The fault is used up.
        let again = try await database.modifyRecords(saving: records, deleting: []).saveResults
        #expect(again.values.allSatisfy { code($0) == nil })
    }

    @Test("[A-05] without atomicity one record's fault affects only that record")
    func recordAlone() async throws {
        let (store, database) = try await database()
        let records = [note("a", in: "Notes"), note("b", in: "Notes")]
        store.faults.fail(.record(records[1].recordID), with: .serverRejectedRequest)
        let results = try await database.modifyRecords(saving: records, deleting: [], atomically: false).saveResults
        #expect(code(results[records[1].recordID]) == .serverRejectedRequest)
        #expect(code(results[records[0].recordID]) == nil)
    }

    @Test("[Z-09][A-01] a busy zone fails its own records, with retry-after, and no other zone's")
    func zone() async throws {
        let (store, database) = try await database()
        store.faults.fail(.zone(zoneID), with: .zoneBusy, retryAfter: 3)
        let records = [note("a", in: "Notes"), note("b")]
        let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
        #expect(code(results[records[1].recordID]) == nil)
        let error = #expect(throws: CKError.self) { try results[records[0].recordID]?.get() }
        #expect(error?.code == .zoneBusy)
        #expect(error?.retryAfterSeconds == 3)
    }

    @Test("[L-16] a whole account is throttled for a time of the store's clock, and others are not")
    func account() async throws {
        let clock = Stratus.ManualClock()
        let store = try await Stratus.inMemory(options: .tested { $0.clock = .manual(clock) })
        let alice = try await store.createAccount(.init(), externalID: "alice")
        let bob = try await store.createAccount(.init(), externalID: "bob")
        let alices = store.container("iCloud.test", signedInAs: alice).privateCloudDatabase
        let bobs = store.container("iCloud.test", signedInAs: bob).privateCloudDatabase
        let fault = store.faults.fail(
            .account(alice), with: .requestRateLimited, retryAfter: 11, lasting: .seconds(11))
        let error = try await #require(throws: CKError.self) { try await alices.save(note("a")) }
        #expect(error.code == .requestRateLimited)
        #expect(error.retryAfterSeconds == 11)
        try await bobs.save(note("a"))
        clock.advance(by: 11)
        try await alices.save(note("a"))
        #expect(fault.hitCount >= 1)
    }

    @Test("[S-21] a lost answer means that the write was committed")
    func lostAnswer() async throws {
        let (store, database) = try await database()
        store.faults.loseAnswers(of: .modifyRecords)
        let error = try await #require(throws: CKError.self) { try await database.save(note("a", in: "Notes")) }
        #expect(error.code == .serverResponseLost)
        let id = CKRecord.ID(recordName: "a", zoneID: zoneID)
        #expect(try await database.record(for: id)["text"] as? String == "text")
        // A client that repeats it without checking conflicts with their own record (S-04).
        let second = try await #require(throws: CKError.self) { try await database.save(note("a", in: "Notes")) }
        #expect(second.code == .serverRecordChanged)
    }

    @Test("a kind of request fails n times and then succeeds")
    func operation() async throws {
        let (store, database) = try await database()
        let fault = store.faults.fail(.operation(.fetchZones), with: .internalError, lasting: .times(2))
        for _ in 1...2 {
            let error = try await #require(throws: CKError.self) { try await database.allRecordZones() }
            #expect(error.code == .internalError)
        }
        #expect(try await database.allRecordZones().count == 2)
        #expect(fault.hitCount == 2)
    }

    private func code(_ result: Result<CKRecord, any Error>?) -> CKError.Code? {
        guard case .failure(let error)? = result else { return nil }
        return (error as? CKError)?.code
    }
}
