// Mistakes of programs, through CloudKit's own calls: each has the documented error, and nothing is written.

import Foundation
import StratusKit
import Testing

/// Records to save into a zone, the first of them wrong, and its answer.
struct Mistake: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let code: CKError.Code
    let make: @Sendable (CKRecordZone.ID) throws -> [CKRecord]

    init(_ name: String, _ code: CKError.Code, _ make: @escaping @Sendable (CKRecordZone.ID) throws -> [CKRecord]) {
        (testDescription, self.code, self.make) = (name, code, make)
    }

    /// One record of this name with this under a key.
    fileprivate static func field(
        _ name: String, _ code: CKError.Code, named recordName: String = "bad", _ key: String = "text",
        _ value: @escaping @Sendable () -> Any
    ) -> Mistake {
        Mistake(name, code) { zoneID in
            let made = Self.record(recordName, zoneID)
            made.setValue(value(), forKey: key)
            return [made]
        }
    }

    fileprivate static func record(_ name: String, _ zoneID: CKRecordZone.ID) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    static let all: [Mistake] = [
        Mistake("401 records", .limitExceeded) { zoneID in (0..<401).map { record("\($0)", zoneID) } },
        .field("a record of 1.1 MB", .limitExceeded) { Data(count: 1_100_000) },
        .field("a number where texts are", .invalidArguments) { 5 },
        .field("a list where single texts are", .invalidArguments) { ["a"] },
        .field("an empty name", .invalidArguments, named: "") { "a" },
        .field("a name of 256 characters", .invalidArguments, named: String(repeating: "n", count: 256)) { "a" },
        .field("a reserved key", .invalidArguments, "_text") { "a" },
        .field("a system key", .invalidArguments, "___createTime") { Date(timeIntervalSince1970: 0) },
        .field("a key with a blank", .invalidArguments, "a b") { "a" },
        .field("a key of 256 characters", .invalidArguments, String(repeating: "k", count: 256)) { "a" },
        Mistake("the same record twice", .invalidArguments) { zoneID in [record("a", zoneID), record("a", zoneID)] },
        .field("a reference into another zone", .invalidArguments, "other") {
            CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none)
        },
        Mistake("a parent in another zone", .invalidArguments) { zoneID in
            let child = record("bad", zoneID)
            child.setParent(CKRecord.ID(recordName: "a"))
            return [child]
        },
        Mistake("a parent that is not there", .referenceViolation) { zoneID in
            let child = record("bad", zoneID)
            child.setParent(CKRecord.ID(recordName: "nobody", zoneID: zoneID))
            return [child]
        },
        .field("an asset without a file", .assetFileNotFound, "file") {
            CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/\(UUID().uuidString)"))
        },
        .field("an asset of a folder", .assetNotAvailable, "file") {
            CKAsset(fileURL: FileManager.default.temporaryDirectory)
        },
        .field("an asset of a device", .assetNotAvailable, "file") {
            CKAsset(fileURL: URL(fileURLWithPath: "/dev/zero"))
        },
    ]
}

@Suite("Bad input")
struct BadInputTests {
    @Test(
        "[L-01][L-03][L-07][L-09][S-11][S-14][R-01][R-07][C-10] each mistake has its error, and nothing else of its request is written",
        arguments: Mistake.all)
    func refused(mistake: Mistake) async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        // The types of fields are known from here on.
        try await database.save(note("a"))
        let zoneID = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        let records = try mistake.make(zoneID) + [Mistake.record("good", zoneID)]
        let code: CKError.Code?
        do {
            let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
            #expect(results.count == 2)
            #expect(results[records[1].recordID].map { outcome($0) } == "batchRequestFailed")
            code = results[records[0].recordID].flatMap { result in
                if case .failure(let error as CKError) = result { error.code } else { nil }
            }
        } catch let error as CKError { code = error.code }
        #expect(code == mistake.code)
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(changes.modificationResultsByID.isEmpty)
        #expect(changes.deletions.isEmpty)
        #expect(records.allSatisfy { $0.recordChangeTag == nil })
    }

    @Test("[L-09][L-10] the refusal of a field name contains the name, in the user info and in the description")
    func fieldNames() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let record = note("a")
        // The client accepts it, the server does not.
        record["price$"] = 5
        let error = try await #require(throws: CKError.self) { try await database.save(record) }
        #expect(error.code == .invalidArguments)
        #expect(error.userInfo["field"] as? String == "price$")
        #expect(error.localizedDescription.hasPrefix("The field's name is invalid. Use a letter, then letters"))
        #expect("\(error)".hasSuffix("(field=price$, record=a, recordType=\(record.recordType))>"))
        // The client does not.
        let other = note("b")
        other["price in €"] = 5
        let misuse = try await #require(throws: CKError.self) { try await database.save(other) }
        #expect(misuse.code == .invalidArguments)
        #expect("\(misuse)".contains("recordKey (price in €) contains invalid characters"))
    }

    @Test("[X-23][Q-01] records of another container and unsupported queries are invalid arguments")
    func elsewhere() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let other = store.container("iCloud.other", signedInAs: account).privateCloudDatabase
        let fetched = try await database.save(note("a"))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate { _, _ in true })
        for call in [
            { _ = try await other.save(fetched) },
            { _ = try await database.records(matching: query) },
        ] as [@Sendable () async throws -> Void] {
            let error = try await #require(throws: CKError.self) { try await call() }
            #expect(error.code == .invalidArguments)
        }
        let there = try await other.records(for: [fetched.recordID])
        #expect(throws: CKError.self) { try there[fetched.recordID]?.get() }
    }
}
