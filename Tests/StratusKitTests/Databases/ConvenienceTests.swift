// Records and zones without operations: with completion handlers and awaited.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite struct ConvenienceTests {
    /// Waits for a completion handler.
    private func handled<Value: Sendable>(
        _ call: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
    ) async -> (value: Value?, error: (any Error)?) {
        await withCheckedContinuation { continuation in call { continuation.resume(returning: ($0, $1)) } }
    }

    @Test(
        "[A-08][C-04] single records are saved, fetched and deleted, and throw their own error",
        arguments: BenchStore.allCases)
    func singleRecords(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let database = bench.database
        let record = makeRecord("a")
        let saved = try await database.save(record)
        #expect(saved === record)
        #expect(record.recordChangeTag != nil)
        #expect(record.changedKeys().isEmpty)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched !== record)
        #expect(fetched["text"] as? String == "text")
        #expect(fetched.recordChangeTag == record.recordChangeTag)
        await #expect { try await database.save(makeRecord("a")) } throws: { outcome($0) == "serverRecordChanged" }
        #expect(try await database.deleteRecord(withID: record.recordID) == record.recordID)
        await #expect { try await database.record(for: record.recordID) } throws: { outcome($0) == "unknownItem" }
    }

    @Test("[A-08] completion handlers get what the async calls return and throw")
    func handlers() async throws {
        let bench = try OperationBench()
        let database = bench.database
        let record = makeRecord("a")
        #expect(await handled { database.save(record, completionHandler: $0) }.value === record)
        let again = await handled { database.save(makeRecord("a"), completionHandler: $0) }
        #expect(again.value == nil)
        #expect(outcome(again.error) == "serverRecordChanged")
        let fetched = await handled { database.fetch(withRecordID: record.recordID, completionHandler: $0) }
        #expect(fetched.value?.recordID == record.recordID)
        #expect(fetched.error == nil)
        let deleted = await handled { database.delete(withRecordID: record.recordID, completionHandler: $0) }
        #expect(deleted.value == record.recordID)
        #expect(deleted.error == nil)
        let missing = await handled { database.fetch(withRecordID: record.recordID, completionHandler: $0) }
        #expect(missing.value == nil)
        #expect(outcome(missing.error) == "unknownItem")

        let zone = CKRecordZone(zoneName: "Notes")
        #expect(await handled { database.save(zone, completionHandler: $0) }.value?.zoneID == zone.zoneID)
        let known = await handled { database.fetch(withRecordZoneID: zone.zoneID, completionHandler: $0) }
        #expect(known.value?.capabilities.contains(.atomic) == true)
        #expect(await handled { database.fetchAllRecordZones(completionHandler: $0) }.value?.count == 2)
        #expect(
            await handled { database.delete(withRecordZoneID: zone.zoneID, completionHandler: $0) }.value == zone.zoneID
        )
        let gone = await handled { database.fetch(withRecordZoneID: zone.zoneID, completionHandler: $0) }
        #expect(gone.value == nil)
        #expect(outcome(gone.error) == "zoneNotFound")
    }

    @Test("[A-08] single zones throw their own error")
    func singleZones() async throws {
        let bench = try OperationBench()
        let database = bench.database
        let zoneID = try await bench.makeZone()
        #expect(try await database.recordZone(for: zoneID).zoneID == zoneID)
        #expect(try await database.allRecordZones().map(\.zoneID.zoneName).sorted() == ["Notes", "_defaultZone"])
        #expect(try await database.deleteRecordZone(withID: zoneID) == zoneID)
        await #expect { try await database.deleteRecordZone(withID: zoneID) } throws: { outcome($0) == "zoneNotFound" }
        await #expect { try await database.recordZone(for: zoneID) } throws: { outcome($0) == "zoneNotFound" }
        await #expect {
            try await bench.container.publicCloudDatabase.save(CKRecordZone(zoneName: "Mine"))
        } throws: { outcome($0) == "badDatabase" }
    }

    @Test("[X-04] with the host's option, deleting one unknown zone succeeds; batches still report it")
    func unknownZone() async throws {
        let bench = try OperationBench()
        let session = CloudSession(
            server: bench.service, clock: bench.clock, account: bench.account.id, unknownZoneDeletionSucceeds: true)
        let database = CKContainer(session: session, identifier: "iCloud.other", account: nil).privateCloudDatabase
        let zoneID = CKRecordZone.ID(zoneName: "Missing")
        #expect(try await database.deleteRecordZone(withID: zoneID) == zoneID)
        let results = try await database.modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults
        #expect(results[zoneID].map { outcome($0) } == "zoneNotFound")
    }

    @Test(
        "[A-02][A-09] a batch returns a result for every record, also if a zone fails as a whole; only the request throws"
    )
    func batch() async throws {
        let bench = try OperationBench()
        let zoneID = try await bench.makeZone()
        try await bench.database.save(makeRecord("taken", in: zoneID))
        let records = [makeRecord("new", in: zoneID), makeRecord("taken", in: zoneID)]
        let (saves, deletes) = try await bench.database.modifyRecords(
            saving: records, deleting: [CKRecord.ID(recordName: "gone", zoneID: zoneID)])
        #expect(saves.mapValues { outcome($0) }[records[0].recordID] == "batchRequestFailed")
        #expect(saves.mapValues { outcome($0) }[records[1].recordID] == "serverRecordChanged")
        #expect(deletes.values.map { outcome($0) } == ["batchRequestFailed"])
        #expect(records[0].recordChangeTag == nil)
        let apart = try await bench.database.modifyRecords(saving: records, deleting: [], atomically: false).saveResults
        #expect(apart.values.map { outcome($0) }.sorted() == ["ok", "serverRecordChanged"])
        let forced = try await bench.database.modifyRecords(
            saving: [makeRecord("taken", in: zoneID, text: "b")], deleting: [], savePolicy: .changedKeys
        ).saveResults
        #expect(forced.values.map { outcome($0) } == ["ok"])
        let tooMany = (0...400).map { makeRecord("r\($0)") }
        await #expect { try await bench.database.modifyRecords(saving: tooMany, deleting: []) } throws: {
            outcome($0) == "limitExceeded"
        }
    }

    @Test("[A-04] records with encrypted fields are independent too if the request is not atomic")
    func encrypted() async throws {
        let bench = try OperationBench()
        let zoneID = try await bench.makeZone()
        try await bench.database.save(makeRecord("taken", in: zoneID))
        let records = ["new", "taken"].map { makeRecord($0, in: zoneID) }
        for record in records { record.encryptedValues["secret"] = "hidden" }
        let results = try await bench.database.modifyRecords(saving: records, deleting: [], atomically: false)
        #expect(results.saveResults[records[0].recordID].map { outcome($0) } == "ok")
        #expect(results.saveResults[records[1].recordID].map { outcome($0) } == "serverRecordChanged")
    }

    @Test("[A-09] the batch call with a handler gives the same results")
    func batchWithHandler() async throws {
        let bench = try OperationBench()
        let record = makeRecord("a")
        let missing = CKRecord.ID(recordName: "missing")
        let modified: Result<[String], any Error> = await withCheckedContinuation { continuation in
            bench.database.modifyRecords(saving: [record], deleting: []) { result in
                continuation.resume(returning: result.map { $0.saveResults.values.map { outcome($0) } })
            }
        }
        #expect(try modified.get() == ["ok"])
        let fetched: Result<[CKRecord.ID: String], any Error> = await withCheckedContinuation { continuation in
            bench.database.fetch(withRecordIDs: [record.recordID, missing]) { result in
                continuation.resume(returning: result.map { $0.mapValues { outcome($0) } })
            }
        }
        #expect(try fetched.get() == [record.recordID: "ok", missing: "unknownItem"])
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let zones: Result<[String], any Error> = await withCheckedContinuation { continuation in
            bench.database.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: []) { result in
                continuation.resume(returning: result.map { $0.saveResults.values.map { outcome($0) } })
            }
        }
        #expect(try zones.get() == ["ok"])
        let known: Result<[CKRecordZone.ID: String], any Error> = await withCheckedContinuation { continuation in
            bench.database.fetch(withRecordZoneIDs: [zoneID]) { result in
                continuation.resume(returning: result.map { $0.mapValues { outcome($0) } })
            }
        }
        #expect(try known.get() == [zoneID: "ok"])
    }

    @Test("[A-10] a fetch returns each identifier once, and desired keys limit the fields")
    func fetch() async throws {
        let bench = try OperationBench()
        let record = makeRecord("a")
        record["other"] = 1
        try await bench.database.save(record)
        let missing = CKRecord.ID(recordName: "missing")
        let answers = try await bench.database.records(
            for: [record.recordID, missing, record.recordID], desiredKeys: ["other"])
        #expect(answers.mapValues { outcome($0) } == [record.recordID: "ok", missing: "unknownItem"])
        #expect(try answers[record.recordID]?.get().allKeys() == ["other"])
        let trace = Trace()
        let operation = CKFetchRecordsOperation(recordIDs: [missing, missing, record.recordID])
        operation.perRecordResultBlock = { trace.note("\($0.recordName) \(outcome($1))") }
        operation.perRecordProgressBlock = { trace.note("\($0.recordName) \($1)") }
        await bench.run(operation)
        #expect(trace.all == ["missing 1.0", "missing unknownItem", "a 1.0", "a ok"])
        let zoneID = try await bench.makeZone()
        let unknown = CKRecordZone.ID(zoneName: "Missing")
        let zones = try await bench.database.recordZones(for: [zoneID, unknown, zoneID])
        #expect(zones.mapValues { outcome($0) } == [zoneID: "ok", unknown: "zoneNotFound"])
    }

    @Test("[O-15] operations without items succeed at once and send nothing")
    func nothing() async throws {
        let bench = try OperationBench()
        let trace = Trace()
        let modify = CKModifyRecordsOperation()
        modify.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        await bench.run(modify)
        let fetch = CKFetchRecordsOperation()
        fetch.fetchRecordsResultBlock = { trace.note(outcome($0)) }
        await bench.run(fetch)
        #expect(try await bench.database.records(for: []).isEmpty)
        #expect(try await bench.database.recordZones(for: []).isEmpty)
        #expect(trace.all == ["ok", "ok"])
        #expect(bench.interference.sent.isEmpty)
    }

    /// The result of a call that the server holds for longer than a week, without a time-out for requests.
    private func heldForAWeek<Value: Sendable>(
        _ bench: OperationBench, _ kind: RequestKind, _ urgency: QualityOfService?,
        _ call: @escaping @Sendable (CKContainer) async throws -> Value
    ) async -> String {
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 0
        if let urgency { configuration.qualityOfService = urgency }
        let hold = bench.hold(kind)
        let result = await bench.container.configuredWith(configuration: configuration) { container in
            let task = Task { try await call(container) }
            try? await hold.arrived()
            bench.clock.advance(bySeconds: 7 * 86_400 + 1)
            hold.letGo()
            return await task.result
        }
        return outcome(result)
    }

    @Test("[O-11] convenience calls have no resource time-out; a call configured as less urgent has one")
    func resourceTime() async throws {
        let bench = try OperationBench()
        let urgencies: [(QualityOfService?, String)] = [
            (nil, "ok"), (.userInitiated, "ok"), (.default, "networkFailure"),
        ]
        for (urgency, expected) in urgencies {
            let answer = await heldForAWeek(bench, .fetchZones, urgency) { container in
                try await container.privateCloudDatabase.allRecordZones()
            }
            #expect(answer == expected)
        }
        let status = await heldForAWeek(bench, .accountStatus, nil) { container in
            try await container.accountStatus()
        }
        #expect(status == "ok")
    }

    @Test("[O-11] convenience calls have a high priority: they run before waiting operations")
    func urgency() async throws {
        let bench = try OperationBench(threadCount: 1)
        let hold = bench.hold(.modifyZones)
        let zone = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneName: "Notes")])
        bench.database.add(zone)
        try await hold.arrived()
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        operation.database = bench.database
        operation.start()
        bench.database.fetchAllRecordZones { _, _ in }
        hold.letGo()
        await bench.session.activity.untilIdle()
        #expect(bench.interference.sent == [.modifyZones, .fetchZones, .fetchRecords])
    }
}
