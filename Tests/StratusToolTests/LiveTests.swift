// The tool on a store that a host has open and writes at full speed: this process is the host.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusRecords
import StratusStore
import Synchronization
import Testing

@Suite("live stores")
struct LiveTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        _ = try await ToolRun.shell("mkdir scratch", in: directory)
    }

    /// Runs a script with copies in a folder of the test's own.
    private func shell(_ script: String) async throws -> ToolRun {
        try await ToolRun.shell("export STRATUS_SCRATCH=$PWD/scratch\n" + script, in: directory)
    }

    private var leftCopies: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/scratch") }
    }

    /// Rounds of ten readings, 200 in all: each costs a start of the tool, so two run at a time.
    private static let roundCount = 20

    @Test("readings under full load are prefixes of the saved data, and do not disturb the host")
    func underLoad() async throws {
        let host = try await LiveHost(at: "\(directory.path)/store")
        let load = Task { try await host.saveUntilStopped() }
        for _ in 0..<Self.roundCount {
            let floor = host.savedNumber
            let run = try await shell(
                """
                (
                  for verb in verify "get counter" stats zones "path counter"; do
                    "$TOOL" $verb --store store --json > last || { cat last >&2; exit 1; }
                  done
                ) & others=$!
                for verb in "ls /top" "tree /" "query File --limit 0" "ls /top" "query File --sort name --limit 0"; do
                  "$TOOL" $verb --store store --json || exit 1
                  echo '{"end":true}'
                done
                wait $others
                """)
            try #require(run.status == 0, "\(run.output.suffix(2_000)) \(run.errors)")
            try check(run.objects(), floor: floor)
        }
        host.stop()
        let savedCount = try await load.value
        #expect(savedCount > 100, "the host hardly saved meanwhile")
        #expect(try leftCopies.isEmpty)
        host.close()
        let known = ["CURRENT", "LOCK", "LOG", "LOG.old", "STRATUS", "STRATUS.lock", "assets", "operations"]
        let foreign = try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/store").filter { name in
            !known.contains(name) && !name.hasPrefix("MANIFEST-")
                && ![".ldb", ".log", ".acknowledged"].contains { name.hasSuffix($0) }
        }
        #expect(foreign.isEmpty, "\(foreign)")
        #expect(try await ToolRun.stratus("verify", "--store", "store", in: directory).status == 0)
    }

    /// Checks the output of five listings: each shows the records after one of the saves, none older than the previous.
    private func check(_ objects: [[String: Any]], floor: Int) throws {
        var floor = floor
        var sizes: [String: Int] = [:]
        for object in objects {
            guard object["end"] == nil else {
                let newest = try #require(sizes["counter"])
                try #require(newest >= floor, "save \(floor) was acknowledged and is not there")
                try #require(sizes == LiveHost.sizes(after: newest), "not what was there after save \(newest)")
                floor = newest
                sizes = [:]
                continue
            }
            #expect(object["asOf"] is String)
            guard let name = object["record"] as? String, name != "top" else { continue }
            sizes[name] = try #require(object["size"] as? Int)
        }
    }

    @Test("one line reports the copy, and writing verbs name the holder of the store, and change nothing")
    func words() async throws {
        let host = try await LiveHost(at: "\(directory.path)/store")
        defer { host.close() }
        let people = try await shell("\"$TOOL\" ls / --store store")
        #expect(people.status == 0)
        #expect(people.lines.count == 1)
        let note = people.told
        #expect(note.count == 1)
        #expect(note.first?.hasPrefix("note: reading a copy of the store as of 20") == true)
        #expect(note.first?.contains(" UTC, held by process \(ProcessInfo.processInfo.processIdentifier) (") == true)
        for verb in [
            "rm /top -r --force", "move counter --under /", "zones create --zone z", "zones delete --force",
            "zones purge", "compact", "rebuild", "import-tree scratch", "share create /top",
        ] {
            let run = try await shell("\"$TOOL\" \(verb) --store store --json")
            #expect(run.status == 4, "stratus \(verb): \(run.output)")
            let fields = try #require(try run.error()["fields"] as? [String: String])
            #expect(fields["holderProcessID"] == "\(ProcessInfo.processInfo.processIdentifier)")
            #expect(fields["holderCommand"]?.isEmpty == false)
        }
        let report = try await shell("\"$TOOL\" report --store store --output report.html --json")
        #expect(try report.object()["asOf"] is String)
        let stats = try await shell("\"$TOOL\" stats --store store --json")
        #expect(try stats.object()["asOf"] is String)
        let picture = try await shell("\"$TOOL\" tree / --format svg --nodes 400 --store store")
        #expect(picture.status == 0)
        #expect(picture.output.contains("28 records, no share, as of 20"))
        let page = try String(contentsOfFile: "\(directory.path)/report.html", encoding: .utf8)
        #expect(page.contains("a copy of a store that another process has open, as of 20"))
        #expect(try leftCopies.isEmpty)
    }

    @Test(
        "a first change token of a store is accepted by the next run, while a host has the store open"
    )
    func tokens() async throws {
        let host = try await LiveHost(at: "\(directory.path)/store")
        defer { host.close() }
        let first = try await shell("\"$TOOL\" changes --store store --json")
        let end = try #require(try first.objects().last)
        #expect(end["changes"] as? Int == 28)
        let token = try #require(end["token"] as? String)
        try await host.saveOnce(host.savedNumber + 1)
        let second = try await shell("\"$TOOL\" changes --since \(token) --store store --json")
        #expect(second.status == 0, "\(second.errors)")
        // The record of the circle, the counter and the one with an asset.
        #expect(try second.objects().last?["changes"] as? Int == 3)
    }

    @Test("a store from before token secrets gives no token, and says what to do")
    func noTokens() async throws {
        let host = try await LiveHost(at: "\(directory.path)/store")
        do {
            defer { host.close() }
            try host.loseTokenSecret()
            let told = try await shell("\"$TOOL\" changes --store store --json")
            #expect(try told.objects().last?["token"] is NSNull)
            let people = try await shell("\"$TOOL\" changes --store store")
            #expect(
                people.lines.last?.contains("28 changes, no token: the process that has the store must open it") == true
            )
            let following = try await shell("\"$TOOL\" changes --follow --store store --json")
            #expect(following.status == 1)
            #expect(following.errors.contains("no secret for tokens"))
        }
        try await LiveHost(at: "\(directory.path)/store").close()
        let token = try #require(
            try await shell("\"$TOOL\" changes --store store --json").objects().last?["token"] as? String)
        #expect(try await shell("\"$TOOL\" changes --since \(token) --store store --json").status == 0)
    }

    @Test("the copy of a killed reader is removed by the next one, that of a running reader stays")
    func sweeping() async throws {
        let host = try await LiveHost(at: "\(directory.path)/store")
        defer { host.close() }
        // An unread pipe stops a reader in the middle of its output, which must not fit into the pipe.
        try await host.fill()
        let run = try await shell(
            """
            mkfifo pipe
            "$TOOL" keys --store store > pipe 2> note & reader=$!
            exec 3< pipe
            head -c 1 <&3 > /dev/null
            ls scratch | wc -l
            stat -c %a scratch/*
            "$TOOL" ls / --store store > /dev/null 2>&1; ls scratch | wc -l
            kill -KILL $reader; wait $reader 2> /dev/null
            ls scratch | wc -l
            "$TOOL" ls / --store store > /dev/null 2>&1; ls scratch | wc -l
            exec 3<&-
            "$TOOL" keys --store store > pipe 2> note & reader=$!
            exec 3< pipe
            head -c 1 <&3 > /dev/null
            kill -TERM $reader; wait $reader 2> /dev/null; echo "TERM $?"
            ls scratch | wc -l
            "$TOOL" keys --store store 2> note | head -c 1 > /dev/null; echo "${PIPESTATUS[0]}"
            grep -c error note
            ls scratch | wc -l
            """)
        let expected = ["1", "700", "1", "1", "0", "TERM 143", "0", "141", "0", "0"]
        #expect(run.lines == expected, "\(run.lines) \(run.errors)")
    }
}

