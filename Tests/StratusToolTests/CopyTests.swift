// Copying whole stores, and what verbs say about stores on a server.

import Foundation
import Testing

@testable import stratus

@Suite("copies of whole stores")
struct CopyTests {
    let directory: TestDirectory

    init() async throws { directory = try TestDirectory() }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    private func fill() async throws {
        try await directory.importTree()
        for line in [
            "accounts create bob --email bob@example.com", "invite /tree/a bob@example.com",
            "put note-1 --type Note --set title=x --set file:asset=tree/a/one --zone notes",
        ] {
            let zone = line.hasPrefix("put") ? "\"$TOOL\" zones create --zone notes --store store && " : ""
            let done = try await shell("\(zone)\"$TOOL\" \(line) --store store")
            try #require(done.status == 0, "\(line): \(done.errors)")
        }
    }

    @Test("a copy exports to the same bytes, is verified, and has other tokens")
    func whole() async throws {
        try await fill()
        let copied = try await shell("\"$TOOL\" copy store other --json")
        #expect(copied.status == 0, "\(copied.errors)")
        let object = try copied.object()
        #expect(object["from"] as? String == "store")
        #expect(object["assets"] as? Int == 1)
        #expect((object["digest"] as? String)?.count == 64)
        let exported = try await shell("for s in store other; do \"$TOOL\" export $s.out --secrets --store $s; done")
        #expect(exported.status == 0)
        #expect(try await shell("cmp store.out other.out").status == 0)
        #expect(try await shell("\"$TOOL\" verify --store other").status == 0)
        let formats = try await shell("for s in store other; do \"$TOOL\" keys global --limit 1 --store $s; done")
        #expect(Set(formats.lines).count == 2, "\(formats.output)")
        #expect(!formats.output.contains("unfinished"))
    }

    @Test("a copy is made only into nothing or an empty store, never onto itself or into a store's directory")
    func refused() async throws {
        try await fill()
        #expect(try await shell("\"$TOOL\" init --store fresh").status == 0)
        #expect(try await shell("\"$TOOL\" copy store fresh").status == 0)
        for (line, status, words) in [
            ("copy store fresh", 1, "not empty"), ("copy store fresh", 1, "target: fresh"),
            ("copy store store", 1, "itself"),
            ("copy store ./store/", 1, "itself"), ("copy store store/inside", 1, "nothing else"),
            ("copy nowhere other", 3, "no store"),
            ("copy store fresh --resume", 1, "nothing to continue"),
        ] as [(String, Int32, String)] {
            let run = try await shell("\"$TOOL\" \(line)")
            #expect(run.status == status, "\(line): \(run.errors)")
            #expect(run.errors.contains(words), "\(line): \(run.errors)")
        }
    }

    @Test("a copy that is killed at any call is no store, and resumed it is whole", arguments: [2, 9, 20, 35, 50])
    func killed(call: Int) async throws {
        try await fill()
        let run = try await shell(
            """
            env FILECALLS_KILL=\(call) FILECALLS_UNDER="$PWD/other" LD_PRELOAD=\(FileCallBench.library) \
              "$TOOL" copy store other > killed 2>&1 && echo whole
            "$TOOL" stats --store other > stats 2>&1; echo $?
            "$TOOL" copy store other --resume > resumed 2>&1; echo $?
            "$TOOL" verify --store other > verified 2>&1; echo $?
            for s in store other; do "$TOOL" export $s.out --secrets --store $s > exported 2>&1; done
            cmp store.out other.out; echo $?
            """)
        let errors = try await shell("cat killed stats resumed verified").output
        #expect(run.lines.first != "0" && run.lines.first != "whole", "\(run.output) \(errors)")
        #expect(run.lines.suffix(3) == ["0", "0", "0"], "\(run.output) \(errors)")
    }

    @Test("a copy whose directory is of an older format is resumed, and is then of the source's format")
    func olderTarget() async throws {
        try await fill()
        let run = try await shell(
            """
            env FILECALLS_KILL=50 FILECALLS_UNDER="$PWD/other" LD_PRELOAD=\(FileCallBench.library) \
              "$TOOL" copy store other > killed 2>&1 && echo whole
            grep -c creating other/STRATUS
            "$TOOL" stats --store other 2>&1 | grep -c "unfinished copy"
            sed -i 's/^format .*/format 2/' other/STRATUS
            "$TOOL" copy store other --resume > resumed 2>&1; echo $?
            "$TOOL" verify --store other > verified 2>&1; echo $?
            cmp store/STRATUS other/STRATUS; echo $?
            """)
        let errors = try await shell("cat killed resumed verified").output
        #expect(run.lines == ["0", "1", "0", "0", "0"], "\(run.output) \(errors)")
    }

