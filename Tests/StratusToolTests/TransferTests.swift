// Stores that are created, emptied, transferred and followed.

import Foundation
import Testing

@Suite("verbs about whole stores")
struct TransferTests {
    let directory: TestDirectory

    init() async throws { directory = try TestDirectory() }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    private func run(_ line: String, store: String = "store") async throws -> ToolRun {
        try await shell("\"$TOOL\" \(line) --store \(store)")
    }

    /// A store with two people, a share, a zone more, a schema, an asset, an encrypted field and a hostile name.
    private func fill() async throws {
        try await directory.importTree()
        for line in [
            "accounts create bob --email bob@example.com", "invite /tree/a bob@example.com",
            "share create /tree/d", "share permission /tree/d readOnly", "zones create --zone notes",
            "put note-1 --type Note --set 'title=a\"b' --set 'n:int64=7' --set 'd:double=0.1' --set place:location=1,2 "
                + "--set when:date=2026-01-31T12:00:00Z --set-encrypted secret=x --set file:asset=tree/a/one --zone notes",
            "put note-2 --type Note --under note-1 --set to:reference=note-1 --set copy:asset=tree/a/one --zone notes",
            "put post --type Post --set text=hello --public", "put $'name:\\e[31mred' --type Note --zone notes",
        ] {
            let done = try await run(line)
            try #require(done.status == 0, "\(line): \(done.errors)")
        }
    }

    @Test(
        "an import that fails leaves a store alone that another process has put there before or after its directory",
        arguments: [1, 2])
    func importBesideImport(_ call: Int) async throws {
        try await fill()
        let run = try await shell(
            """
            set -e
            "$TOOL" export all.jsonl --store store > done
            FILECALLS_UNDER="$PWD/other" FILECALLS_STOP=\(call) LD_PRELOAD=\(FileCallBench.library) \
              "$TOOL" import all.jsonl --store other > first 2>&1 &
            first=$!
            until grep -q '^State:.T' /proc/$first/status; do :; done
            "$TOOL" import all.jsonl --store other
            kill -CONT $first
            wait $first && exit 9 || true
            cat first
            "$TOOL" export again.jsonl --store other > done
            cmp all.jsonl again.jsonl
            """)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        #expect(!run.output.contains("could not be removed"), "\(run.output)")
    }

    @Test(
        "an export that lacks an account, or counts another number of anything, is damaged",
        arguments: [
            "/\"externalID\":\"bob\"/d", "$s/\"zones\":[0-9]*/\"zones\":99/", "$s/\"contents\":1/\"contents\":2/",
            "$s/\"accounts\":[0-9]*/\"accounts\":99/",
        ])
    func wrongCounts(_ edit: String) async throws {
        try await fill()
        let run = try await shell(
            """
            "$TOOL" export all.jsonl --secrets --store store > done || exit 9
            sed '\(edit)' all.jsonl > wrong.jsonl
            cmp -s all.jsonl wrong.jsonl && exit 8
            "$TOOL" import wrong.jsonl --store other --json; code=$?
            test -e other && exit 7
            exit $code
            """)
        #expect(run.status == 1, "\(run.output) \(run.errors)")
        #expect(run.errors.contains("\"damaged\""), "\(run.errors)")
    }

    @Test("a directory and a closed standard input are no export, and the error says so")
    func noExport() async throws {
        for script in [#""$TOOL" import . --store other"#, #""$TOOL" import - --store other <&-"#] {
            let run = try await shell(script)
            #expect(run.status == 1, "\(script): \(run.output) \(run.errors)")
            #expect(run.errors.contains("error: The file cannot be read"), "\(script): \(run.errors)")
            #expect(!run.errors.contains("Cocoa"), "\(script): \(run.errors)")
        }
    }

    @Test("no output goes into the store's files where standard streams are closed, and the verb fails")
    func closedStreams() async throws {
        try await fill()
        let run = try await shell(
            """
            bash -c '"$TOOL" verify --store store <&- >&- 2> errors'; code=$?
            grep -rl checked store && exit 9
            cat errors; exit $code
            """)
        #expect(run.status == 1, "\(run.output) \(run.errors)")
    }

