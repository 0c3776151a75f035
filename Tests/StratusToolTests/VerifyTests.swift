// stratus verify checks counts: every planted fault of accounts, quotas, assets and shares is found and classified
// correctly.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("verifying counts")
struct VerifyTests {
    let directory: TestDirectory
    private let owner: UserName
    private let digest: [UInt8]

    /// A store with a tree of files, and a record that holds an asset.
    init() async throws {
        let directory = try TestDirectory()
        self.directory = directory
        try await directory.importTree()
        let store = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: Self.options)
        let account = try #require(try await store.account(externalID: "local"))
        owner = UserName(account.userRecordName)
        let database = store.container("iCloud.default", signedInAs: account).privateCloudDatabase
        let photos = try await database.save(CKRecordZone(zoneName: "photos"))
        let record = CKRecord(
            recordType: "Photo", recordID: CKRecord.ID(recordName: "photo", zoneID: photos.zoneID))
        let file = URL(fileURLWithPath: "\(directory.path)/photo")
        try Data("sunset".utf8).write(to: file)
        record["file"] = CKAsset(fileURL: file)
        try await database.save(record)
        await store.settle()
        await store.close()
        let content = "\(directory.path)/store/assets/content"
        let path = try FileManager.default.subpathsOfDirectory(atPath: content).max { $0.utf8.count < $1.utf8.count }
        digest = try #require(path?.split(separator: "/").last.flatMap { Hex.bytes($0) })
    }

    private static var options: Stratus.Options {
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        return options
    }

    /// A URL that leads nowhere.
    private static func url(_ owner: UserName) -> ShareURLEntry {
        ShareURLEntry(container: "iCloud.default", owner: owner, zone: "gone", zoneIdentity: UUID(), share: "s")
    }

    private func verify() async throws -> (run: ToolRun, object: [String: Any]) {
        let run = try await ToolRun.stratus("verify", "--store", "store", "--json", in: directory)
        return (run, try run.object())
    }

    private func changeStore(_ change: (RecordTransaction) throws -> Void) throws {
        let store = try Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: Self.options)
        defer { store.close() }
        try store.service.engine.transact(change)
    }

    /// The value of a key, to be restored.
    private func value(_ key: [UInt8]) throws -> [UInt8]? {
        let store = try Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: Self.options)
        defer { store.close() }
        return try store.service.engine.read { try $0.store.value(forKey: key) }
    }

    private var contentPath: String {
        let hex = Hex.text(digest)
        return "\(directory.path)/store/assets/content/\(owner)/\(hex.prefix(2))/\(hex)"
    }

    @Test("each wrong entry of accounts, quotas, assets and shares is found, by its kind, with exit code 1")
    func entries() async throws {
        #expect(try await verify().object["clean"] as? Bool == true)
        let asset = GlobalKeys.asset(owner: owner, digest: digest)
        let identity = GlobalKeys.identity(.externalID, "local")
        let zoneAssets = DatabaseKeys(DatabaseNumber(1)).zoneAssets("photos")
        let stranger = AccountIDEntry(account: "stranger").encoded()
        let url = GlobalKeys.shareURL([UInt8](repeating: 1, count: 32))
        let acceptance = GlobalKeys.acceptance(user: owner, zone: UUID(), share: "s")
        let faults: [(kind: String, count: String, key: [UInt8], value: [UInt8]?)] = [
            ("missingIdentity", "accountFaults", identity, nil),
            ("danglingIdentity", "accountFaults", GlobalKeys.identity(.externalID, "nobody"), stranger),
            ("wrongUsage", "accountFaults", GlobalKeys.usage(of: owner), UsageEntry(byteCount: 1).encoded()),
            ("ownerless", "accountFaults", GlobalKeys.usage(of: "_ghost"), UsageEntry(byteCount: 1).encoded()),
            ("wrongContentCount", "assetFaults", asset, AssetEntry(count: 2, byteCount: 6).encoded()),
            ("wrongZoneAssetCount", "assetFaults", zoneAssets, CountEntry(count: 2).encoded()),
            ("danglingShareEntry", "shareFaults", url, Self.url(owner).encoded()),
            ("damagedShare", "shareFaults", acceptance, [1]),
        ]
        for fault in faults {
            let before = try value(fault.key)
            try changeStore { transaction in
                if let value = fault.value {
                    try transaction.set(fault.key, to: value)
                } else {
                    try transaction.delete(fault.key)
                }
            }
            try await expectFault(fault.kind, fault.count)
            try changeStore { transaction in
                if let before { try transaction.set(fault.key, to: before) } else { try transaction.delete(fault.key) }
            }
        }
        #expect(try await verify().object["clean"] as? Bool == true)
    }

    private func expectFault(_ kind: String, _ count: String) async throws {
        let (run, object) = try await verify()
        // Damaged bytes end with 5, everything else that disagrees with 1.
        #expect(run.status == (kind == "damagedContent" ? 5 : 1), "\(kind): \(run.errors)")
        #expect(!run.errors.contains("error"), "\(kind): \(run.errors)")
        #expect(object["clean"] as? Bool == false, "\(kind)")
        #expect(object[count] as? Int == 1, "\(kind)")
        let findings = try #require(object["findings"] as? [[String: Any]])
        #expect(findings.map { $0["kind"] as? String } == [kind])
        let people = try await ToolRun.stratus("verify", "--store", "store", in: directory)
        let summary = "1 fault of " + count.replacingOccurrences(of: "Faults", with: "s")
        #expect(people.lines.last?.hasSuffix(summary) == true)
    }

    @Test("two zones with one identity are reported, with a remedy")
    func identities() async throws {
        let photos = ZoneID(
            database: DatabaseID(container: "iCloud.default", owner: owner, scope: .private), name: "photos")
        try changeStore { transaction in
            let listing = try #require(try transaction.listing(of: photos))
            let birth = ZoneBirth(
                identity: listing.entry.identity, incarnation: UUID(), stamp: listing.entry.created,
                databaseIdentity: UUID())
            try transaction.createZone(ZoneID(database: photos.database, name: "twin"), birth)
        }
        let (run, object) = try await verify()
        #expect(run.status == 1)
        #expect(object["identityFaults"] as? Int == 2)
        let people = try await ToolRun.stratus("verify", "--store", "store", in: directory)
        let lines = people.lines.filter { $0.hasPrefix("identity: ") }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.contains("export the store and import it") })
        #expect(people.lines.last?.contains(", 2 repeated or predictable identities") == true)
    }

    @Test("a missing or damaged content is a fault, a stray file is not")
    func files() async throws {
        let content = try Data(contentsOf: URL(fileURLWithPath: contentPath))
        try Data("SUNSET".utf8).write(to: URL(fileURLWithPath: contentPath))
        try await expectFault("damagedContent", "assetFaults")
        try FileManager.default.removeItem(atPath: contentPath)
        try await expectFault("missingContent", "assetFaults")
        try content.write(to: URL(fileURLWithPath: contentPath))
        let folder = "\(directory.path)/store/assets/content/\(owner)"
        let other = [UInt8](repeating: 0xAB, count: 32)
        try FileManager.default.createDirectory(atPath: "\(folder)/ab", withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/ab/\(Hex.text(other))"))
        try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/ab/notes.txt"))
        let (run, object) = try await verify()
        #expect(run.status == 0)
        #expect(object["clean"] as? Bool == true)
        #expect(object["strayFiles"] as? Int == 2)
        let findings = try #require(object["findings"] as? [[String: Any]])
        #expect(Set(findings.compactMap { $0["kind"] as? String }) == ["orphanedContent", "foreignFile"])
    }

    @Test(
        "of very many wrong counts and stray files the first are shown with the number of others, and all are counted")
    func manyContents() async throws {
        let kept = VerifierReport<AssetFault>.maximumCount
        let count = kept + 30
        try changeStore { transaction in
            for number in 0..<count {
                let digest = [UInt8](repeating: UInt8(number), count: 32)
                try transaction.set(
                    GlobalKeys.asset(owner: owner, digest: digest), to: AssetEntry(count: 1, byteCount: 1).encoded())
            }
        }
        for number in 0..<count {
            try Data([1]).write(to: URL(fileURLWithPath: "\(directory.path)/store/assets/content/\(number).txt"))
        }
        let (run, object) = try await verify()
        #expect(run.status == 1)
        // Each is missing, and counted though no record holds it.
        #expect(object["assetFaults"] as? Int == 2 * count)
        #expect(object["strayFiles"] as? Int == count)
        let kinds = try #require(object["findings"] as? [[String: Any]]).compactMap { $0["kind"] as? String }
        for (kind, shownCount) in [("missingContent", count), ("wrongContentCount", kept), ("foreignFile", kept)] {
            #expect(kinds.filter { $0 == kind }.count == shownCount, "\(kind)")
        }
        let people = try await ToolRun.stratus("verify", "--store", "store", in: directory)
        #expect(people.status == 1)
        #expect(people.lines.contains("… and \(2 * (count - kept)) more of assets"))
        let last = try #require(people.lines.last)
        #expect(last.contains(", \(2 * count) faults of assets"), "\(last)")
        #expect(last.hasSuffix(", \(count) stray files"), "\(last)")
        let report = try await ToolRun.shell(
            "\"$TOOL\" report --verify --output page.html --store store; echo $?; cat page.html", in: directory)
        #expect(report.lines.contains("1"))
        #expect(report.output.contains("and \(2 * (count - kept)) more of assets"))
    }

    @Test("each damaged content is named, however many there are")
    func manyDamaged() async throws {
        let digests = (0..<130).map { [UInt8](repeating: UInt8($0), count: 32) }
        try changeStore { transaction in
            for digest in digests {
                try transaction.set(
                    GlobalKeys.asset(owner: owner, digest: digest), to: AssetEntry(count: 1, byteCount: 1).encoded())
            }
        }
        for digest in digests {
            let folder = "\(directory.path)/store/assets/content/\(owner)/\(Hex.text([digest[0]]))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data([0]).write(to: URL(fileURLWithPath: "\(folder)/\(Hex.text(digest))"))
        }
        let people = try await ToolRun.stratus("verify", "--store", "store", in: directory)
        for digest in digests {
            #expect(people.output.contains("damaged content \(Hex.text(digest)) of"), "\(Hex.text(digest))")
        }
        let found = try #require(try await verify().object["findings"] as? [[String: Any]])
        #expect(found.filter { $0["kind"] as? String == "damagedContent" }.count == digests.count)
    }

    @Test("the assets of a deleted zone count until 'zones purge' has released them, and are never a fault")
    func deletedZone() async throws {
        let store = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: Self.options)
        let account = try #require(try await store.account(externalID: "local"))
        try await store.purgeZone(CKRecordZone.ID(zoneName: "photos"), of: account, inContainer: "iCloud.default")
        await store.close()
        let pending = try await verify()
        #expect(pending.run.status == 0)
        #expect(pending.object["strayFiles"] as? Int == 0)
        let purged = try await ToolRun.stratus("zones", "purge", "--store", "store", "--json", in: directory).object()
        #expect(purged["zonesFinished"] as? Int == 1)
        let done = try await verify()
        // The content waits for the next host.
        #expect(done.run.status == 0)
        #expect(done.object["strayFiles"] as? Int == 1)
        let next = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: Self.options)
        try await next.performUpkeep()
        await next.close()
        #expect(try await verify().object["strayFiles"] as? Int == 0)
    }
}