/// A host that saves: each save contains one record of a circle, the counter, and a record with an asset that comes and
/// goes.
private final class LiveHost: Sendable {
    private static let slotCount = 25
    private static let padding = Data((0..<24_000).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) })

    private let store: Stratus
    private let database: CKDatabase
    private let zoneID: CKRecordZone.ID
    private let folder: URL
    private let saved = Mutex(0)
    private let isStopped = Mutex(false)

    init(at path: String) async throws {
        var options = Stratus.Options()
        options.logger = nil
        // Replaced contents are removed soon.
        options.upkeepIntervalSeconds = 0.2
        store = try await Stratus.open(at: URL(fileURLWithPath: path), options: options)
        folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let account = try await store.account(externalID: "local", createIfMissing: .init())
        database = store.container("iCloud.default", signedInAs: account).privateCloudDatabase
        zoneID = try await database.save(CKRecordZone(zoneName: "files")).zoneID
        try await save([record("top", type: "Folder", 0, under: nil)])
        for number in 1...Self.slotCount { try await saveOnce(number) }
    }

    /// Saves records in a zone of their own.
    func fill() async throws {
        let zone = try await database.save(CKRecordZone(zoneName: "others")).zoneID
        try await save(
            (0..<300).map { number in
                CKRecord(recordType: "Other", recordID: CKRecord.ID(recordName: "other-\(number)", zoneID: zone))
            })
    }

    /// Removes what an older version did not create.
    func loseTokenSecret() throws {
        try store.service.engine.store.transact { try $0.delete(GlobalKeys.tokenSecret()) }
    }

    /// The number of the newest save that was acknowledged.
    var savedNumber: Int { saved.withLock { $0 } }

    func stop() { isStopped.withLock { $0 = true } }

    func close() { store.close() }

    /// Saves on and on. Returns how often. Throws the first answer that is an error.
    func saveUntilStopped() async throws -> Int {
        let first = savedNumber
        while !isStopped.withLock({ $0 }) { try await saveOnce(savedNumber + 1) }
        return savedNumber - first
    }

    /// What `saveOnce` leaves after a save: the sizes of the records below the top.
    static func sizes(after number: Int) -> [String: Int] {
        var sizes = ["counter": number, "photo": number]
        for earlier in max(1, number - slotCount + 1)...number { sizes["slot\(earlier % slotCount)"] = earlier }
        return sizes
    }

    func saveOnce(_ number: Int) async throws {
        let slot = record("slot\(number % Self.slotCount)", type: "File", number, under: "top")
        slot["padding"] = Self.padding
        let photo = record("photo", type: "File", number, under: "top")
        let file = folder.appendingPathComponent("photo-\(number)")
        try Data("photo \(number % 5)".utf8).write(to: file)
        photo["file"] = CKAsset(fileURL: file)
        try await save([record("counter", type: "File", number, under: "top"), slot, photo])
        try FileManager.default.removeItem(at: file)
        saved.withLock { $0 = number }
    }

    private func record(_ name: String, type: String, _ number: Int, under parent: String?) -> CKRecord {
        let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["name"] = name
        record["size"] = number
        if let parent { record.setParent(CKRecord.ID(recordName: parent, zoneID: zoneID)) }
        return record
    }

    private func save(_ records: [CKRecord]) async throws {
        let answer = try await database.modifyRecords(
            saving: records, deleting: [], savePolicy: .allKeys, atomically: true)
        for result in answer.saveResults.values { _ = try result.get() }
    }
}