    @Test("a file that would exceed the limit of sizes fails the export with a reason, and leaves nothing")
    func fileSizeLimit() async throws {
        try await fill()
        let run = try await shell(
            """
            (ulimit -f 1; "$TOOL" export all.jsonl --store store --json); code=$?
            ls -A | grep -v store | grep -v tree
            exit $code
            """)
        #expect(run.status == 1, "\(run.output) \(run.errors)")
        #expect(run.errors.contains("\"error\""), "\(run.errors)")
        #expect(run.output == "", "\(run.output)")
    }

    @Test("an account that is refused leaves no store, and a file is no store")
    func refusedAccount() async throws {
        let refused = try await shell("\"$TOOL\" init --store other --create-account ''; code=$?; ls -A; exit $code")
        #expect(refused.status != 0)
        #expect(refused.output == "", "\(refused.output)")
        #expect(try await shell("touch file; \"$TOOL\" ls / --store file").status == 4)
    }

    @Test("an imported export exports to the same bytes, with secrets and without")
    func roundTrip() async throws {
        try await fill()
        for (flag, name) in [("", "plain"), ("--secrets", "whole")] {
            let exported = try await run("export \(name).1 \(flag) --json").object()
            #expect(exported["records"] as? Int == 15)
            #expect(exported["contents"] as? Int == 1)
            let imported = try await run("import \(name).1 --json", store: name)
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try await run("export \(name).2 \(flag)", store: name).status == 0)
            #expect(try await shell("cmp \(name).1 \(name).2").status == 0)
            #expect(try await run("verify", store: name).lines.last?.hasSuffix("0 wrong counts") == true)
        }
        let urls = try await shell(
            "for s in store plain whole; do \"$TOOL\" share show /tree/a --url --store $s | tail -1; done")
        try #require(urls.lines.count == 3)
        #expect(urls.lines[0] != urls.lines[1])
        #expect(urls.lines[0] == urls.lines[2])
        let found = try await run("query Note --where 'n == 7' --zone notes --json", store: "plain").objects()
        // A record that is no file has all keys of the line.
        #expect(found.first?["size"] is NSNull)
        #expect(found.map { $0["record"] as? String } == ["note-1"])
        #expect(try await run("get note-1 --zone notes", store: "plain").output.contains("(encrypted)"))
    }

    @Test("an import refuses a store with contents, resumes an interrupted one, and names an invalid line")
    func interrupted() async throws {
        try await fill()
        #expect(try await run("export all").status == 0)
        #expect(try await run("export all").status == 1)
        _ = try await shell("head -20 all > part; sed 's/\"type\":\"Note\"/\"type\":3/' all > wrong")
        _ = try await shell("sed 's/{\"zone\":/{\"place\":/' all > unknown")
        let cut = try await run("import part", store: "two")
        #expect(cut.status == 1)
        #expect(cut.errors.contains("has no last line"))
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/two"))
        // With --resume existing data stays.
        let resuming = try await run("import part --resume", store: "two")
        #expect(resuming.status == 1)
        #expect(resuming.errors.contains("has no last line"))
        #expect(try await run("import all", store: "two").errors.contains("--resume"))
        let resumed = try await run("import all --resume --json", store: "two").object()
        #expect(try #require(resumed["known"] as? Int) > 0)
        #expect(try await shell("\"$TOOL\" export - --store two | cmp - all").status == 0)
        #expect(try await run("verify", store: "two").status == 0)
        // A resumed one keeps its data.
        #expect(try await run("import part --resume", store: "two").status == 1)
        #expect(try await shell("\"$TOOL\" export - --store two | cmp - all").status == 0)
        let wrong = try await run("import wrong --json", store: "three").error()
        #expect((wrong["fields"] as? [String: Any])?["key"] as? String == "type")
        let unknown = try await run("import unknown --json", store: "four").error()
        #expect((unknown["fields"] as? [String: Any])?["key"] as? String == "place")
    }

    @Test("a failed import leaves nothing behind: no store, no file, and an empty store as it was")
    func failed() async throws {
        try await fill()
        #expect(try await run("export all").status == 0)
        // Cut, another digest, a wrong line far behind.
        let made = try await shell(
            """
            head -20 all > cut
            sed 's/"digest":"../"digest":"00/' all > digest
            sed 's/"type":"Post"/"type":3/' all > type
            mkdir empty && "$TOOL" init --store ready > /dev/null && ls -a > before
            """)
        try #require(made.status == 0, "\(made.errors)")
        for name in ["cut", "digest", "type"] {
            for place in ["two", "empty", "ready"] {
                let failed = try await run("import \(name)", store: place)
                #expect(failed.status != 0, "\(name) \(place)")
                #expect(failed.errors.contains("error: "), "\(name) \(place)")
            }
            let after = try await shell("ls -a | grep -v after > after; diff before after && ls -a empty | wc -l")
            #expect(after.status == 0, "\(after.output)")
            #expect(after.lines.last?.trimmingCharacters(in: .whitespaces) == "2", "\(after.output)")
        }
        for place in ["two", "empty", "ready"] {
            #expect(try await run("import all", store: place).status == 0, "\(place)")
            #expect(try await shell("\"$TOOL\" export - --store \(place) | cmp - all").status == 0)
        }
    }

    @Test("a damaged content fails the export, which names its file and creates none", arguments: ["out", "-"])
    func damagedContent(output: String) async throws {
        try await fill()
        let damaged = try await shell(
            "f=$(find store/assets/content -type f); printf X | dd of=$f bs=1 conv=notrunc 2>/dev/null; echo $f")
        let file = try #require(damaged.lines.last)
        let failed = try await shell("\"$TOOL\" export \(output) --store store --json > printed")
        #expect(failed.status == 5, "\(failed.errors)")
        #expect(failed.errors.contains(String(file.split(separator: "/").last ?? "")))
        #expect(try await shell("[ ! -e out ] && ! grep -q stratusExport printed").status == 0)
        let found = try await run("verify --json").object()["findings"] as? [[String: Any]]
        #expect(found?.map { $0["kind"] as? String } == ["damagedContent"])
        // Without the record there is no obstacle.
        for note in ["note-2", "note-1"] { _ = try await run("rm \(note) --zone notes --force") }
        #expect(try await run("export after").status == 0)
    }

    @Test("an import stopped by a signal says how to continue, and a file that is not an export creates no store")
    func stopped() async throws {
        let stopped = try await shell(
            """
            "$TOOL" import-tree /usr/share/doc --store store > /dev/null && "$TOOL" export all --store store > /dev/null
            "$TOOL" import all --store two > /dev/null 2> errors &
            until [ -e two/CURRENT ] || ! kill -0 $!; do sleep 0.01; done
            kill -TERM $!
            wait $!
            echo "exit $?"
            cat errors
            """)
        // If it was faster than the signal there is nothing to report.
        if !stopped.output.hasPrefix("exit 0") {
            #expect(stopped.output.contains("exit 130"), "\(stopped.output)")
            #expect(stopped.output.contains("with --resume"), "\(stopped.output)")
        }
        #expect(try await run("import all --resume", store: "two").status == 0)
        #expect(try await shell("\"$TOOL\" export - --store two | cmp - all").status == 0)
        for text in ["", "nonsense", "{\"record\":{}}"] {
            let refused = try await shell("echo '\(text)' > bad; \"$TOOL\" import bad --store three; [ ! -e three ]")
            #expect(refused.status == 0, "\(text): \(refused.errors)")
            #expect(refused.errors.contains("error: "), "\(text): \(refused.errors)")
        }
    }

    @Test("an import can be stopped by a signal after an account too, and continued from there")
    func stoppedAmongAccounts() async throws {
        try await fill()
        let made = try await shell(
            """
            for i in {1..12}; do "$TOOL" accounts create "person-$i" --store store > /dev/null || exit 1; done
            "$TOOL" export all --store store > /dev/null
            """)
        try #require(made.status == 0, "\(made.errors)")
        // Lines so long that one read of a pipe contains several of them, and not all. A reader ignores what it does
        // not know.
        let filler = String(repeating: "x", count: 120_000)
        let lines = try String(contentsOfFile: "\(directory.path)/all", encoding: .utf8).split(separator: "\n")
        let accounts = lines.filter { $0.hasPrefix("{\"account\":{") }.map {
            $0.replacingOccurrences(of: "{\"account\":{", with: "{\"account\":{\"filler\":\"\(filler)\",")
        }
        try #require(accounts.count > 12)
        let parts = [("first", [String(lines[0])] + Array(accounts.dropLast())), ("last", Array(accounts.suffix(1)))]
        for (name, part) in parts {
            try (part.joined(separator: "\n") + "\n").write(
                toFile: "\(directory.path)/\(name)", atomically: false, encoding: .utf8)
        }
        // The signal arrives while the import waits for the rest of its input, whose end is missing.
        let stopped = try await shell(
            """
            mkfifo pipe
            "$TOOL" import pipe --store two > out 2> errors &
            child=$!
            exec 3> pipe
            cat first >&3
            until [ -e two/CURRENT ] || ! kill -0 $child 2> /dev/null; do sleep 0.01; done
            kill -TERM $child
            until grep -q stopping errors || ! kill -0 $child 2> /dev/null; do sleep 0.01; done
            cat last >&3
            exec 3>&-
            wait $child
            echo "exit $?"
            cat errors
            """)
        #expect(stopped.output.hasPrefix("exit 130\n"), "\(stopped.output)")
        #expect(stopped.output.contains("with --resume"), "\(stopped.output)")
        #expect(try await run("import all --resume", store: "two").status == 0)
        #expect(try await shell("\"$TOOL\" export - --store two | cmp - all").status == 0)
        #expect(try await run("verify", store: "two").status == 0)
    }

    @Test("changes are printed since a token, and so are zones")
    func changes() async throws {
        try await directory.importTree()
        let first = try await run("changes --json").objects()
        #expect(first.count == 10)
        let token = try #require(first.last?["token"] as? String)
        #expect(try await run("rm /tree/d/two --force").status == 0)
        #expect(try await run("put tree/a/one --set note=x").status == 0)
        let next = try await run("changes --since \(token) --json").objects()
        #expect(next.compactMap { $0["change"] as? String } == ["saved", "deleted"])
        #expect(try await run("changes --zones --json").objects().first?["zone"] as? String == "files")
        #expect(try await run("changes --since AAAA").status == 1)
        #expect(try await run("changes --since '?'").status == 2)
    }

    @Test("databases, zones and records have full addresses, and schemas are exported and imported")
    func addresses() async throws {
        try await fill()
        let databases = try await run("databases --json").objects().compactMap { $0["address"] as? String }
        #expect(databases == ["db://iCloud.default/public", "db://iCloud.default/id:local"])
        #expect(try await run("get 'db://iCloud.default/local/notes?note-1'").status == 0)
        #expect(try await run("ls db://iCloud.default/local/files/tree --json").objects().count == 2)
        #expect(try await run("zones --in db://iCloud.default/local --json").objects().count == 2)
        #expect(try await run("query Post --in db://iCloud.default/public --json").objects().count == 1)
        #expect(try await run("get 'db://iCloud.default/nobody/notes?note-1'").status == 3)
        #expect(try await run("containers --json").object()["types"] as? Int == 6)
        #expect(try await shell("\"$TOOL\" help addresses").output.contains("db://CONTAINER/PERSON/ZONE?NAME"))
        let listed = try await run("children / --zone notes")
        #expect(listed.output.contains("\\u{1b}[31mred"))
        #expect(!listed.output.contains("\u{1B}"))
        let schema = try await shell(
            "\"$TOOL\" schema export a.ckdb --store store && \"$TOOL\" init --store two && \"$TOOL\" schema import a.ckdb "
                + "--store two && \"$TOOL\" schema export b.ckdb --store two && cmp a.ckdb b.ckdb")
        #expect(schema.status == 0, "\(schema.errors)")
        let wrong = try await shell("echo 'DEFINE NONSENSE' | \"$TOOL\" schema import - --store two")
        #expect(wrong.status == 1)
        #expect(wrong.errors.contains("line: 1"))
    }

    @Test("a store is created, restored from its backup, migrated, and emptied after confirmation")
    func lives() async throws {
        #expect(try await run("init --create-account local --json").object()["created"] as? Bool == true)
        #expect(try await run("init --json").object()["created"] as? Bool == false)
        try await directory.makeTree()
        #expect(try await run("import-tree tree").status == 0)
        #expect(try await run("migrate --json").object()["commits"] as? Int == 0)
        #expect(try await run("backup copy").status == 0)
        #expect(try await run("reset").status == 1)
        #expect(try await run("reset --dry-run").output.contains("9 records"))
        #expect(try await run("reset --force --json").object()["records"] as? Int == 9)
        #expect(try await run("accounts").output.isEmpty)
        #expect(try await run("restore copy").status == 1)
        #expect(try await run("restore copy", store: "three").status == 0)
        #expect(try await run("ls /tree", store: "three").lines.count == 2)
        #expect(try await run("subscriptions", store: "three").status == 0)
        #expect(try await run("subscriptions devices", store: "three").status == 0)
        #expect(try await run("subscriptions outbox", store: "three").output.isEmpty)
    }
}
