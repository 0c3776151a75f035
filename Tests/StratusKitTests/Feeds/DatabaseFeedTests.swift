// Fetching the changed zones of a database, and the calls that fetch a page of changes.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import Testing

@testable import StratusKit

@Suite struct DatabaseFeedTests {
    private func makeServer() -> ScriptedServer {
        let server = ScriptedServer()
        server.onZoneChanges = { FeedScript.zone($0, changeCount: 5) }
        server.onDatabaseChanges = { FeedScript.database($0, zoneCount: 5) }
        return server
    }

    private func trace(_ operation: CKFetchDatabaseChangesOperation) -> Trace {
        let trace = Trace()
        operation.recordZoneWithIDChangedBlock = { trace.note($0.zoneName) }
        operation.recordZoneWithIDWasDeletedBlock = { trace.note("\($0.zoneName) is gone") }
        operation.changeTokenUpdatedBlock = { trace.note("token \(FeedScript.place($0))") }
        operation.fetchDatabaseChangesResultBlock = { result in
            switch result {
            case .success(let end): trace.note("result \(FeedScript.place(end.serverChangeToken)) \(end.moreComing)")
            case .failure(let error): trace.note("result \(outcome(error))")
            }
        }
        return trace
    }

    @Test(
        "[T-03][T-13] zones come in pages, with a token after every one but the last; a reason without its own block is a deletion"
    )
    func pages() async {
        let server = makeServer()
        let operation = CKFetchDatabaseChangesOperation()
        let trace = trace(operation)
        await run(operation, in: server.container())
        #expect(
            trace.all == [
                "z0", "z1", "token [2]", "z2", "z3", "token [4]", "z4", "deleted is gone", "purged is gone",
                "encryptedDataReset is gone", "result [5] false",
            ])
        #expect(server.requestCount == 3)
    }

    @Test("[T-13][T-04] a reason with its own block is reported only there")
    func reasons() async {
        let server = makeServer()
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: CKServerChangeToken([4]))
        operation.resultsLimit = 7
        operation.fetchAllChanges = false
        let trace = trace(operation)
        operation.recordZoneWithIDWasPurgedBlock = { trace.note("\($0.zoneName)!") }
        operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { trace.note("\($0.zoneName)!") }
        (operation as any LegacyFetchDatabaseChanges).fetchDatabaseChangesCompletionBlock = { token, isMore, error in
            trace.note("old result \(FeedScript.place(token)) \(isMore) \(outcome(error))")
        }
        await run(operation, in: server.container())
        #expect(
            trace.all == [
                "z4", "deleted is gone", "purged!", "encryptedDataReset!", "result [5] false",
                "old result [5] false ok",
            ])
    }

    @Test("[T-05][T-09] an error fails the operation, and returns no token")
    func failure() async {
        let server = makeServer()
        server.onDatabaseChanges = { request in
            if request.token != nil { throw CloudError(.changeTokenExpired, inner: 2026, "Too old.") }
            return FeedScript.database(request, zoneCount: 5)
        }
        let operation = CKFetchDatabaseChangesOperation()
        let trace = trace(operation)
        (operation as any LegacyFetchDatabaseChanges).fetchDatabaseChangesCompletionBlock = { token, isMore, error in
            trace.note("old result \(FeedScript.place(token)) \(isMore) \(outcome(error))")
        }
        await run(operation, in: server.container())
        #expect(
            trace.all == [
                "z0", "z1", "token [2]", "result changeTokenExpired", "old result nil false changeTokenExpired",
            ])
    }

    @Test("[O-08] cancelled between pages, it does not fetch the next one")
    func cancelled() async {
        let server = makeServer()
        let operation = CKFetchDatabaseChangesOperation()
        let trace = trace(operation)
        operation.changeTokenUpdatedBlock = { [unowned operation] _ in operation.cancel() }
        await run(operation, in: server.container())
        #expect(trace.all == ["z0", "z1", "result operationCancelled"])
        #expect(server.requestCount == 1)
    }

    @Test("[T-04] the async calls fetch a page and say whether there is more")
    func awaited() async throws {
        let server = makeServer()
        let database = server.container().privateCloudDatabase
        let first = try await database.databaseChanges(since: nil)
        #expect(first.modifications.map(\.zoneID.zoneName) == ["z0", "z1"])
        #expect(first.deletions.isEmpty)
        #expect(first.moreComing)
        let rest = try await database.databaseChanges(since: first.changeToken, resultsLimit: 9)
        #expect(rest.modifications.count == 3)
        #expect(rest.deletions.map(\.reason) == [.deleted, .purged, .encryptedDataReset])
        #expect(!rest.moreComing)
        #expect(rest.changeToken != first.changeToken)

        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil, resultsLimit: 3)
        #expect(page.modificationResultsByID.keys.map(\.recordName).sorted() == ["r0", "r1"])
        let record = try #require(page.modificationResultsByID.values.first).get().record
        #expect(record["number"] as? Int != nil)
        #expect(page.deletions == [.init(recordID: .init(recordName: "r2", zoneID: zoneID), recordType: "Note")])
        #expect(page.moreComing)
        #expect(server.requestCount == 3)
    }

    @Test("[A-08] the zone's error is thrown by the call")
    func zoneError() async throws {
        let server = makeServer()
        server.onZoneChanges = { _ in throw CloudError(.zoneNotFound, inner: 2036, "Zone not found") }
        let database = server.container().privateCloudDatabase
        let thrown = await #expect(throws: CKError.self) {
            _ = try await database.recordZoneChanges(inZoneWith: .init(zoneName: "Notes"), since: nil)
        }
        #expect(thrown?.code == .zoneNotFound)
        let told = await withCheckedContinuation { continuation in
            database.fetchRecordZoneChanges(inZoneWith: .init(zoneName: "Notes"), since: nil) { result in
                continuation.resume(returning: outcome(result))
            }
        }
        #expect(told == "zoneNotFound")
        let changes = await withCheckedContinuation { continuation in
            database.fetchDatabaseChanges(since: nil) { continuation.resume(returning: outcome($0)) }
        }
        #expect(changes == "ok")
    }

    @Test("[T-11] a client's change token is sent with its change")
    func clientData() async {
        let server = ScriptedServer()
        let sent = Locked<[UInt8]?>(nil)
        server.onModify = { request in
            sent.withLock { $0 = request.clientChangeTokenData }
            throw ScriptedServer.refusal
        }
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        operation.clientChangeTokenData = Data([1, 2])
        await run(operation, in: server.container())
        #expect(sent.value == [1, 2])
    }
}