    @Test("long-lived operations come with a copy")
    func operations() async throws {
        try await fill()
        _ = try await shell("mkdir -p store/operations && echo '{}' > store/operations/6f70.operation")
        let object = try await shell("\"$TOOL\" copy store other --json").object()
        #expect(object["operations"] as? Int == 1)
        #expect(try await shell("cmp store/operations/6f70.operation other/operations/6f70.operation").status == 0)
    }

    @Test("renew-incarnations expires the tokens of every zone")
    func renewed() async throws {
        try await fill()
        let before = try await shell("\"$TOOL\" keys --store store | grep -i incarnation")
        let run = try await shell("\"$TOOL\" renew-incarnations --store store --json")
        #expect(try run.object()["zones"] as? Int == 2)
        let after = try await shell("\"$TOOL\" keys --store store | grep -i incarnation")
        #expect(Set(before.lines).isDisjoint(with: after.lines), "\(before.output) \(after.output)")
    }
}

@Suite("addresses of stores")
struct StoreAddressTests {
    @Test("PostgreSQL's scheme makes a URL, and anything else is a path")
    func schemes() {
        for text in ["postgresql://db/notes", "postgres://db", "postgresql:///notes", "postgresql:notes"] {
            #expect(StoreAddress(parsing: text).isServer, "\(text)")
        }
        for text in ["store", "./postgresql:notes", "/postgres://db", "Postgres://db", "mysql://db", ""] {
            #expect(StoreAddress(parsing: text) == .directory(text), "\(text)")
        }
    }

    @Test(
        "a password is never shown, however it is written",
        arguments: [
            "postgresql://me:secret@db/notes", "postgresql://me:sec%40ret@db/notes",
            "postgresql://me:se/cr?et@db/notes", "postgres://me:secret@one:1,two:2/notes?sslmode=require",
            "postgresql://db/notes?user=me&password=secret",
            "postgresql://db/notes?sslpassword=secret&x=1", "postgresql://me:se@cr:et@db/notes", "postgresql:me:secret",
            "postgresql://:secret@db",
        ])
    func redacted(url: String) {
        let shown = StoreAddress(parsing: url).shown
        for part in ["secret", "sec", "ret", "et@"] { #expect(!shown.contains(part), "\(shown)") }
        #expect(shown.contains("…"))
    }

    @Test("what is no secret is shown")
    func shown() {
        for text in [
            "postgresql://me@db.example.com:5432/notes?sslmode=verify-full&stratus_schema=s", "postgresql:///notes",
            "./store", "postgresql://[::1]:5433/notes",
        ] {
            #expect(StoreAddress(parsing: text).shown == text)
        }
        #expect(StoreAddress(parsing: "postgresql://me:x@db/notes?a=b").shown == "postgresql://me:…@db/notes?a=b")
    }

    @Test("verbs that make no sense on a server refuse it, say what to use instead, and show no password")
    func instead() async throws {
        let directory = try TestDirectory()
        for (line, words) in [
            ("backup copy", "pg_basebackup"), ("restore copy", "renew-incarnations"), ("compact", "autovacuum"),
            ("repair-losing-damaged-data other", "pg_amcheck"), ("watch", "host"), ("recover", "by itself"),
        ] {
            let run = try await ToolRun.shell(
                "\"$TOOL\" \(line) --store 'postgresql://me:secret@db/notes' --json", in: directory)
            #expect(run.status == 1, "\(line): \(run.errors)")
            #expect(run.errors.contains(words), "\(line): \(run.errors)")
            #expect(run.errors.contains("postgresql://me:…@db/notes"), "\(line): \(run.errors)")
            #expect(!(run.errors + run.output).contains("secret"), "\(line)")
        }
    }

    @Test("no verb makes a file or directory for a URL, or shows its password")
    func nothingMade() async throws {
        let directory = try TestDirectory()
        for line in ["init", "ls", "verify", "import-tree /etc/apt"] {
            let run = try await ToolRun.shell(
                "\"$TOOL\" \(line) --store 'postgresql://me:secret@127.0.0.1:1/notes?connect_timeout=2'", in: directory)
            #expect(run.status != 0, "\(line)")
            #expect(!(run.errors + run.output).contains("secret"), "\(line): \(run.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }
}
