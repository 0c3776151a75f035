// The tool's output on a store whose tables have changed bytes in the middle.

import Foundation
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusTestSupport
import Testing

@testable import stratus

@Suite("damaged stores")
struct DamageTests {
    let directory: TestDirectory
    /// The damaged table's file.
    private let table: String

    /// Imports so many files that tables have many blocks, and flips one byte in the middle of the largest.
    init() async throws {
        directory = try TestDirectory()
        let made = try await ToolRun.shell(
            """
            mkdir tree && for i in {1..600}; do echo "$i" > "tree/a file of number $i"; done
            "$TOOL" import-tree tree --store store && "$TOOL" compact --store store
            """, in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let store = "\(directory.path)/store"
        let tables = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".ldb") }
        let contents = try tables.map {
            (name: $0, bytes: try Data(contentsOf: URL(fileURLWithPath: "\(store)/\($0)")))
        }
        var largest = try #require(contents.max { $0.bytes.count < $1.bytes.count })
        largest.bytes[largest.bytes.count / 2] ^= 0x55
        table = largest.name
        try largest.bytes.write(to: URL(fileURLWithPath: "\(store)/\(table)"))
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    /// Checks an error's JSON: the table, and the keys and the zone around the damage.
    private func expectPlace(_ error: [String: Any], _ location: SourceLocation = #_sourceLocation) throws {
        #expect(error["code"] as? String == "corruption", sourceLocation: location)
        let fields = try #require(error["fields"] as? [String: String], sourceLocation: location)
        #expect(fields["candidateFiles"]?.contains(table) == true, sourceLocation: location)
        let lower = try #require(fields["lowerKeyDescription"], sourceLocation: location)
        let upper = try #require(fields["upperKeyDescription"], sourceLocation: location)
        #expect(lower.hasPrefix("after db 1 / zone 1 / "), "\(lower)", sourceLocation: location)
        #expect(upper.hasPrefix("db 1 / zone 1 / "), "\(upper)", sourceLocation: location)
        #expect(!upper.contains("…"), "\(upper)", sourceLocation: location)
    }

    @Test("verify reports each damage with its keys, and exits with 5")
    func verify() async throws {
        let people = try await run("verify")
        #expect(people.status == 5)
        #expect(!people.wasKilled)
        #expect(!people.errors.contains("error"), "\(people.errors)")
        #expect(people.lines.first?.hasPrefix("damaged: corruption: ") == true)
        #expect(people.lines.last == "verify: 1 damage; the indexes were not checked")
        let run = try await run("verify --json")
        #expect(run.status == 5, "\(run.errors)")
        #expect(!run.errors.contains("error"), "\(run.errors)")
        let object = try run.object()
        #expect(object["clean"] as? Bool == false)
        #expect(try #require(object["entries"] as? Int) > 2_000)
        let damages = try #require(object["damages"] as? [[String: Any]])
        #expect(damages.count == 1)
        try expectPlace(try #require(damages.first?["error"] as? [String: Any]))
    }

    @Test("a backup of a damaged store is refused with the damage, and leaves nothing")
    func backup() async throws {
        let run = try await run("backup copy --json")
        #expect(run.status == 5)
        #expect(run.output.isEmpty)
        try expectPlace(try run.error())
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["store", "tree"])
    }

    @Test("a compaction that finds damage fails with it, and prints no sizes")
    func compact() async throws {
        // A table whose keys are around the others, so that there is something to compact.
        try #require(try await run("zones create --zone another").status == 0)
        let run = try await run("compact --json")
        #expect(run.status == 5)
        #expect(run.output.isEmpty)
        try expectPlace(try run.error())
    }

    @Test("verbs that read the damaged keys name keyspace and key")
    func readers() async throws {
        let scan = try await run("keys --json")
        #expect(scan.status == 5)
        let fields = try #require(try scan.error()["fields"] as? [String: String])
        #expect(fields["lowerKeyDescription"] == "start of the store")
        #expect(fields["upperKeyDescription"] == "end of the store")
        #expect(fields["upperKey"] == "ff")
        let children = try await run("ls /tree --json")
        guard children.status != 0 else { return }
        #expect(children.status == 5)
        let description = try #require(try children.error()["fields"] as? [String: String])
        #expect(!description.values.contains { $0.contains("damaged key") }, "\(description)")
    }