@Suite struct ChangeTokenTests {
    @Test("[T-01][C-18] a token round-trips through an archive, and its description reveals nothing")
    func archive() throws {
        let token = CKServerChangeToken([1, 2, 255])
        #expect(token == CKServerChangeToken([1, 2, 255]))
        #expect(token != CKServerChangeToken([1, 2]))
        #expect(Set([token, CKServerChangeToken([1, 2, 255])]).count == 1)
        #expect(token.copy() as? CKServerChangeToken === token)
        let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data) == token)
        #expect(try StratusArchive.decode(CKServerChangeToken.self, from: data) == token)
        #expect(!token.description.contains("255"))
    }

    @Test("a zone's configuration is copied and archived with all its properties")
    func configuration() throws {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: CKServerChangeToken([7]), resultsLimit: 12, desiredKeys: ["a", "ä"])
        let data = try NSKeyedArchiver.archivedData(withRootObject: configuration, requiringSecureCoding: true)
        let copies = [
            configuration.copy() as? CKFetchRecordZoneChangesOperation.ZoneConfiguration,
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKFetchRecordZoneChangesOperation.ZoneConfiguration.self, from: data),
            try StratusArchive.decode(CKFetchRecordZoneChangesOperation.ZoneConfiguration.self, from: data),
        ]
        configuration.resultsLimit = 1
        for copy in copies {
            #expect(copy?.previousServerChangeToken == CKServerChangeToken([7]))
            #expect(copy?.resultsLimit == 12)
            #expect(copy?.desiredKeys == ["a", "ä"])
        }
        #expect(CKFetchRecordZoneChangesOperation.ZoneConfiguration().desiredKeys == nil)
    }
}
