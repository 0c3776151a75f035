// Feeds and queries of the face against a store.

import Foundation
import StratusKit
import StratusStore
import Testing

/// The operation of before, reachable without a warning.
private protocol LegacyFetchChanges: CKDatabaseOperation {
    var resultsLimit: Int { get set }
    var desiredKeys: [CKRecord.FieldKey]? { get set }
    var moreComing: Bool { get }
    var recordChangedBlock: ((CKRecord) -> Void)? { get set }
    var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? { get set }
    var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)? { get set }
}

@Suite struct FeedStoreTests {
    private func makeStore() async throws -> (store: Stratus, database: CKDatabase, zoneID: CKRecordZone.ID) {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.com.example.app", signedInAs: account).privateCloudDatabase
        return (store, database, try await database.save(CKRecordZone(zoneName: "Notes")).zoneID)
    }

    private func run(_ operation: CKDatabaseOperation, in database: CKDatabase) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
    }

    @Test("[T-11] a client's change token returns with the changes of the zone")
    func clientData() async throws {
        let (store, database, zoneID) = try await makeStore()
        defer { store.close() }
        let save = CKModifyRecordsOperation(recordsToSave: [note("a", in: "Notes")])
        save.clientChangeTokenData = Data([7, 8])
        await run(save, in: database)
        let told = Locked<[Data?]>([])
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
        fetch.recordZoneFetchResultBlock = { _, result in
            told.withLock { $0.append((try? result.get())?.clientChangeTokenData) }
        }
        await run(fetch, in: database)
        #expect(told.value == [Data([7, 8])])
    }

    @Test(
        "[T-01][X-30] a database token is expired for a zone, a zone's for another zone, and the message says why"
    )
    func foreignTokens() async throws {
        let (store, database, zoneID) = try await makeStore()
        defer { store.close() }
        let other = try await database.save(CKRecordZone(zoneName: "Other")).zoneID
        let ofDatabase = try await database.databaseChanges(since: nil).changeToken
        let ofZone = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        for (zoneID, token) in [(zoneID, ofDatabase), (other, ofZone)] {
            let error = await #expect(throws: CKError.self) {
                _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            }
            #expect(error?.code == .changeTokenExpired)
            #expect(error?.localizedDescription.contains("The change token is not for this zone") == true)
        }
        await #expect(throws: CKError.self) { _ = try await database.databaseChanges(since: ofZone) }
        _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: ofZone)
    }

    @Test(
        "[X-31] an unknown field is refused if the schema was imported; otherwise it finds nothing, with one warning"
    )
    func unknownFields() async throws {
        let warnings = Locked<[String]>([])
        let (store, account) = try Stratus.tested {
            $0.onEvent = { event in
                guard event.operation == .queryUnknownField else { return }
                warnings.withLock { $0.append(event.errorDescription ?? "") }
            }
        }
        defer { store.close() }
        let container = store.container("iCloud.test", signedInAs: account)
        let (database, everybodys) = (container.privateCloudDatabase, container.publicCloudDatabase)
        let record = CKRecord(recordType: "Note")
        record["title"] = "x"
        _ = try await database.save(record)
        _ = try await everybodys.save(CKRecord(recordType: "Note"))
        func ask(_ format: String, sort: String? = nil, in database: CKDatabase) async -> CKError.Code? {
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format))
            query.sortDescriptors = sort.map { [NSSortDescriptor(key: $0, ascending: true)] }
            do {
                let found = try await database.records(matching: query, desiredKeys: ["neverThere"])
                #expect(found.matchResults.isEmpty || format == "TRUEPREDICATE")
                return nil
            } catch { return (error as? CKError)?.code }
        }
        for _ in 0..<2 {
            #expect(await ask("titel = 'x'", in: database) == nil)
            #expect(await ask("TRUEPREDICATE", sort: "ordre", in: database) == nil)
            let misspelt = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: "subject = 'x'"), subscriptionID: "s",
                options: .firesOnRecordCreation)
            _ = try await everybodys.save(misspelt)
        }
        let told = warnings.value.map { warning in
            ["titel", "ordre", "subject"].filter { warning.contains("field=\($0)") }
        }
        #expect(told == [["titel"], ["ordre"], ["subject"]], "\(warnings.value)")

        try await store.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, GRANT READ TO \"_world\", GRANT CREATE TO \"_icloud\");",
            intoContainer: "iCloud.test")
        #expect(await ask("titel = 'x'", in: database) == .invalidArguments)
        #expect(await ask("TRUEPREDICATE", sort: "ordre", in: database) == .invalidArguments)
        #expect(await ask("title = 'y'", in: database) == nil)
        let misspelt = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: "subject = 'x'"), subscriptionID: "t",
            options: .firesOnRecordCreation)
        let error = await #expect(throws: CKError.self) { try await everybodys.save(misspelt) }
        #expect(error?.code == .invalidArguments)
        // A field of a saved record is known from then on.
        record["subject"] = "new"
        _ = try await database.save(record)
        #expect(await ask("subject = 'y'", in: database) == nil)
        #expect(warnings.value.count == 3)
    }

    @Test("faults can be planned for feeds and queries")
    func faults() async throws {
        let (store, database, zoneID) = try await makeStore()
        defer { store.close() }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text = 'x'"))
        store.faults.fail(.operation(.fetchDatabaseChanges), with: .zoneBusy)
        store.faults.fail(.operation(.fetchZoneChanges), with: .requestRateLimited)
        store.faults.fail(.operation(.query), with: .quotaExceeded)
        func code(_ body: () async throws -> Void) async -> CKError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? CKError)?.code
            }
        }
        #expect(await code { _ = try await database.databaseChanges(since: nil) } == .zoneBusy)
        #expect(
            await code { _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil) }
                == .requestRateLimited)
        #expect(await code { _ = try await database.records(matching: query, inZoneWith: zoneID) } == .quotaExceeded)
        #expect(store.faults.count == 0)
    }

    @Test("[Q-06][Q-08][Q-09][Q-16] predicates reach the records: texts, references, identifiers, lists and words")
    func predicates() async throws {
        let (store, database, zoneID) = try await makeStore()
        defer { store.close() }
        let (first, second) = (note("a", in: "Notes", text: "Bread and milk"), note("b", in: "Notes", text: "bread"))
        first["owner"] = CKRecord.Reference(record: second, action: .none)
        first["tags"] = ["x", "yz"]
        first["count"] = 5
        second["count"] = 7
        _ = try await database.modifyRecords(saving: [first, second], deleting: [])
        func found(_ format: String, _ arguments: Any...) async throws -> [String] {
            let query = CKQuery(
                recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments))
            query.sortDescriptors = [NSSortDescriptor(key: "count", ascending: false)]
            let page = try await database.records(matching: query, inZoneWith: zoneID, desiredKeys: ["count"])
            #expect(page.matchResults.allSatisfy { (try? $0.1.get())?["text"] == nil })
            return page.matchResults.map(\.0.recordName)
        }
        #expect(try await found("text = %@", "bread") == ["b"])
        #expect(try await found("text BEGINSWITH 'Bread'") == ["a"])
        #expect(try await found("count BETWEEN {5, 7}") == ["b", "a"])
        #expect(try await found("NOT count = 7") == ["a"])
        #expect(try await found("owner = %@", second.recordID) == ["a"])
        #expect(try await found("recordID = %@", first.recordID) == ["a"])
        #expect(try await found("tags CONTAINS 'x' AND ANY tags BEGINSWITH 'y'") == ["a"])
        #expect(try await found("ANY {'bread', 'butter'} = text") == ["b"])
        #expect(try await found("NOT (SOME %@ = text)", ["bread", "butter"]) == ["a"])
        #expect(try await found("ANY %@ = tags", ["x", "no"]) == ["a"])
        #expect(try await found("NOT ANY %@ = tags", ["x", "no"]) == ["b"])
        #expect(try await found("ANY %@ = owner", [second.recordID, first.recordID]) == ["a"])
        #expect(try await found("ANY %@ = owner", CKRecord.Reference(record: second, action: .none)) == ["a"])
        #expect(try await found("SOME tags CONTAINS 'yz'") == ["a"])
        #expect(try await found("NOT (ANY tags CONTAINS %@)", "yz") == ["b"])
        #expect(try await found("self CONTAINS 'milk'") == ["a"])
        #expect(try await found("modificationDate > %@", Date(timeIntervalSince1970: 0)) == ["b", "a"])
        #expect(try await found("FALSEPREDICATE").isEmpty)
        for (format, advice) in [
            ("text CONTAINS 'bread'", "write BEGINSWITH for the beginning of a text, or self CONTAINS 'words'"),
            ("count CONTAINS 5", "write == for the value itself"), ("tags IN {'x'}", "write ANY before it"),
            ("tags = 'x'", "write CONTAINS for one of its members"), ("ANY text IN {'x'}", "leave ANY out"),
            ("ANY text BEGINSWITH 'x'", "leave ANY out"), ("tags BEGINSWITH 'x'", "write ANY before it"),
        ] {
            let error = await #expect(throws: CKError.self) { try await found(format) }
            #expect(error?.localizedDescription.contains(advice) == true, "\(format): \(String(describing: error))")
        }
        let nowhere = CKRecordZone.ID(zoneName: "nowhere")
        let nothing = CKQuery(recordType: "Note", predicate: NSPredicate(value: false))
        let error = await #expect(throws: CKError.self) {
            try await database.records(matching: nothing, inZoneWith: nowhere)
        }
        #expect(error?.code == .zoneNotFound)
    }

    @Test("the deprecated operation fetches a page of a zone, and says whether there is another")
    func oldOperation() async throws {
        let (store, database, zoneID) = try await makeStore()
        defer { store.close() }
        _ = try await database.modifyRecords(
            saving: (0..<3).map { note("n\($0)", in: "Notes") }, deleting: [])
        let names = Locked<[String]>([])
        let token = Locked<CKServerChangeToken?>(nil)
        var isMoreComing: [Bool] = []
        for _ in 0..<2 {
            let operation = (OldOperations() as any OldOperationMaker).make(zoneID, token.value)
            operation.resultsLimit = 2
            operation.desiredKeys = []
            operation.recordChangedBlock = { record in names.withLock { $0.append(record.recordID.recordName) } }
            operation.fetchRecordChangesCompletionBlock = { new, _, error in
                token.withLock { $0 = error == nil ? new : nil }
            }
            await run(operation, in: database)
            isMoreComing.append(operation.moreComing)
        }
        #expect(names.value.sorted() == ["n0", "n1", "n2"])
        #expect(isMoreComing == [true, false])
        #expect(token.value != nil)
    }
}

private protocol OldOperationMaker {
    func make(_ zoneID: CKRecordZone.ID, _ token: CKServerChangeToken?) -> any LegacyFetchChanges
}

private struct OldOperations {}

@available(*, deprecated)
extension CKFetchRecordChangesOperation: LegacyFetchChanges {}

extension OldOperations: OldOperationMaker {
    @available(*, deprecated)
    func make(_ zoneID: CKRecordZone.ID, _ token: CKServerChangeToken?) -> any LegacyFetchChanges {
        CKFetchRecordChangesOperation(recordZoneID: zoneID, previousServerChangeToken: token)
    }
}