    @Test(
        "the readable part of a damaged store becomes a new consistent one, and the damaged one is not changed")
    func repair() async throws {
        #expect(try await run("verify").output.contains("'stratus repair-losing-damaged-data'"))
        let before = try await ToolRun.shell("sha256sum store/*.ldb store/*.log store/CURRENT", in: directory).output
        let run = try await run("repair-losing-damaged-data new --json")
        #expect(run.status == 0 || run.status == 1, "\(run.errors)")
        // LevelDB's own part reports nothing until it is done.
        #expect(run.errors.contains("repairing the copied files"), "\(run.errors)")
        let objects = try run.objects()
        try #require(objects.count == 2, "\(run.output)")
        #expect((objects[0]["unmended"] as? [Any])?.isEmpty == true)
        #expect((objects[1]["damages"] as? [Any])?.isEmpty == true)
        for count in ["dangling", "wrongCounts"] { #expect(objects[1][count] as? Int == 0, "\(run.output)") }
        let records = try #require(objects[1]["records"] as? Int)
        #expect((300...601).contains(records))
        let listed = try await ToolRun.shell("\"$TOOL\" get tree --store new", in: directory)
        #expect(listed.status == 0 || listed.status == 3)
        let after = try await ToolRun.shell("sha256sum store/*.ldb store/*.log store/CURRENT", in: directory).output
        #expect(after == before)
        let again = try await self.run("repair-losing-damaged-data new --json")
        #expect(again.status == 1)
        #expect(again.output.isEmpty)
        let entries = try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/new")
        #expect(!entries.contains("lost"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["new", "store", "tree"])
    }

    @Test("a zone with a lost header is named, and the others are still saved")
    func lostHeader() async throws {
        let made = try await ToolRun.shell(
            """
            "$TOOL" import-tree tree --store sound && "$TOOL" zones create --zone lost --store sound
            """, in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let path = "\(directory.path)/sound"
        try await TestThreads.offPool {
            let choice = DatabaseChoice(
                container: "iCloud.default", owner: PersonArgument("local"), isPublic: false, zone: nil)
            let session = try StoreSession(at: path, choice, .existing)
            defer { session.close() }
            let lost = try session.zone(ZoneName("lost"))
            try session.engine.transact { transaction in
                let header = try transaction.existingZone(lost).keys.header()
                try transaction.delete(header)
            }
        }
        let run = try await ToolRun.shell(
            "\"$TOOL\" repair-losing-damaged-data new --store sound --json", in: directory)
        #expect(run.status == 1, "\(run.errors)")
        let objects = try run.objects()
        let unmended = try #require(objects.first?["unmended"] as? [[String: Any]])
        #expect(unmended.map { $0["zone"] as? String } == ["lost"])
        let listed = try await ToolRun.shell("\"$TOOL\" ls /tree --store new", in: directory)
        #expect(listed.status == 0, "\(listed.errors)")
        #expect(listed.lines.count == 600, "\(listed.errors)")
    }

    @Test("a new store made from the readable part has new incarnations, so that old change tokens expire")
    func incarnations() async throws {
        let made = try await ToolRun.shell(
            """
            "$TOOL" import-tree tree --store sound && "$TOOL" repair-losing-damaged-data new --store sound
            """, in: directory)
        // Nothing is damaged there, so nothing is lost.
        #expect(made.status == 0, "\(made.output) \(made.errors)")
        #expect(made.output.contains("verify: 0 missing, 0 dangling, 0 wrong counts"))
        var headers: [[String]] = []
        for store in ["sound", "new"] {
            let run = try await ToolRun.shell("\"$TOOL\" keys 'db 1 / zone 1 / header' --store \(store)", in: directory)
            #expect(run.status == 0)
            headers.append(run.output.split(whereSeparator: { " ,\n".contains($0) }).map(String.init))
        }
        let identifiers = headers.map { $0.filter { UUID(uuidString: $0) != nil } }
        #expect(identifiers.map(\.count) == [2, 2], "\(headers)")
        // The zone is the same, its incarnation is not.
        #expect(Set(identifiers[0]).intersection(identifiers[1]).count == 1)
    }
}

/// A crash of the machine in the middle of a commit.
@Suite("a commit that a crash damaged")
struct DroppedCommitTests {
    let directory: TestDirectory

    /// Saves a small record, and a large one whose last page the log loses. The store is one that a host has left
    /// without closing it.
    init() async throws {
        directory = try TestDirectory()
        let served = "\(directory.path)/served"
        let made = try await ToolRun.shell(
            "mkdir tree && touch tree/file && \"$TOOL\" import-tree tree --store served", in: directory)
        try #require(made.status == 0, "\(made.errors)")
        var options = Stratus.Options()
        options.logger = nil
        options.servesTool = true
        options.upkeepIntervalSeconds = nil
        let host = try await Stratus.open(at: URL(fileURLWithPath: served), options: options)
        let saved = try await ToolRun.shell(
            """
            "$TOOL" put large --type Note --zone files --set "title=$(head -c 40000 /dev/zero | tr '\\0' x)" --store served
            cp -r served store && rm store/*.acknowledged
            """, in: directory)
        await host.close()
        try #require(saved.status == 0, "\(saved.errors)")
        let store = "\(directory.path)/store"
        let log = try #require(
            try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".log") }.max())
        let url = URL(fileURLWithPath: "\(store)/\(log)")
        var bytes = try Data(contentsOf: url)
        let page = (bytes.count - 1) / 4_096 * 4_096
        bytes.replaceSubrange(page..., with: Data(count: bytes.count - page))
        try bytes.write(to: url)
    }

    @Test("verify drops it, names it, and exits with 0", arguments: [false, true])
    func verify(usesJSON: Bool) async throws {
        let run = try await ToolRun.shell("\"$TOOL\" verify --store store \(usesJSON ? "--json" : "")", in: directory)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        if usesJSON {
            let dropped = try #require(try run.object()["droppedCommit"] as? [String: String])
            #expect(Set(dropped.keys).isSuperset(of: ["log", "offset", "byteCount", "firstSequence"]), "\(dropped)")
        } else {
            #expect(run.errors.contains("note: a crash cut off the last commit"), "\(run.errors)")
            #expect(run.errors.contains("firstSequence="), "\(run.errors)")
        }
        let again = try await ToolRun.shell("\"$TOOL\" verify --store store", in: directory)
        #expect(again.status == 0, "\(again.errors)")
        #expect(!again.errors.contains("crash"), "\(again.errors)")
        #expect(try await ToolRun.shell("\"$TOOL\" get /tree --store store", in: directory).status == 0)
        #expect(try await ToolRun.shell("\"$TOOL\" get large --zone files --store store", in: directory).status != 0)
    }
}
