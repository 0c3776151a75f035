// import-tree on real directories and real stores.

import Foundation
import StratusModel
import StratusTestSupport
import Testing

@testable import stratus

@Suite("import-tree")
struct ImportTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func importTree(_ arguments: String = "") async throws -> [String: Any] {
        let run = try await ToolRun.shell("\"$TOOL\" import-tree tree --store store --json \(arguments)", in: directory)
        #expect(run.status == 0, "\(run.errors)")
        return try run.object()
    }

    private func problem(_ name: String, _ report: [String: Any]) -> Int? {
        let problems = report["problems"] as? [String: Any]
        return (problems?[name] as? [String: Any])?["count"] as? Int
    }

    private func count(_ report: [String: Any], _ key: String) -> Int? { report[key] as? Int }

    /// A function of the shell. Reading a sparse file takes time in proportion to its length, which here is far longer
    /// than any test, and ends when it is truncated.
    private static let holding = """
        hold() { # begins to import the tree, and returns when the import is reading such a file of this name, held there
          truncate -s 1T tree/$1
          "$TOOL" import-tree tree --store store --json --hash-limit 2000000000000 > out 2> errors & pid=$!
          until ls -l /proc/$pid/fd 2> /dev/null | grep -q "/tree/$1$"; do kill -0 $pid || exit 1; sleep 0.01; done
        }

        """

    @Test("every folder, file and link becomes a record")
    func everything() async throws {
        try await directory.makeTree()
        let report = try await importTree()
        #expect(count(report, "folders") == 5)
        #expect(count(report, "files") == 3)
        #expect(count(report, "symbolicLinks") == 1)
        #expect(count(report, "created") == 9)
        let got = try await ToolRun.stratus("get", "/tree/a/b/c/deep", "--store", "store", "--json", in: directory)
        let fields = try #require(try got.object()["fields"] as? [String: [String: Any]])
        #expect(fields["size"]?["value"] as? Int == 5)
    }

    @Test("the stored digest is the file's")
    func digest() async throws {
        try await directory.importTree()
        let expected = try await ToolRun.shell("sha256sum < tree/a/one | cut -d ' ' -f 1", in: directory)
        let got = try await ToolRun.stratus("get", "/tree/a/one", "--store", "store", "--json", in: directory)
        let fields = try #require(try got.object()["fields"] as? [String: [String: Any]])
        #expect(fields["sha256"]?["value"] as? String == expected.lines.first)
    }

    @Test("a second run writes nothing, a changed file is saved alone, missing files are deleted only on request")
    func idempotence() async throws {
        try await directory.importTree()
        let again = try await importTree()
        #expect(count(again, "unchanged") == 9)
        #expect((again["cost"] as? [String: Any])?["commits"] as? Int == 0)
        _ = try await ToolRun.shell("echo longer > tree/d/two && rm -r tree/a/b", in: directory)
        let changed = try await importTree()
        // The file itself, and the two folders whose dates changed with it.
        #expect(count(changed, "created") == 0)
        #expect((1...3).contains(try #require(count(changed, "changed"))))
        #expect((changed["gone"] as? [String: Any])?["count"] as? Int == 3)
        #expect(count(changed, "deleted") == 0)
        let deleted = try await importTree("--delete")
        #expect(count(deleted, "deleted") == 3)
        let verified = try await ToolRun.stratus("verify", "--store", "store", in: directory)
        #expect(verified.lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("deletions of records with children are retried until nothing more goes, and each round is reported")
    func putOff() async throws {
        try await directory.importTree()
        let (path, tree) = (directory.path, directory.bytes(of: "tree"))
        let (counts, told) = try await TestThreads.offPool { () -> (counts: [Int], told: [[Int]]) in
            let choice = DatabaseChoice(
                container: "iCloud.default", owner: PersonArgument("local"), isPublic: false, zone: nil)
            let session = try StoreSession(at: "\(path)/store", choice, .existingAsClient)
            defer { session.close() }
            let zone = try session.zone(ZoneName("files"))
            let naming = TreeNaming(top: FileName(Array("tree".utf8)))
            var finder = GoneFinder(session, zone: zone, naming: naming, directory: tree)
            var told: [[Int]] = []
            let counts = [
                try finder.delete([RecordName("tree/a/b/c"), RecordName("tree/d")]),
                try finder.delete([RecordName("tree/a/b/c/deep")]), try finder.deleteRest { told.append([$0, $1]) },
            ]
            return (counts, told)
        }
        // The contents of one folder are gone by then, and some of the other's remain.
        #expect(counts == [0, 1, 1])
        #expect(told == [[2, 2], [1, 1]])
    }

    @Test("a file of the same size is read again if its date changed, or if everything is to be read")
    func sameSize() async throws {
        try await directory.importTree()
        _ = try await ToolRun.shell(
            "touch -r tree/a/one date; echo eno > tree/a/one; touch -r date tree/a/one", in: directory)
        #expect(count(try await importTree(), "changed") == 0)
        #expect(count(try await importTree("--read-all"), "changed") == 1)
    }

    @Test("records moved or shared in the store stay so")
    func storeChangesStay() async throws {
        try await directory.importTree()
        _ = try await ToolRun.stratus("share", "create", "/tree/d", "--store", "store", "--share", "s", in: directory)
        _ = try await ToolRun.stratus("move", "/tree/a/b", "--under", "/tree/d", "--store", "store", in: directory)
        _ = try await ToolRun.shell("touch -d 2001-01-01 tree/d tree/a/b", in: directory)
        let report = try await importTree()
        #expect(count(report, "changed") == 2)
        #expect(count(report, "movedInStore") == 1)
        let path = try await ToolRun.stratus("path", "tree/a/b/c/deep", "--store", "store", "--json", in: directory)
        #expect(try path.object()["path"] as? String == "/tree/d/b/c/deep")
        #expect((try path.object()["share"] as? [String: Any])?["share"] as? String == "s")
    }

    @Test("names that are not UTF-8, special files and very long paths are imported or counted")
    func oddNames() async throws {
        let long = String(repeating: "x", count: 200)
        let made = try await ToolRun.shell(
            "mkdir -p tree/\(long)/\(long) && touch tree/\(long)/\(long)/file && mkfifo tree/pipe "
                + "&& touch tree/$'bad\\xff%name' && ln -s $'to\\xff' tree/link", in: directory)
        try #require(made.status == 0)
        let report = try await importTree()
        #expect(count(report, "escapedNames") == 1)
        #expect(problem("specialFile", report) == 1)
        let got = try await ToolRun.stratus("get", "/tree/bad%FF%25name", "--store", "store", "--json", in: directory)
        let fields = try #require(try got.object()["fields"] as? [String: [String: Any]])
        #expect(fields["rawName"]?["value"] as? String == "626164ff256e616d65")
        let link = try await ToolRun.stratus("get", "/tree/link", "--store", "store", "--json", in: directory)
        let linkFields = try #require(try link.object()["fields"] as? [String: [String: Any]])
        #expect(linkFields["rawTarget"]?["value"] as? String == "746fff")
        let deep = try await ToolRun.stratus("path", "/tree/\(long)/\(long)/file", "--store", "store", in: directory)
        #expect(deep.status == 0)
        _ = try await ToolRun.shell("rm -r tree/x* tree/bad*", in: directory)
        #expect(count(try await importTree("--delete"), "deleted") == 4)
    }

    @Test("a file that vanishes during the import is counted, already read or only listed")
    func vanishing() async throws {
        // Files are looked at 400 at a time before the first of them is read.
        let run = try await ToolRun.shell(
            Self.holding + """
                mkdir tree && (cd tree && touch {100..550})
                hold 0
                rm tree/200 tree/550
                truncate -s 0 tree/0
                wait $pid; code=$?
                cat out; cat errors >&2
                exit $code
                """, in: directory)
        #expect(run.status == 0, "\(run.errors)")
        let report = try run.object()
        #expect(problem("vanished", report) == 2)
        #expect(count(report, "files") == 450)
    }

    @Test("an unreadable folder is counted, and its records in the store stay")
    func unreadableFolder() async throws {
        try await directory.importTree()
        let run = try await ToolRun.shell(
            """
            chmod 000 tree/a; chmod -R a+rwX store .
            chmod 000 tree/a
            as_other=""
            if [ "$(id -u)" = 0 ]; then as_other="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
            $as_other "$TOOL" --help > /dev/null || exit 77
            $as_other "$TOOL" import-tree tree --store store --json --delete
            code=$?
            chmod 755 tree/a
            exit $code
            """, in: directory)
        if run.status == 77 { try Test.cancel("the tool cannot be run without privileges here: \(run.errors)") }
        #expect(run.status == 0, "\(run.errors)")
        let report = try run.object()
        #expect(problem("unreadableFolder", report) == 1)
        #expect(count(report, "deleted") == 0)
    }

    @Test("an import that was interrupted, and then killed, is continued by the next one")
    func resumption() async throws {
        let killed = try await ToolRun.shell(
            Self.holding + """
                mkdir tree && cd tree && for f in {1..60}; do mkdir $f; (cd $f && touch {1..100}); done; cd ..
                hold 2x
                kill -TERM $pid
                until grep -q stopping errors || ! kill -0 $pid; do sleep 0.01; done
                truncate -s 0 tree/2x
                wait $pid; echo $?; cat errors >&2
                rm tree/2x
                hold 5x
                kill -KILL $pid; wait $pid; code=$?
                rm tree/5x
                exit $code
                """, in: directory)
        #expect(killed.lines == ["130"], "\(killed)")
        #expect(killed.errors.contains("the same command again to continue"), "\(killed)")
        #expect(killed.status == 137, "\(killed.errors)")
        let report = try await importTree()
        #expect(count(report, "records") == 6_061)
        // Everything that the first run had read when it was stopped, to the last file, is there.
        #expect((report["gone"] as? [String: Any])?["count"] as? Int == 1)
        // 22 folders come before the first file, and 33 between the two. The second run lost what it had read and not
        // yet passed on, less than a commit, and maybe the commit under way; the top has changed.
        let unchanged = try #require(count(report, "unchanged"))
        #expect((5_021...5_422).contains(unchanged), "\(unchanged)")
        let verified = try await ToolRun.stratus("verify", "--store", "store", in: directory)
        #expect(verified.lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("another directory of the same name is refused unless it is declared to be the same tree")
    func otherOrigin() async throws {
        try await directory.importTree()
        let made = try await ToolRun.shell("mkdir elsewhere && mv tree elsewhere/tree", in: directory)
        try #require(made.status == 0)
        let refused = try await ToolRun.stratus("import-tree", "elsewhere/tree", "--store", "store", in: directory)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("--top"))
        let moved = try await ToolRun.stratus(
            "import-tree", "elsewhere/tree", "--store", "store", "--moved", "--json", in: directory)
        #expect(count(try moved.object(), "created") == 0)
        let beside = try await ToolRun.stratus(
            "import-tree", "elsewhere/tree", "--store", "store", "--top", "other", "--json", in: directory)
        #expect(count(try beside.object(), "created") == 9)
    }
}
