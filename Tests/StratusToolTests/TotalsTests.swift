// Long verbs predict their total work: their progress ends at the predicted total.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@testable import stratus

@Suite("the totals of long work")
struct TotalsTests {
    private static let photoCount = 3
    private let directory: TestDirectory

    /// A store of two people, each with a zone, in it a shared album of photos with contents; two photos have the same.
    init() async throws {
        let directory = try TestDirectory()
        self.directory = directory
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        let store = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: options)
        let guest = try await store.account(externalID: "carol", createIfMissing: .init(emails: ["carol@example.com"]))
        for person in ["local", "bob"] {
            let account = try await store.account(externalID: person, createIfMissing: .init())
            let container = store.container("iCloud.default", signedInAs: account)
            let database = container.privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "photos")).zoneID
            let album = CKRecord(recordType: "Album", recordID: CKRecord.ID(recordName: "album", zoneID: zone))
            let share = CKShare(rootRecord: album)
            share.publicPermission = .readOnly
            var records: [CKRecord] = [album, share]
            for number in 0..<Self.photoCount {
                let id = CKRecord.ID(recordName: "photo-\(number)", zoneID: zone)
                let photo = CKRecord(recordType: "Photo", recordID: id)
                photo.setParent(album)
                let file = URL(fileURLWithPath: "\(directory.path)/\(person)-\(number)")
                try Data(repeating: UInt8(min(number, 1)), count: 1_000 + min(number, 1)).write(to: file)
                photo["file"] = CKAsset(fileURL: file)
                records.append(photo)
            }
            let saved = try await database.modifyRecords(saving: records, deleting: [])
            for result in saved.saveResults.values { _ = try result.get() }
            let url = try #require(share.url)
            let metadata = try await store.open(url, as: guest)
            _ = try await store.container("iCloud.default", signedInAs: guest).accept(metadata)
        }
        await store.settle()
        await store.close()
    }

    private func session(_ name: String, _ opening: StoreSession.Opening) throws -> StoreSession {
        let choice = DatabaseChoice(
            container: "iCloud.default", owner: PersonArgument("local"), isPublic: false, zone: nil)
        return try StoreSession(at: "\(directory.path)/\(name)", choice, opening)
    }

    /// The progress reports of work in parts.
    private final class Told {
        private(set) var totals: [String: Int] = [:]
        private var dones: [String: Int] = [:]

        func take(_ part: String, _ done: Int, _ total: Int) {
            // Parts may repeat after their end, like zones of one name.
            let isFirst = dones[part] == totals[part]
            #expect(isFirst || (done >= dones[part] ?? 0 && totals[part] == total), "\(part)")
            (dones[part], totals[part]) = (done, total)
        }

        /// The totals, each of which was reached.
        func ends() -> [String: Int] {
            #expect(dones == totals)
            return totals
        }
    }

    @Test(
        "each part of a verification ends at its total: the accounts, shares, contents and records"
    )
    func verification() throws {
        let session = try session("store", .readingAssets)
        defer { session.close() }
        let told = Told()
        let verification = try Verification(of: session) { part, done, total, _ in told.take(part, done, total) }
        #expect(verification.isClean)
        let ends = told.ends()
        func count(_ ranges: KeyRange...) throws -> Int {
            try session.engine.read { reader in
                var count = 0
                for range in ranges {
                    try reader.store.scan(range) { _, _ in
                        count += 1
                        return .next
                    }
                }
                return count
            }
        }
        let recordCount = 2 * (2 + Self.photoCount)  // Two times an album, its share and the photos.
        let places = try session.placeAndRecordCount
        #expect(places.records == recordCount)
        #expect(places.zones >= 2)
        let identified = try count(GlobalKeys.keyspace(.accounts), GlobalKeys.keyspace(.identities))
        let counters = try count(GlobalKeys.keyspace(.usage), GlobalKeys.keyspace(.zoneUsage))
        #expect(ends["accounts"] == identified + counters + places.databases + recordCount)
        #expect(try count(GlobalKeys.keyspace(.accounts)) == 3)
        #expect(try count(GlobalKeys.keyspace(.acceptances)) == 2)
        #expect(
            try ends["shares"] == places.zones + 2 * 3
                + count(GlobalKeys.keyspace(.acceptances), GlobalKeys.keyspace(.shareURLs)))
        #expect(try ends["subscriptions"] == count(GlobalKeys.keyspace(.devices), GlobalKeys.keyspace(.outbox)))
        #expect(ends["assets"] == 2 * 2_001)
        #expect(ends["who holds assets"] == recordCount + 4)
        // Zones are looked at by themselves and in their databases.
        #expect(ends["indexes"] == recordCount + places.databases + 2 * places.zones)
    }

    @Test("a part that finds a fault reads its context again, and ends at a larger total")
    func faults() throws {
        let session = try session("store", .existing)
        defer { session.close() }
        let key = GlobalKeys.acceptance(user: "_nobody", zone: UUID(), share: "s")
        try session.engine.transact { try $0.set(key, to: [1]) }
        var told: [(done: Int, total: Int)] = []
        let findings = try ShareVerifier(engine: session.engine).verify { told.append(($0, $1)) }
        #expect(findings.count == 1)
        #expect(try #require(told.last).done == told.last?.total, "\(told)")
        #expect(told.last?.total ?? 0 > told[0].total, "\(told)")
    }

    @Test(
        "an export's first line gives its counts, which are the totals of the export and of its import")
    func transfer() async throws {
        var lines: [String] = []
        let told = Told()
        do {
            let session = try session("store", .readingAssetsAsClient)
            defer { session.close() }
            var exporter = StoreExporter(
                try session.service, secrets: true, progress: { told.take("export", $0, $1) },
                { lines.append($0.jsonText) })
            try exporter.run()
            #expect(exporter.counts.foretoldCount == 3 + 2 + 10)
        }
        #expect(lines.first == #"{"stratusExport":1,"secrets":true,"holds":{"accounts":3,"zones":2,"records":10}}"#)
        try (lines.joined(separator: "\n") + "\n").write(
            toFile: "\(directory.path)/all", atomically: false, encoding: .utf8)
        var reader = try LineReader(path: "\(directory.path)/all")
        let total = try #require(try StoreImporter.readHead(&reader))
        let made = try session("two", .creatingForItself)
        made.close()
        // The database's owner was created with the store; the export has the same person.
        let empty = try await ToolRun.stratus("reset", "--force", "--store", "two", in: directory)
        #expect(empty.status == 0)
        do {
            let session = try session("two", .owningAsClient)
            defer { session.close() }
            var importer = try StoreImporter(session, resumes: false) { done, _ in told.take("import", done, total) }
            try importer.run(&reader)
        }
        // Every line but the first and the last: people, zones, records, four contents of one part each, and a schema.
        #expect(lines.count - 2 >= 3 + 2 + 10 + 4 + 1)
        #expect(told.ends() == ["export": lines.count - 2, "import": 15])
    }

    @Test("an export reports every line, and ends at its total also if deleted zones still have contents")
    func everyLine() async throws {
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        let store = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: options)
        let zone = CKRecordZone.ID(zoneName: "photos")
        let account = try #require(try await store.account(externalID: "local"))
        let database = store.container("iCloud.default", signedInAs: account).privateCloudDatabase
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        let file = URL(fileURLWithPath: "\(directory.path)/large")
        // Two parts and a piece.
        try Data(repeating: 7, count: 120_000).write(to: file)
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "large", zoneID: zone))
        photo["file"] = CKAsset(fileURL: file)
        try await database.save(photo)
        try store.service.registerDevice(DeviceAddress(account: AccountID(account.id), name: "telephone"))
        let other = try #require(try await store.account(externalID: "bob"))
        await store.settle()
        try await store.purgeZone(zone, of: other, inContainer: "iCloud.default")
        await store.close()
        let session = try session("store", .readingAssetsAsClient)
        defer { session.close() }
        var kinds: [String] = []
        var told: [(done: Int, total: Int)] = []
        var exporter = StoreExporter(
            try session.service, secrets: false, progress: { told.append(($0, $1)) },
            { kinds.append($0.members.first?.key ?? "") })
        try exporter.run()
        #expect(kinds.contains("device"))
        #expect(kinds.contains("subscription"))
        #expect(kinds.filter { $0 == "asset" }.count == 2 + 3)
        // All but the first line and the last, the accounts before all others; at the end the total again.
        let last = try #require(told.last)
        #expect(last.done == kinds.count - 2)
        #expect(last.total == last.done)
        #expect(told.dropLast().map { $0.done } == Array(1...last.done))
        // The contents of the deleted zone were included in the prediction.
        #expect(told.first?.total == last.total + 2)
        #expect(told.allSatisfy { $0.done <= $0.total })
    }

    @Test("a content that is deleted during an export, as another host may, is no damage, and one that is missing is")
    func contentsDeletedMeanwhile() throws {
        for isDeleted in [true, false] {
            let session = try session("store", .readingAssetsAsClient)
            defer { session.close() }
            let copy = MemoryStore()
            try session.engine.store.read { reader in
                try copy.transact { transaction in
                    try reader.scan(.everything) { key, value in
                        try transaction.set([UInt8](copying: key), to: [UInt8](copying: value))
                        return .next
                    }
                }
            }
            let engine = try RecordEngine(store: copy, incarnation: UUID())
            let service = CloudService(
                engine: engine, environment: CloudEnvironment(clock: SystemClock(), identifiers: RandomIdentifiers()),
                assets: AssetStore(directory: "\(directory.path)/none", session: UUID(), clock: SystemClock()))
            var exporter = StoreExporter(service, secrets: false, progress: { _, _ in }) { _ in
                guard isDeleted else { return }
                try engine.store.transact { transaction in
                    var keys: [[UInt8]] = []
                    try transaction.scan(GlobalKeys.keyspace(.assets)) { key, _ in
                        keys.append([UInt8](copying: key))
                        return .next
                    }
                    for key in keys { try transaction.delete(key) }
                }
            }
            let error = #expect(throws: StoreError.self) { try exporter.run() }
            #expect(error?.code == (isDeleted ? .unavailable : .corruption))
        }
    }

    @Test("an older export without counts is imported too, also from a pipe")
    func oldExports() async throws {
        let run = try await ToolRun.shell(
            """
            "$TOOL" export all --secrets --store store
            sed '1s/,"holds":{[^}]*}//' all > old
            head -1 old
            cat old | "$TOOL" import - --store two > /dev/null; echo $?
            "$TOOL" export - --secrets --store two 2> /dev/null | cmp - all; echo $?
            "$TOOL" export - --secrets --store store 2> /dev/null | "$TOOL" import - --store three > /dev/null; echo $?
            "$TOOL" export - --secrets --store three 2> /dev/null | cmp - all; echo $?
            """, in: directory)
        #expect(
            Array(run.lines.suffix(5)) == [#"{"stratusExport":1,"secrets":true}"#, "0", "0", "0", "0"],
            "\(run.output) \(run.errors)")
    }

    @Test("impossible numbers in the head of an export neither crash the tool nor are used")
    func hostileHeads() throws {
        func count(_ holds: Any?) -> Int? {
            TransferLine.foretoldCount(
                TransferObject(members: holds.map { ["holds": $0] } ?? [:], line: 1, kind: "stratusExport"))
        }
        #expect(count(nil) == nil)
        #expect(count("many") == nil)
        #expect(count(["accounts": 1, "records": 2]) == 3)
        #expect(count(["accounts": -5, "records": "x"]) == 0)
        #expect(try #require(count(["accounts": Int64.max, "zones": Int64.max, "records": Int64.max])) < Int.max / 2)
    }

    @Test("a report ends at its total, for everyone's data and for what one person sees")
    func reports() throws {
        let session = try session("store", .readingAsClient)
        defer { session.close() }
        for person in [nil, "local", "carol"] {
            let told = Told()
            var last: (done: Int, total: Int) = (0, 0)
            var reader = ReportReader(session, nil, now: Date()) { part, done, total in
                last = (done, total)
                told.take(part, done, total)
            }
            if let person {
                let account = try session.person(#require(PersonArgument(argument: person)))
                _ = try reader.read(seenBy: account, called: person)
            } else {
                _ = try reader.read()
            }
            // Each record of the zones is read twice, and each share once more: everyone's, the person's own, and those
            // they take part in. Contents are the host's: two of each owner.
            let expected = person == nil ? 22 + 2 * 2 : person == "local" ? 11 : 22
            let part = person == nil ? "records and contents" : "records"
            #expect(told.ends() == [part: expected], "\(person ?? "everybody") \(last)")
        }
    }

    @Test("a report shows progress while it counts, and reads each content of the ledger")
    func reportOfManyContents() throws {
        let session = try session("store", .existing)
        defer { session.close() }
        let contentCount = WorkCounter.tellingInterval
        let entry = AssetEntry(count: 1, byteCount: 1).encoded()
        try session.engine.transact { transaction in
            for number in 0..<contentCount {
                let digest = Array("content \(number)".utf8)
                try transaction.set(GlobalKeys.asset(owner: "_nobody", digest: digest), to: entry)
            }
        }
        let told = Told()
        var counted: [Int] = []
        var reader = ReportReader(session, nil, now: Date()) { part, done, total in
            // The amount to count is unknown.
            if total == 0 { counted.append(done) } else { told.take(part, done, total) }
        }
        let report = try reader.read()
        #expect(report.contentCount == 2 * 2 + contentCount)
        #expect(counted == [WorkCounter.tellingInterval])
        #expect(told.ends() == ["records and contents": 22 + 2 * 2 + contentCount])
    }

    @Test("a copy of a store reports every part to its end")
    func copies() throws {
        let told = Told()
        let source = URL(fileURLWithPath: "\(directory.path)/store")
        _ = try Stratus.backup(ofStoreAt: source, to: URL(fileURLWithPath: "\(directory.path)/copy")) {
            // Making the folders durable is a second round of the same part.
            if $0.part != .namedContents { told.take("\($0.part)", $0.doneCount, $0.totalCount) }
        }
        let ends = told.ends()
        #expect(ends["contents"] == 4)
        #expect(ends["contentBytes"] == 2 * 2_001)
        #expect(ends["holders"] == 14)
        #expect(try #require(ends["tables"]) > 0)
        #expect(ends["operations"] == nil)
        #expect(try #require(ends["incarnations"]) > 1)
    }

    @Test("a rebuild reports every step to its end")
    func rebuild() throws {
        let session = try session("store", .existing)
        defer { session.close() }
        let told = Told()
        try session.rebuild(session.zone(ZoneName("photos")), incarnation: UUID()) { told.take($0, $1, $2) }
        let ends = told.ends()
        #expect(ends["records of photos"] == 2 + Self.photoCount)
        #expect(ends["the hierarchy of photos"] == 2 + Self.photoCount)
        #expect(try #require(ends["index entries of photos"]) > 4 * (2 + Self.photoCount))
        // The album, and its counting.
        #expect(ends["share roots of photos"] == 2)
    }

    @Test("a repair reports its indexes as one piece of work, which ends with the last record of the last zone")
    func repair() throws {
        let told = Told()
        let unmended = try StoreFiles.repairLosingDamagedData(
            of: "\(directory.path)/store", to: "\(directory.path)/salvaged"
        ) { part, done, total in
            if let total { told.take(part, done, total) }
        }
        #expect(unmended.isEmpty)
        let session = try session("salvaged", .existing)
        defer { session.close() }
        let counts = try session.placeAndRecordCount
        #expect(counts.records == 2 * (2 + Self.photoCount))
        #expect(told.ends()["indexes"] == counts.zones + counts.records)
    }

    @Test("the work of a purge and of filling indexes is counted in advance")
    func upkeep() async throws {
        let schema = "DEFINE SCHEMA RECORD TYPE Photo (name STRING QUERYABLE, GRANT READ TO \"_world\");"
        try schema.write(toFile: "\(directory.path)/schema", atomically: false, encoding: .utf8)
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        let store = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: options)
        try await store.importSchema(schema, intoContainer: "iCloud.default")
        await store.close()
        let session = try session("store", .existingAsClient)
        defer { session.close() }
        let told = Told()
        let reviewCount = try session.engine.read { try $0.entryCount(in: GlobalKeys.keyspace(.indexReviews)) }
        let zoneCount = try session.placeAndRecordCount.zones
        try session.finishIndexes { told.take($0, $1, $2) }
        let zone = try session.zone(ZoneName("photos"))
        #expect(try session.deleteZone(zone))
        let purged = try session.purge { told.take($0, $1, $2) }
        let ends = told.ends()
        #expect(reviewCount > 1)
        #expect(ends["(listing zones)"] == reviewCount * zoneCount)
        #expect(ends["of records"] == 2 * Self.photoCount)
        // The album, the photos, and the share as a record and as a share.
        #expect(ends["holders of assets"] == 1 + Self.photoCount + 2)
        #expect(ends["entries"] == purged.entriesDeleted)
        #expect(purged.entriesDeleted > 5 * 5)
    }

    @Test("deleting an account, and removing its remains, end at their totals")
    func departure() throws {
        let session = try session("store", .existingAsClient)
        defer { session.close() }
        let host = try session.host
        let id = try #require(session.account).id.text
        let account = try #require(try host.account(id: id))
        let told = Told()
        try host.deleteAccountWithAllData(account) {
            #expect($0.part == .departures)
            told.take("deletion", $0.doneCount, $0.totalCount ?? -1)
        }
        let purged = try session.purge { told.take($0, $1, $2) }
        let ends = told.ends()
        // A zone with its share, its usage, and two contents in the ledger.
        #expect(ends["deletion"] == 5)
        // Their files.
        #expect(ends["data of deleted accounts"] == 2)
        #expect(ends["entries"] == purged.entriesDeleted)
        #expect(purged.entriesDeleted > 5 * 5)
    }

    @Test("emptying a store reports every file in its directory, and removes nothing else")
    func emptying() async throws {
        let files = FileManager.default
        for name in ["outside", "store/assets/left/deep"] {
            try files.createDirectory(atPath: "\(directory.path)/\(name)", withIntermediateDirectories: true)
            try Data([1]).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)/file"))
        }
        try files.createSymbolicLink(
            atPath: "\(directory.path)/store/assets/link", withDestinationPath: "\(directory.path)/outside")
        let told = Told()
        do {
            let session = try session("store", .owningAsClient)
            defer { session.close() }
            try session.ownHost.reset { told.take("files", $0, $1) }
            let left = try session.service.engine.read { try $0.placeAndRecordCount() }
            #expect(left.zones == 0)
            #expect(left.records == 0)
        }
        // Four below the directory of assets, and more than the engine's files of the store.
        #expect(try #require(told.ends()["files"]) > 4 + 5)
        #expect(!files.fileExists(atPath: "\(directory.path)/store/assets"))
        #expect(files.fileExists(atPath: "\(directory.path)/outside/file"))
        #expect(try files.contentsOfDirectory(atPath: directory.path).allSatisfy { !$0.hasPrefix(".") })
    }
}
