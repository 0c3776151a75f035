// Every verb on a small imported tree, for people and for programs.

import Foundation
import StratusKit
import Testing

@Suite("verbs")
struct VerbTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    @Test("ls lists children with their labels, and the records without parent at '/'")
    func list() async throws {
        let people = try await run("ls /tree")
        #expect(people.status == 0)
        #expect(people.lines.map { $0.split(separator: " ").last.map(String.init) } == ["a/", "d/"])
        let programs = try await run("ls /tree/d --json").objects()
        #expect(programs.map { $0["name"] as? String } == ["link", "two"])
        #expect(programs.map { $0["type"] as? String } == ["SymbolicLink", "File"])
        #expect(programs.first?["target"] as? String == "nowhere")
        #expect(try await run("ls --json").objects().map { $0["record"] as? String } == ["tree"])
    }

    @Test("tree shows parents before children, to the requested depth")
    func tree() async throws {
        let people = try await run("tree /tree/a")
        #expect(people.lines == ["a/", "  b/", "    c/", "      deep", "  one"])
        let programs = try await run("tree / --depth 1 --json").objects()
        #expect(programs.map { $0["record"] as? String } == ["tree", "tree/a", "tree/d"])
        #expect(programs.map { $0["level"] as? Int } == [0, 1, 1])
    }

    @Test("get shows system fields and fields")
    func get() async throws {
        let people = try await run("get /tree/a/one")
        #expect(people.output.contains("parent     tree/a\n"))
        #expect(people.output.contains("  size = 4\n"))
        let programs = try await run("get /tree/a/one --json").object()
        #expect(programs["changeTag"] is String)
        let user = try #require((programs["created"] as? [String: Any])?["user"] as? String)
        #expect(user.hasPrefix("_"))
    }

    @Test("put --fields accepts what get --exact prints: the same values of every type, to the last bit")
    func exactFields() async throws {
        let sets = """
            --set $'s=a\\u202Eb"c' --set i:int64=-9223372036854775808 --set d:double=0.1 --set r:reference=other \
            --set t:date=2026-01-31T12:00:00.123Z --set b:bytes=deadbeef --set p:location=52.12345678901234,-13.4 \
            --set-encrypted e=secret --set a:asset=file
            """
        _ = try await ToolRun.shell("echo content > file", in: directory)
        #expect(try await run("put one --type Thing \(sets)").status == 0)
        let exact = try await run("get one --exact")
        // Parsers may round a number with so many digits, so it is a string.
        #expect(exact.output.contains("\"52.12345678901234\""))
        try Data(exact.output.utf8).write(to: URL(fileURLWithPath: directory.path + "/fields.json"))
        let put = try await run("put two --type Thing --fields fields.json")
        #expect(put.status == 0, "\(put.errors)")
        let all = try await run("get one --json").object()
        var (one, two) = (all["fields"] as? [String: NSObject] ?? [:], [String: NSObject]())
        two = try await run("get two --json").object()["fields"] as? [String: NSObject] ?? [:]
        #expect(one.removeValue(forKey: "a") != nil)
        #expect(one.count == 8)
        #expect(one == two)
        #expect(try await run("get one --exact").output == run("get two --exact").output)
    }

    @Test("query finds records of a type by a predicate, in order, up to the requested number")
    func query() async throws {
        let files = try await run("query File --sort=-name --json").objects()
        #expect(files.map { $0["name"] as? String } == ["two", "one", "deep"])
        #expect(files.last?["record"] as? String == "tree/a/b/c/deep")
        let some = try await run("query File --where \"name BEGINSWITH 'o' AND size > 3\" --json").objects()
        #expect(some.map { $0["record"] as? String } == ["tree/a/one"])
        #expect(try await run("query File --sort name --limit 1").lines.count == 1)
        #expect(try await run("query File --sort name --limit 1").output.hasSuffix("tree/a/b/c/deep\n"))
        #expect(try await run("query File --where \"name == 'none'\"").lines.isEmpty)
    }

    @Test("query shows all results, and with --limit says whether there are more")
    func allResults() async throws {
        let made = try await ToolRun.shell(
            "mkdir many && touch many/{1..60} && \"$TOOL\" import-tree many --store store", in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let all = try await run("query File")
        #expect(all.lines.count == 63)
        #expect(all.told.isEmpty)
        // As many as there are: a limit that leaves nothing out prints nothing.
        for line in ["query File --limit 63", "query File --sort=-name --limit 63", "query File --limit 0"] {
            let whole = try await run(line)
            #expect(whole.lines.count == 63, "\(line)")
            #expect(whole.told.isEmpty, "\(line)")
            #expect(try await run(line + " --json").objects().allSatisfy { $0["record"] != nil }, "\(line)")
        }
        for line in ["query File --limit 62", "query File --sort=-name --limit 62"] {
            let some = try await run(line)
            #expect(some.lines.count == 62, "\(line)")
            #expect(some.told == ["note: there are more results than --limit 62 shows; --limit 0 shows all"])
            let objects = try await run(line + " --json").objects()
            #expect(objects.count == 63, "\(line)")
            #expect(objects.dropLast().allSatisfy { $0["record"] != nil }, "\(line)")
            #expect(objects.last?["isMoreComing"] as? Bool == true)
            #expect(objects.last?["limit"] as? Int == 62)
        }
    }

    @Test("keys and tree report what --limit and --depth leave out")
    func saidLimits() async throws {
        let range = "keys 'db 1 / zone 1 / types'"
        let count = try await run(range).lines.count
        #expect(try await run("\(range) --limit \(count)").told.isEmpty)
        let some = try await run("\(range) --limit \(count - 1)")
        #expect(some.lines.count == count - 1)
        #expect(some.told == ["note: there are more entries than --limit \(count - 1) shows; --limit 0 shows all"])
        let objects = try await run("\(range) --limit \(count - 1) --json").objects()
        #expect(objects.count == count)
        #expect(objects.last?["isMoreComing"] as? Bool == true)
        for (line, isCut) in [("tree /", false), ("tree / --depth 1", true), ("tree /tree/a --depth 0", true)] {
            let told = try await run(line).told
            #expect(told == (isCut ? ["note: records deeper than \(line.suffix(9)) are not shown"] : []), "\(line)")
        }
        #expect(try await run("tree / --depth 4").told.isEmpty)
    }

    @Test("query --explain shows the plan and its counted costs")
    func queryPlan() async throws {
        let people = try await run("query File --where \"name == 'one'\" --explain")
        #expect(people.status == 0)
        #expect(people.output.contains("the index on File.name"))
        #expect(people.lines.last == "1 result")
        let plan = try await run("query File --where \"name == 'one'\" --explain --json").object()
        let zone = try #require((plan["zones"] as? [[String: Any]])?.first)
        #expect(zone["examinedCount"] as? Int == 1)
        #expect(plan["resultCount"] as? Int == 1)
        #expect(plan["isMoreComing"] as? Bool == false)
    }

    @Test("query reports what CloudKit refuses, and the position of an error in a predicate")
    func badQuery() async throws {
        let either = try await run("query File --where \"size > 1 OR size < 3\"")
        #expect(either.status == 2)
        #expect(either.errors.contains("CloudKit takes no OR"))
        let broken = try await run("query File --where \"size >\" --explain")
        #expect(broken.status == 2)
        #expect(broken.errors.contains("at column 7"))
        #expect(try await run("query Nothing").errors.contains("Did not find record type: Nothing"))
        #expect(try await run("query File --limit=-1").status == 2)
    }

    @Test("path shows the chain and the share")
    func path() async throws {
        #expect(try await run("path /tree/a/one").lines == ["tree", "  a", "    one", "in no share"])
        #expect(try await run("share create /tree/a --share s").status == 0)
        let shared = try await run("path tree/a/one")
        #expect(shared.lines.last == "in share s, whose root is tree/a")
        let chain = try #require(try await run("path /tree/a/one --json").object()["chain"] as? [[String: Any]])
        #expect(chain.map { $0["shareRoot"] as? Bool } == [false, true, false])
    }

    @Test("a second share root is refused above, below and at the same place, with the reason")
    func secondRoot() async throws {
        #expect(try await run("share create /tree/a --share s").status == 0)
        for (record, rule) in [("/tree", "SH-07"), ("/tree/a/b", "SH-07"), ("/tree/a", "SH-08")] {
            let people = try await run("share create \(record) --share t")
            #expect(people.status == 1)
            #expect(people.errors.contains("the record tree/a is the root of the share s"))
            let error = try await run("share create \(record) --share t --json").error()
            let refusal = try #require((error["refusals"] as? [[String: Any]])?.first)
            #expect(refusal["reason"] as? String == "alreadyShared")
            #expect(refusal["rule"] as? String == rule)
            #expect(refusal["root"] as? String == "tree/a")
            #expect(refusal["share"] as? String == "s")
        }
        #expect(try await run("share stop /tree/a --force --json").object()["share"] as? String == "s")
        #expect(try await run("share create /tree --share t").status == 0)
    }

    @Test("verification finds nothing before, during and after a share, and no secret is shown")
    func wholeShare() async throws {
        for share in ["s", "t"] {
            #expect(try await run("share create /tree/a --share \(share)").status == 0)
            #expect(try await run("verify").status == 0)
            let fields = try #require(try await run("get \(share) --json").object()["fields"] as? [String: Any])
            let content = try #require(fields["___sharing"] as? [String: Any])
            #expect(content["type"] as? String == "share")
            let text = try #require(content["value"] as? String)
            #expect(text.hasPrefix("share(root \"tree/a\", URL secret, public none, owner("))
            #expect(try await run("get \(share)").output.contains(text))
            let keys = try await run("keys")
            #expect(keys.output.contains("global / shareURLs / x'"))
            #expect(keys.output.contains("shareTokens"))
            #expect(try await run("share stop /tree/a --force --json").object()["share"] as? String == share)
            #expect(try await run("verify").status == 0)
            #expect(try await run("get \(share)").status == 3)
        }
        let taken = try await run("share create /tree/a --share tree/d")
        #expect(taken.status == 1)
        #expect(taken.errors.contains("tree/d: A record's type cannot change"))
    }

    @Test("move moves a subtree with one write, and refuses a cycle")
    func move() async throws {
        let moved = try await run("move /tree/a/b --under /tree/d --json").object()
        #expect(moved["from"] as? String == "tree/a")
        #expect((moved["cost"] as? [String: Any])?["commits"] as? Int == 1)
        #expect(try await run("path /tree/d/b/c/deep").status == 0)
        let cycle = try await run("move /tree/d --under /tree/d/b")
        #expect(cycle.status == 1)
        #expect(cycle.errors.contains("the record would be its own ancestor"))
        #expect(try await run("move /tree/d --under /").status == 0)
        #expect(try await run("ls --json").objects().count == 2)
    }

    @Test("rm reports how much was deleted with the record")
    func deletedToo() async throws {
        #expect(try await run("put owned --type Thing --set to:deleteSelf=tree/a/one").status == 0)
        #expect(try await run("share create /tree/a/one --share s").status == 0)
        let deleted = try await run("rm /tree/a/one --force")
        #expect(
            deleted.lines.dropFirst().first
                == "also deleted 2 records: shares, and records with a deleteSelf reference",
            "\(deleted.output) \(deleted.errors)")
        #expect(try await run("get owned").status == 3)
    }

    @Test("schema import names what it removes")
    func forgottenSchema() async throws {
        #expect(try await run("put one --type Thing --set a=1 --set b=2").status == 0)
        let script = """
            "$TOOL" schema export all.ckdb --store store > /dev/null
            sed '/ b /d; /^    b /d' all.ckdb > some.ckdb
            "$TOOL" schema import all.ckdb --store store --json
            "$TOOL" schema import some.ckdb --store store
            echo "DEFINE SCHEMA" | "$TOOL" schema import - --store store --json
            """
        let run = try await ToolRun.shell(script, in: directory)
        try #require(run.lines.count == 4, "\(run.output) \(run.errors)")
        #expect(run.lines[0].contains(#""forgotten":[]"#), "\(run.output) \(run.errors)")
        #expect(run.lines[2] == "forgotten: Thing.b", "\(run.output) \(run.errors)")
        #expect(run.lines[3].contains(#""File","File.mode","File.modified""#), "\(run.output)")
    }

    @Test("rm refuses a record with children, and deletes them on request")
    func remove() async throws {
        let refused = try await run("rm /tree/a --force")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("use --recursive"))
        #expect(refused.errors.contains("record: tree/a"))
        #expect(try await run("rm /tree/a --dry-run").status == 1)
        let deleted = try await run("rm /tree/a -r --force --json").object()
        #expect(deleted["deleted"] as? Int == 5)
        #expect(deleted["alsoDeleted"] as? Int == 0)
        #expect(try await run("rm tree/d/two --force").status == 0)
        #expect(try await run("rm tree/d/two --force").status == 3)
        #expect(try await run("verify").lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("verify and rebuild report what they found")
    func verifyAndRebuild() async throws {
        let verified = try await run("verify --json").object()
        #expect(verified["clean"] as? Bool == true)
        #expect(verified["records"] as? Int == 9)
        let rebuilt = try await run("rebuild --json").object()
        #expect(rebuilt["clean"] as? Bool == true)
        #expect(try await run("rebuild").lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("keys shows readable lines of a range, in both directions")
    func keys() async throws {
        let people = try await run("keys 'db 1 / zone 1 / types / \"Folder\"'")
        #expect(people.lines.count == 5)
        #expect(people.lines.allSatisfy { $0.hasPrefix("db 1 / zone 1 / types / \"Folder\" / ") })
        let last = try await run("keys 'db 1 / zone 1 / types' --limit 1 --reverse --json").objects()[0]
        #expect(last["key"] as? String == "db 1 / zone 1 / types / \"SymbolicLink\" / \"tree/d/link\"")
        #expect(try await run("keys global").lines.first?.contains("format 3") == true)
        #expect(try await run("keys nonsense").status == 2)
    }

    @Test("stats, zones, compact and backup have output for people and for programs")
    func maintenance() async throws {
        let zones = try #require(try await run("stats --count --json").object()["zones"] as? [[String: Any]])
        let keyspaces = try #require(zones.first?["keyspaces"] as? [[String: Any]])
        #expect(keyspaces.first { $0["keyspace"] as? String == "records" }?["entries"] as? Int == 9)
        #expect(try await run("stats").output.contains("9 records"))
        #expect(try await run("zones create --zone second").status == 0)
        #expect((try await run("stats --json").object()["zones"] as? [[String: Any]])?.count == 2)
        _ = try await ToolRun.stratus("init", "--store", "empty", in: directory)
        let empty = try await ToolRun.stratus("stats", "--json", "--store", "empty", in: directory).object()
        #expect((empty["zones"] as? [Any])?.isEmpty == true)
        #expect(empty["memoryBytes"] is Int)
        #expect(try await run("zones").lines.first?.hasPrefix("files  9 records") == true)
        #expect(try await run("zones").lines.count == 2)
        #expect(try await run("compact --json").object()["bytesAfter"] is Int)
        #expect(try await run("backup copy --json").object()["entries"] is Int)
        let copy = try await ToolRun.stratus("tree", "/tree", "--store", "copy", in: directory)
        #expect(copy.lines.count == 9)
    }

    @Test("--version prints the version, and the supported store formats, as in a store's marker")
    func version() async throws {
        let version = try await ToolRun.stratus("--version", in: directory)
        let marker = try String(contentsOfFile: directory.path + "/store/STRATUS", encoding: .utf8)
        let format = try #require(marker.split { !$0.isNumber }.first)
        #expect(
            version.status == 0,
            "\(marker)")
        #expect(
            version.output == "stratus \(Stratus.version), for stores of format \(format)\n",
            "\(marker)")
    }

    @Test("zones are created, listed, deleted and purged")
    func zones() async throws {
        #expect(try await run("zones create --zone notes --json").object()["created"] as? Bool == true)
        #expect(try await run("zones create notes --json").object()["created"] as? Bool == false)
        #expect(try await run("zones create other --json").object()["created"] as? Bool == true)
        #expect(
            try await run("zones list --json").objects().map { $0["zone"] as? String } == ["files", "notes", "other"])
        #expect(try await run("zones delete other --force").lines == ["zone other deleted; 1 entry removed"])
        for line in ["notes --zone other", "_notes", "notes --in db://iCloud.default/local/other", "notes --public"] {
            #expect(try await run("zones create \(line)").status == 2, "\(line)")
        }
        let deleted = try await run("zones delete --zone files --force --json").object()
        #expect(try #require(deleted["entriesRemoved"] as? Int) > 9)
        #expect(try await run("ls /").status == 3)
        #expect(try await run("zones purge --json").object()["zonesFinished"] as? Int == 0)
        #expect(try await run("zones delete --zone files --force").status == 3)
    }
}
