// Pitfalls for clients, as on the guide's page of that name: only through the public API.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Pitfalls for clients")
struct PitfallTests {
    private let container = "iCloud.test"

    private struct Stage {
        let store: Stratus
        let account: Stratus.Account
        let database: CKDatabase
    }

    private func makeStage(_ change: (inout Stratus.Options) -> Void = { _ in }) throws -> Stage {
        let (store, account) = try Stratus.tested(change)
        let database = store.container(container, signedInAs: account).privateCloudDatabase
        return Stage(store: store, account: account, database: database)
    }

    /// Runs an operation until it ends.
    private func run(_ operation: CKDatabaseOperation, in database: CKDatabase) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
    }

    // MARK: Values and names

    @Test("[C-21] through Swift's protocol a number is an Int64 or a Double, and a cast to Int is nil")
    func numbers() throws {
        let record = CKRecord(recordType: "Note")
        record["count"] = 5
        record["price"] = 2.5
        let count: (any CKRecordValueProtocol)? = record["count"]
        let price: (any CKRecordValueProtocol)? = record["price"]
        #expect(count as? Int64 == 5)
        #expect(count as? Int == nil)
        #expect(count as? Double == nil)
        #expect(price as? Double == 2.5)
        #expect(price as? Float == nil)
        for (key, value) in record {
            #expect(key == "count" ? value is Int64 : value is Double)
        }
        // What casts to any number type, and what converts to it.
        #expect(record["count"] as? Int == 5)
        #expect(record["count"] as? Double == 5)
        let typed: Int? = record["count"]
        #expect(typed == 5)
    }

    @Test("[L-07][L-08][L-09][L-10] a record's name may begin with an underscore; a zone's, type's or field's may not")
    func underscores() async throws {
        let database = try makeStage().database
        let named = try await database.save(note("_name"))
        #expect(try await database.record(for: named.recordID)["text"] as? String == "text")
        let zone = CKRecordZone(zoneName: "_Notes")
        #expect(await failure { try await database.save(zone) } == "invalidArguments")
        #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
        #expect(await failure { try await database.save(CKRecord(recordType: "_Note")) } == "invalidArguments")
        try await database.save(CKDatabaseSubscription(subscriptionID: "_all"))
        // The client accepts the field; the server does not, plain or encrypted.
        let plain = note("plain")
        plain["_text"] = "a"
        #expect(plain["_text"] as? String == "a")
        #expect(await failure { try await database.save(plain) } == "invalidArguments")
        let encrypted = note("encrypted")
        encrypted.encryptedValues["_text"] = "a"
        #expect(await failure { try await database.save(encrypted) } == "invalidArguments")
    }

    @Test("[L-09][Q-09][C-22] a field named like a system field is separate, and queries mean the system field")
    func systemNames() async throws {
        let database = try makeStage().database
        let zoneID = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        let record = note("a", in: "Notes")
        let old = Date(timeIntervalSince1970: 0)
        #expect(record["creationDate"] == nil)
        #expect(record.value(forKey: "creationDate") == nil)
        record["creationDate"] = old
        record["recordID"] = "mine"
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        let created = try #require(fetched.creationDate)
        #expect(created > old)
        #expect(fetched.recordID == record.recordID)
        #expect(fetched["creationDate"] as? Date == old)
        #expect(fetched["recordID"] as? String == "mine")
        #expect(fetched[CKRecord.SystemFieldKey.creationDate] as? Date == created)
        // Key-value coding finds the field first, and the property only without it.
        #expect(fetched.value(forKey: "creationDate") as? Date == old)
        #expect(fetched.value(forKey: "modificationDate") as? Date == fetched.modificationDate)
        for (format, count) in [("creationDate < %@", 0), ("creationDate > %@", 1)] {
            let query = CKQuery(
                recordType: "Note", predicate: NSPredicate(format: format, Date(timeIntervalSince1970: 1_000)))
            #expect(try await database.records(matching: query, inZoneWith: zoneID).matchResults.count == count)
        }
        let newer = note("b", in: "Notes")
        newer["creationDate"] = Date(timeIntervalSince1970: -1)
        try await database.save(newer)
        let sorted = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        sorted.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: true)]
        let found = try await database.records(matching: sorted, inZoneWith: zoneID).matchResults
        #expect(found.map(\.0.recordName) == ["a", "b"])
        // The keys of system fields belong to the server.
        record[CKRecord.SystemFieldKey.modificationDate] = old
        #expect(await failure { try await database.save(record) } == "invalidArguments")
    }

    // MARK: Deleted zones

    /// The answer of each call for a zone, in words: "item" if the error belongs to one record or zone, "call" if it
    /// belongs to the whole request.
    private func answers(for zoneID: CKRecordZone.ID, in database: CKDatabase) async throws -> [String: String] {
        let recordID = CKRecord.ID(recordName: "a", zoneID: zoneID)
        func made() -> CKRecord { CKRecord(recordType: "Note", recordID: recordID) }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        var answers = [
            "save": await failure { try await database.save(made()) },
            "record": await failure { try await database.record(for: recordID) },
            "recordZone": await failure { try await database.recordZone(for: zoneID) },
            "recordZoneChanges": await failure {
                try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            },
            "query": await failure { try await database.records(matching: query, inZoneWith: zoneID) },
        ]
        let saved = try await database.modifyRecords(saving: [made()], deleting: []).saveResults
        answers["modifyRecords, item"] = saved[recordID].map { outcome($0) }
        let fetched = try await database.records(for: [recordID])
        answers["records, item"] = fetched[recordID].map { outcome($0) }
        let zones = try await database.recordZones(for: [zoneID])
        answers["recordZones, item"] = zones[zoneID].map { outcome($0) }

        let told = Locked<[String: String]>([:])
        let save = CKModifyRecordsOperation(recordsToSave: [made()])
        save.perRecordSaveBlock = { _, result in told.withLock { $0["save block, item"] = outcome(result) } }
        save.modifyRecordsResultBlock = { result in told.withLock { $0["save block, result"] = outcome(result) } }
        (save as any LegacyModifyRecords).modifyRecordsCompletionBlock = { _, _, error in
            let item = (error as? CKError)?.partialErrorsByItemID?[recordID]
            told.withLock { $0["old block"] = "\(outcome(error)) of \(outcome(item))" }
        }
        await run(save, in: database)
        let changes = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: nil, resultsLimit: nil)])
        changes.recordZoneFetchResultBlock = { _, result in
            told.withLock { $0["changes block, item"] = outcome(result) }
        }
        changes.fetchRecordZoneChangesResultBlock = { result in
            told.withLock { $0["changes block, result"] = outcome(result) }
        }
        await run(changes, in: database)
        return answers.merging(told.value) { $1 }
    }

    @Test(
        "[A-07][A-08][S-12][Z-07] zoneNotFound and userDeletedZone are an item's error, or the call's if it has no items",
        arguments: ["zoneNotFound", "userDeletedZone"])
    func missingZone(code: String) async throws {
        let stage = try makeStage()
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        // A query of a type without records is refused for that reason.
        try await stage.database.save(note("known"))
        var token: CKServerChangeToken?
        if code == "userDeletedZone" {
            try await stage.database.save(CKRecordZone(zoneID: zoneID))
            token = try await stage.database.databaseChanges(since: nil).changeToken
            let (store, account, container) = (stage.store, stage.account, container)
            try await onThread { try store.purgeZone(zoneID, of: account, inContainer: container) }
        }
        var expected = [
            "save block, result": "ok", "changes block, result": "ok", "old block": "partialFailure of \(code)",
        ]
        let calls = [
            "save", "record", "recordZone", "recordZoneChanges", "query", "modifyRecords, item", "records, item",
            "recordZones, item", "save block, item", "changes block, item",
        ]
        for call in calls { expected[call] = code }
        let answers = try await answers(for: zoneID, in: stage.database)
        #expect(answers == expected, "\(answers.filter { expected[$0.key] != $0.value })")
        // A database's feed has no error for it, but reports a deletion of an earlier zone.
        let deletions = try await stage.database.databaseChanges(since: token).deletions
        #expect(deletions.map(\.zoneID) == (code == "userDeletedZone" ? [zoneID] : []))
    }

    // MARK: Subscriptions

    private func query(_ id: String, _ format: String, _ options: CKQuerySubscription.Options) -> CKQuerySubscription {
        CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: format, "a"), subscriptionID: id, options: options)
    }

    /// Pairs that are reported as equal under two identifiers.
    private func duplicates(_ zoneID: CKRecordZone.ID) -> [[CKSubscription]] {
        [
            ["d1", "d2"].map { CKDatabaseSubscription(subscriptionID: $0) },
            ["z1", "z2"].map { CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: $0) },
            ["q1", "q2"].map { query($0, "text = %@", .firesOnRecordCreation) },
        ]
    }

    @Test(
        "[N-07] an equal subscription with another identifier is separate, or refused if the host says so",
        arguments: [false, true])
    func duplicateSubscriptions(fails: Bool) async throws {
        let stage = try makeStage { $0.duplicateSubscriptionFails = fails }
        let database = stage.database
        let zoneID = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        try await database.save(note("a", in: "Notes"))
        for pair in duplicates(zoneID) {
            try await database.save(pair[0])
            pair[1].notificationInfo = CKSubscription.NotificationInfo(alertBody: "Look", shouldBadge: true)
            #expect(await failure { try await database.save(pair[1]) } == (fails ? "serverRejectedRequest" : "ok"))
            // Saving it again is not a duplicate, and it may replace the other.
            try await database.save(pair[0])
            let swapped = try await database.modifySubscriptions(saving: [pair[1]], deleting: [pair[0].subscriptionID])
            #expect(swapped.saveResults.values.map { outcome($0) } == ["ok"])
        }
        // Both in one request.
        let together = try await database.modifySubscriptions(
            saving: ["q3", "q4"].map { query($0, "text != %@", .firesOnRecordUpdate) }, deleting: [])
        #expect(together.saveResults.values.map { outcome($0) }.sorted().first == "ok")
        #expect(together.saveResults.values.count { outcome($0) == "serverRejectedRequest" } == (fails ? 1 : 0))
        // Another predicate, other options, another database, another person: none of them is equal.
        try await database.save(query("q5", "text > %@", .firesOnRecordCreation))
        try await database.save(query("q6", "text = %@", .firesOnRecordDeletion))
        let shared = stage.store.container(container, signedInAs: stage.account).sharedCloudDatabase
        try await shared.save(CKDatabaseSubscription(subscriptionID: "d3"))
        let other = try await stage.store.createAccount(.init(), externalID: "other")
        try await stage.store.container(container, signedInAs: other).privateCloudDatabase
            .save(CKDatabaseSubscription(subscriptionID: "d4"))
    }

    @Test("[N-07] a device gets one notification of a change for each of two equal subscriptions")
    func heardTwice() async throws {
        let stage = try makeStage()
        let phone = try await stage.store.device("phone", signedInAs: stage.account)
        let heard = Locked<[String]>([])
        phone.onNotification = { received in
            heard.withLock { $0.append(received.notification.subscriptionID ?? "") }
        }
        try await stage.database.save(CKRecordZone(zoneName: "Notes"))
        for id in ["d1", "d2"] { try await stage.database.save(CKDatabaseSubscription(subscriptionID: id)) }
        try await stage.database.save(note("a", in: "Notes"))
        await stage.store.settle()
        #expect(heard.value.sorted() == ["d1", "d2"])
    }

    @Test("[N-07][X-02] the refusal of a duplicate names the existing subscription")
    func duplicateNamed() async throws {
        let database = try makeStage { $0.duplicateSubscriptionFails = true }.database
        try await database.save(CKDatabaseSubscription(subscriptionID: "first"))
        let error = try await #require(throws: CKError.self) {
            try await database.save(CKDatabaseSubscription(subscriptionID: "second"))
        }
        #expect(error.code == .serverRejectedRequest)
        #expect(error.userInfo["existing"] as? String == "first")
        #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 2032)
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["first"])
    }

    @Test(
        "[Q-11] a query subscription for a type without records is unknownItem until one is saved; other kinds need none"
    )
    func firstSubscription() async throws {
        let database = try makeStage().database
        let zoneID = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        let query = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "query",
            options: .firesOnRecordCreation)
        let error = try await #require(throws: CKError.self) { try await database.save(query) }
        #expect(error.code == .unknownItem)
        #expect(error.localizedDescription.contains("Did not find record type: Note"))
        try await database.save(CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone"))
        try await database.save(CKDatabaseSubscription(subscriptionID: "database"))
        // The type stays known after its only record is deleted.
        let first = try await database.save(note("a", in: "Notes"))
        try await database.deleteRecord(withID: first.recordID)
        try await database.save(query)
        #expect(try await database.allSubscriptions().count == 3)
    }

    @Test("[Q-11] a query subscription for a type of an imported schema needs no record")
    func importedType() async throws {
        let stage = try makeStage()
        try await stage.database.save(note("a"))
        let (store, container) = (stage.store, container)
        let schema = try await onThread { try store.exportSchema(ofContainer: container) }
        let other = "iCloud.other"
        try await onThread { try store.importSchema(schema, intoContainer: other) }
        let database = store.container(other, signedInAs: stage.account).privateCloudDatabase
        try await database.save(
            CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "query",
                options: .firesOnRecordCreation))
    }

    // MARK: Two engines

    /// A program that may create its engine several times, like Apple's sample: in its initialiser and at its first
    /// use.
    private actor Program: CKSyncEngineDelegate {
        private(set) var state: CKSyncEngine.State.Serialization?
        private(set) var fetchedCount = 0

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            switch event {
            case .stateUpdate(let update): state = update.stateSerialization
            case .fetchedRecordZoneChanges(let changes): fetchedCount += changes.modifications.count
            default: break
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            await .init(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
                CKRecord(recordType: "Note", recordID: id)
            }
        }

        func makeEngine(_ database: CKDatabase, isAutomatic: Bool = false) -> CKSyncEngine {
            var configuration = CKSyncEngine.Configuration(
                database: database, stateSerialization: state, delegate: self)
            configuration.automaticallySync = isAutomatic
            return CKSyncEngine(configuration)
        }
    }

    @Test(
        "[E-09][E-12] two engines of one delegate each know their own changes, and a later engine the state stored last"
    )
    func twoEngines() async throws {
        try await withSyncStage { stage in
            let database = try stage.database("phone")
            let program = Program()
            let first = await program.makeEngine(database)
            let second = await program.makeEngine(database)
            let id = Replica.recordID("a")
            first.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
            first.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            await stage.cloud.settle()
            // An engine that begins with the first one's stored state continues from it.
            let third = await program.makeEngine(database)
            #expect(third.state.pendingRecordZoneChanges == [.saveRecord(id)])
            // The second one knows nothing of it, and its state replaces the stored one.
            try await second.sendChanges()
            #expect(second.state.pendingRecordZoneChanges.isEmpty)
            #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
            let fourth = await program.makeEngine(database)
            #expect(fourth.state.pendingRecordZoneChanges.isEmpty)
            // The third one sends once what it took over.
            try await third.sendChanges()
            #expect(third.state.pendingDatabaseChanges.isEmpty)
            #expect(third.state.pendingRecordZoneChanges.isEmpty)
            #expect(try await database.record(for: id).recordChangeTag != nil)
            withExtendedLifetime([first, second, third, fourth]) {}
        }
    }

    @Test("[E-12] two automatic engines of one delegate report every change twice, and share a subscription")
    func twoAutomaticEngines() async throws {
        try await withSyncStage { stage in
            let database = try stage.database("phone")
            let program = Program()
            let engines = [
                await program.makeEngine(database, isAutomatic: true),
                await program.makeEngine(database, isAutomatic: true),
            ]
            await stage.cloud.settle()
            let tablet = try stage.database("tablet")
            try await tablet.save(CKRecordZone(zoneID: Replica.zoneID))
            try await tablet.save(CKRecord(recordType: "Note", recordID: Replica.recordID("a")))
            await stage.cloud.settle()
            #expect(await program.fetchedCount == 2)
            #expect(try await database.allSubscriptions().count == 1)
            withExtendedLifetime(engines) {}
        }
    }
}
