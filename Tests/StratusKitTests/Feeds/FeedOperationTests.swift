// The operations that fetch changes, with a server that answers as the test says.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct FeedOperationTests {
    private static let notes = CKRecordZone.ID(zoneName: "Notes")
    private static let other = CKRecordZone.ID(zoneName: "Other")

    private func makeServer(changeCount: Int = 5) -> ScriptedServer {
        let server = ScriptedServer()
        server.onZoneChanges = { FeedScript.zone($0, changeCount: changeCount) }
        server.onDatabaseChanges = { FeedScript.database($0, zoneCount: changeCount) }
        return server
    }

    /// Logs the arguments of all blocks.
    private func trace(_ operation: CKFetchRecordZoneChangesOperation) -> Trace {
        let trace = Trace()
        operation.recordWasChangedBlock = { trace.note("\($0.recordName) \(outcome($1))") }
        operation.recordWithIDWasDeletedBlock = { trace.note("\($0.recordName) deleted, a \($1)") }
        operation.recordZoneChangeTokensUpdatedBlock = {
            trace.note("\($0.zoneName) \(FeedScript.place($1)) \($2.map { [UInt8]($0) } ?? [])")
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            switch result {
            case .success(let end):
                let data = end.clientChangeTokenData.map { [UInt8]($0) } ?? []
                trace.note(
                    "\(zoneID.zoneName) ends \(FeedScript.place(end.serverChangeToken)) \(data) \(end.moreComing)")
            case .failure(let error): trace.note("\(zoneID.zoneName) \(outcome(error))")
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { trace.note("result \(outcome($0))") }
        return trace
    }

    @Test("[T-03][T-07][T-11] a zone is fetched page by page, with a token after every page but the last")
    func pages() async {
        let server = makeServer()
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes])
        let trace = trace(operation)
        await run(operation, in: server.container())
        #expect(
            trace.all == [
                "r0 ok", "r1 ok", "Notes [2] [9]", "r3 ok", "r2 deleted, a Note", "Notes [4] [9]", "r4 ok",
                "Notes ends [5] [] false", "result ok",
            ])
        #expect(server.requestCount == 3)
    }

    @Test("[T-04] a single page: no token in between, and the result says that there is more")
    func onePage() async {
        let server = makeServer()
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [Self.notes],
            configurationsByRecordZoneID: [
                Self.notes: .init(
                    previousServerChangeToken: CKServerChangeToken([1]), resultsLimit: 3, desiredKeys: ["number"])
            ])
        operation.fetchAllChanges = false
        let trace = trace(operation)
        await run(operation, in: server.container())
        #expect(
            trace.all == [
                "r1 ok", "r3 ok", "r2 deleted, a Note", "Notes ends [4] [9] true", "result ok",
            ])
        #expect(server.requestCount == 1)
    }

    @Test("[T-14] limit, token and keys of each zone reach the server; a negative limit means none")
    func requests() async {
        let server = makeServer()
        let asked = Locked<[String]>([])
        server.onZoneChanges = { request in
            asked.withLock {
                $0.append(
                    "\(request.zone.zoneName) \(request.token ?? []) \(request.limit) \(request.desiredKeys?.sorted() ?? ["*"])"
                )
            }
            return FeedScript.zone(request, changeCount: 2)
        }
        let operation = CKFetchRecordZoneChangesOperation()
        operation.recordZoneIDs = [Self.notes, Self.other, Self.notes]
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.resultsLimit = -3
        configuration.desiredKeys = []
        operation.configurationsByRecordZoneID = [Self.other: configuration]
        await run(operation, in: server.container())
        #expect(asked.value == ["Notes [] 0 [\"*\"]", "Other [] 0 []"])
    }

    @Test(
        "[T-18][A-06][A-07] a failing zone fails alone, and is a partial failure for the deprecated completion block"
    )
    func zoneFailure() async throws {
        let server = makeServer(changeCount: 1)
        server.onZoneChanges = { request in
            if request.zone.zoneName == "Other" { throw CloudError(.changeTokenExpired, inner: 2026, "Too old.") }
            return FeedScript.zone(request, changeCount: 1)
        }
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.other, Self.notes])
        let trace = trace(operation)
        let old = Locked<CKError?>(nil)
        (operation as any LegacyFetchZoneChanges).fetchRecordZoneChangesCompletionBlock = { error in
            old.withLock { $0 = error as? CKError }
        }
        await run(operation, in: server.container())
        #expect(trace.all == ["Other changeTokenExpired", "r0 ok", "Notes ends [1] [] false", "result ok"])
        let error = try #require(old.value)
        #expect(error.code == .partialFailure)
        #expect(error.partialErrorsByItemID?.keys.map { $0 as? CKRecordZone.ID } == [Self.other])
    }

    @Test("[T-05] a network failure between pages fails the operation; delivered items remain delivered")
    func networkFailure() async {
        let server = makeServer()
        server.onZoneChanges = { request in
            if request.token == [2] { throw ScriptedServer.refusal }
            return FeedScript.zone(request, changeCount: 5)
        }
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes, Self.other])
        let trace = trace(operation)
        await run(operation, in: server.container())
        #expect(trace.all == ["r0 ok", "r1 ok", "Notes [2] [9]", "result networkUnavailable"])
    }

    @Test("[O-10] a page that the network loses is fetched again, and nothing is delivered twice")
    func retry() async {
        let server = makeServer()
        let failures = Locked(2)
        server.onZoneChanges = { request in
            if request.token == [2],
                failures.withLock({ count in
                    defer { count -= 1 }
                    return count > 0
                })
            {
                throw CloudError(.networkFailure, "Lost.", retryAfterSeconds: 0)
            }
            return FeedScript.zone(request, changeCount: 5)
        }
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes])
        operation.qualityOfService = .utility
        let trace = trace(operation)
        let clock = HandClock()
        let session = CloudSession(server: server, clock: clock, account: ShareSamples.account)
        let container = CKContainer(
            session: session, identifier: ShareSamples.container.text, account: ShareSamples.account)
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        container.add(operation)
        // On a clock that stands still a pause ends when the clock is moved.
        await session.activity.untilIdle()
        while !operation.isFinished {
            clock.advance(bySeconds: 1)
            await session.activity.untilIdle()
        }
        #expect(
            trace.all == [
                "r0 ok", "r1 ok", "Notes [2] [9]", "r3 ok", "r2 deleted, a Note", "Notes [4] [9]", "r4 ok",
                "Notes ends [5] [] false", "result ok",
            ])
        #expect(server.requestCount == 5)
    }

    @Test("[O-08] cancelled by a block of a page, it does not fetch the next page")
    func cancelled() async {
        let server = makeServer()
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes])
        let trace = trace(operation)
        operation.recordZoneChangeTokensUpdatedBlock = { [unowned operation] _, token, _ in
            trace.note("token \(FeedScript.place(token))")
            operation.cancel()
        }
        await run(operation, in: server.container())
        #expect(trace.all == ["r0 ok", "r1 ok", "token [2]", "result operationCancelled"])
        #expect(server.requestCount == 1)
    }

    @Test("the next page is fetched after the blocks of the last one have returned, so pages do not pile up")
    func backPressure() async {
        let server = makeServer()
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes])
        let counts = Locked<[Int]>([])
        operation.recordWasChangedBlock = { _, _ in counts.withLock { $0.append(server.requestCount) } }
        await run(operation, in: server.container())
        #expect(counts.value == [1, 1, 2, 3])
    }

    @Test("[O-10] time spent in blocks does not count for a request")
    func slowBlocks() async {
        let server = makeServer()
        let clock = HandClock()
        let session = CloudSession(server: server, clock: clock, account: ShareSamples.account)
        let container = CKContainer(
            session: session, identifier: ShareSamples.container.text, account: ShareSamples.account)
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes])
        let trace = trace(operation)
        operation.recordWasChangedBlock = { _, _ in clock.advance(bySeconds: 50) }
        await run(operation, in: container)
        #expect(trace.all.last == "result ok")
        #expect(server.requestCount == 3)
    }

    @Test("[O-06] the deprecated blocks are called if the current ones are not set")
    func oldBlocks() async {
        let server = makeServer(changeCount: 3)
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.notes, Self.other])
        let trace = Trace()
        let old = operation as any LegacyFetchZoneChanges
        old.recordChangedBlock = { trace.note($0.recordID.recordName) }
        old.recordZoneFetchCompletionBlock = { zoneID, token, data, isMore, error in
            trace.note("\(zoneID.zoneName) \(FeedScript.place(token)) \(data?.count ?? 0) \(isMore) \(outcome(error))")
        }
        old.fetchRecordZoneChangesCompletionBlock = { trace.note("result \(outcome($0))") }
        old.optionsByRecordZoneID = [Self.notes: .init(previousServerChangeToken: CKServerChangeToken([1]))]
        #expect(operation.configurationsByRecordZoneID?.count == 1)
        await run(operation, in: server.container())
        #expect(
            trace.all == [
                "r1", "Notes [3] 0 false ok", "r0", "r1", "Other [3] 0 false ok", "result ok",
            ])
    }

    @Test("[O-15] without zones there is no request")
    func noZones() async {
        let server = makeServer()
        let operation = CKFetchRecordZoneChangesOperation()
        let trace = trace(operation)
        await run(operation, in: server.container())
        #expect(trace.all == ["result ok"])
        #expect(server.requestCount == 0)
    }
}
