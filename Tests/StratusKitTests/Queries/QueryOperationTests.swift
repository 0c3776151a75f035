// Queries and their options, with a server that answers as the test says.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@testable import StratusKit

/// The deprecated blocks, reachable without a warning.
private protocol LegacyQuery: AnyObject {
    var recordFetchedBlock: ((CKRecord) -> Void)? { get set }
    var queryCompletionBlock: ((CKQueryOperation.Cursor?, (any Error)?) -> Void)? { get set }
}

extension CKQueryOperation: LegacyQuery {}

/// The deprecated calls, reachable without a warning.
private protocol LegacyQueryCalls: AnyObject {
    func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void)
}

extension CKDatabase: LegacyQueryCalls {}

@Suite struct QueryOperationTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    /// A server that finds five records, of which the fourth fails, in pages of two unless a limit is given. Each page
    /// but the first settles ten.
    private func makeServer() -> (server: ScriptedServer, asked: Locked<[QueryRequest]>) {
        let server = ScriptedServer()
        let asked = Locked<[QueryRequest]>([])
        server.onQuery = { request in
            asked.withLock { $0.append(request) }
            var start = 0
            if case .cursor(let bytes) = request.start { start = Int(bytes[0]) }
            let end = min(start + (request.limit == 0 ? 2 : request.limit), 5)
            let records = (start..<max(start, end)).map { number in
                let address = RecordAddress(recordName: "r\(number)", zone: Self.zoneID.address)
                let record = ClientRecord(
                    ToldRecord(
                        address: address, type: "Note", changeTag: "1", creationDate: ShareSamples.date,
                        modificationDate: ShareSamples.date, creatorUserName: CKCurrentUserDefaultName,
                        lastModifiedUserName: CKCurrentUserDefaultName, fields: ClientFields([:])))
                return number == 3
                    ? QueryResult.failure(address, CloudError(.internalError, "Damaged.")) : .record(record)
            }
            let work = QueryWork(
                settledCount: start == 0 ? 0 : 10, openCount: records.count, pickedFromCount: 100 - start)
            return QueryResponse(records: records, cursor: end < 5 ? [UInt8(end)] : nil, work: work)
        }
        return (server, asked)
    }

    private func makeQuery() -> CKQuery {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = %d", 1))
        query.sortDescriptors = [
            NSSortDescriptor(key: "creationDate", ascending: false),
            CKLocationSortDescriptor(key: "place", relativeLocation: PredicateSamples.place),
        ]
        return query
    }

    @Test("[Q-13][Q-14] a page contains records in order and a cursor for the next page, or nil at the end")
    func pages() async throws {
        let (server, asked) = makeServer()
        let container = server.container()
        let trace = Trace()
        let cursor = Locked<CKQueryOperation.Cursor?>(nil)
        func ask(_ operation: CKQueryOperation) async {
            operation.recordMatchedBlock = { trace.note("\($0.recordName) \(outcome($1))") }
            operation.queryResultBlock = { result in
                cursor.withLock { $0 = (try? result.get()) ?? nil }
                trace.note("result \(outcome(result))")
            }
            (operation as any LegacyQuery).recordFetchedBlock = { _ in trace.note("old") }
            (operation as any LegacyQuery).queryCompletionBlock = {
                trace.note("old result \($0 != nil) \(outcome($1))")
            }
            await run(operation, in: container)
        }
        let first = CKQueryOperation(query: makeQuery())
        first.zoneID = Self.zoneID
        first.desiredKeys = ["a"]
        await ask(first)
        let rest = CKQueryOperation(cursor: try #require(cursor.value))
        rest.resultsLimit = 10
        await ask(rest)
        #expect(cursor.value == nil)
        #expect(
            trace.all == [
                "r0 ok", "r1 ok", "result ok", "old result true ok", "r2 ok", "r3 internalError", "r4 ok", "result ok",
                "old result false partialFailure",
            ])
        guard case .query(let query, let zone)? = asked.value.first?.start else {
            Issue.record("No query was asked.")
            return
        }
        #expect(zone == Self.zoneID.address)
        #expect(query.recordType == "Note")
        #expect(query.filters.map(PredicateSamples.words) == ["a equals 1"])
        #expect(query.sorts.map(\.key) == ["creationDate", "place"])
        #expect(query.sorts.map(\.isAscending) == [false, true])
        #expect(query.sorts.map { $0.origin?.latitudeDegrees } == [nil, 52])
        #expect(asked.value.map(\.limit) == [0, 10])
        #expect(asked.value.map(\.desiredKeys) == [["a"], nil])
    }

    @Test("[Q-14] a cursor reports the work of all pages before it, whatever happens to it on the way")
    func work() async throws {
        let (server, _) = makeServer()
        let database = server.container().privateCloudDatabase
        let first = try await database.records(matching: makeQuery(), inZoneWith: Self.zoneID, resultsLimit: 1)
        let start = try #require(first.queryCursor)
        #expect(start.work == QueryWork(openCount: 1, pickedFromCount: 100))
        var cursor = start
        var works: [QueryWork] = []
        for _ in 0..<3 {
            let page = try await database.records(continuingMatchFrom: cursor, resultsLimit: 1)
            cursor = try #require(page.queryCursor)
            works.append(cursor.work)
        }
        #expect(works.map(\.settledCount) == [10, 20, 30])
        #expect(works.map(\.openCount) == [1, 1, 1])
        #expect(works.map(\.doneCount) == [11, 21, 31])
        #expect(works.map(\.pickedFromCount) == [99, 98, 97])
        // A page that is fetched again counts once.
        let again = try await database.records(continuingMatchFrom: start, resultsLimit: 1)
        #expect(try #require(again.queryCursor).work == works.first)
    }

    @Test("[O-06] the deprecated blocks get the fetched records if the new one is not set")
    func oldBlocks() async {
        let (server, _) = makeServer()
        let operation = CKQueryOperation(query: makeQuery())
        operation.resultsLimit = 5
        let trace = Trace()
        (operation as any LegacyQuery).recordFetchedBlock = { trace.note($0.recordID.recordName) }
        await run(operation, in: server.container())
        #expect(trace.all == ["r0", "r1", "r2", "r4"])
    }

    @Test("[Q-01][C-20][X-25] mistakes fail the operation with invalidArguments, and nothing is sent")
    func mistakes() async {
        let (server, asked) = makeServer()
        let block = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        block.sortDescriptors = [NSSortDescriptor(keyPath: \CKRecord.recordType, ascending: true)]
        let operations = [
            CKQueryOperation(), CKQueryOperation(query: CKQuery(recordType: "", predicate: NSPredicate(value: true))),
            CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = 1 OR b = 2"))),
            CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = "))),
            CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate { _, _ in true })),
            CKQueryOperation(query: block),
        ]
        let container = server.container()
        let trace = Trace()
        for operation in operations {
            operation.queryResultBlock = { trace.note(outcome($0)) }
            await run(operation, in: container)
        }
        #expect(trace.all == Array(repeating: "invalidArguments", count: operations.count))
        #expect(asked.value.isEmpty)
    }

    @Test("[Q-02] now is the time at which the operation starts")
    func now() async {
        let (server, asked) = makeServer()
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a < now()"))
        let clock = HandClock()
        let session = CloudSession(server: server, clock: clock, account: ShareSamples.account)
        let container = CKContainer(
            session: session, identifier: ShareSamples.container.text, account: ShareSamples.account)
        clock.advance(bySeconds: 5)
        await run(CKQueryOperation(query: query), in: container)
        guard case .query(let sent, _)? = asked.value.first?.start else {
            Issue.record("No query was asked.")
            return
        }
        #expect(sent.filters.first?.operand == .date(clock.now))
    }

    @Test("[A-08] the calls of the database return a page")
    func calls() async throws {
        let (server, _) = makeServer()
        let database = server.container().privateCloudDatabase
        let page = try await database.records(matching: makeQuery(), inZoneWith: Self.zoneID, resultsLimit: 3)
        #expect(page.matchResults.map(\.0.recordName) == ["r0", "r1", "r2"])
        let cursor = try #require(page.queryCursor)
        let rest = try await database.records(continuingMatchFrom: cursor, desiredKeys: [])
        #expect(rest.matchResults.map { outcome($0.1) } == ["internalError", "ok"])
        #expect(rest.queryCursor == nil)
        let names = await withCheckedContinuation { continuation in
            (database as any LegacyQueryCalls).perform(makeQuery(), inZoneWith: nil) { records, error in
                continuation.resume(returning: (records ?? []).map(\.recordID.recordName) + [outcome(error)])
            }
        }
        #expect(names == ["r0", "r1", "ok"])
        let told = await withCheckedContinuation { continuation in
            database.fetch(withQuery: makeQuery()) { result in
                database.fetch(withCursor: CKQueryCursor([4])) { next in
                    continuation.resume(returning: "\(outcome(result)) \((try? next.get())?.matchResults.count ?? -1)")
                }
            }
        }
        #expect(told == "ok 1")
    }
}
