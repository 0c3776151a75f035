// How the tool refuses: exit codes, the thing and the remedy in the text, JSON where asked for.

import Foundation
import Testing

@Suite("errors")
struct ErrorTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line)", in: directory)
    }

    @Test("each kind of failure has its exit code")
    func exitCodes() async throws {
        let expected: [(String, Int32)] = [
            ("--help", 0), ("help", 0), ("ls --store store", 0),
            ("rm /tree --store store", 1),
            ("", 0), ("nonsense", 2), ("ls", 2), ("ls --store store --zone _x", 2),
            ("tree --depth -1 --store store", 2),
            ("get /tree/none --store store", 3), ("get none --store store", 3), ("ls --store store --zone none", 3),
            ("ls --store nowhere", 3), ("import-tree nowhere --store store", 3),
            ("ls --store tree", 4),
        ]
        for (line, status) in expected {
            let run = try await run(line)
            #expect(run.status == status && !run.wasKilled, "stratus \(line): \(run.status) \(run.errors)")
        }
    }

    @Test("the help documents every exit code")
    func documentedExitCodes() async throws {
        let help = try await run("help").output
        for code in 0...5 { #expect(help.contains("\n  \(code)  "), "exit code \(code)") }
    }

    @Test("every verb's help has an example and its JSON keys")
    func examples() async throws {
        let verbs = [
            "import-tree", "tree", "ls", "get", "path", "move", "rm", "share-root set", "share-root clear", "verify",
            "rebuild", "stats", "keys", "compact", "backup", "repair-losing-damaged-data", "zones list", "zones create",
            "zones delete",
            "zones purge",
            "demo",
        ]
        for verb in verbs {
            let help = try await run("\(verb) --help").output
            #expect(help.contains("Example:") && help.contains("--json:"), "stratus \(verb)")
        }
    }

    @Test("an error names the thing and the remedy, and is JSON where asked for")
    func errorTexts() async throws {
        let people = try await run("get /tree/a/none --store store")
        #expect(people.output.isEmpty)
        #expect(people.errors.contains("stratus ls") && people.errors.contains("missing: none"))
        let error = try await run("get /tree/a/none --store store --json").error()
        #expect(error["code"] as? String == "notFound")
        #expect(error["exitCode"] as? Int == 3)
        #expect((error["fields"] as? [String: Any])?["below"] as? String == "tree/a")
        let usage = try await run("ls --json").error()
        #expect(usage["code"] as? String == "usage")
    }

    @Test("an argument that is not UTF-8 is refused, and nothing is made under another name")
    func argumentBytes() async throws {
        let named = try await ToolRun.shell("mkdir $'tr\\xffee' && mkdir $'\\xef\\xbf\\xbd'", in: directory)
        try #require(named.status == 0)
        for line in [
            "import-tree $'tr\\xffee' --store store", "import-tree tree --store $'st\\xffre'",
            "ls --store=$'st\\xffre'", "ls $'/tr\\xe2\\x82' --store store",
        ] {
            let run = try await run(line)
            #expect(run.status == 2 && run.errors.contains("UTF-8"), "\(line): \(run.status) \(run.errors)")
            let error = try await self.run("\(line) --json").error()
            #expect(error["code"] as? String == "usage")
        }
        let error = try await run("ls --store $'st\\xffre' --json").error()
        #expect((error["fields"] as? [String: String])?["argument"] == "st%FFre")
        let files = try await ToolRun.shell("LC_ALL=C ls | wc -l", in: directory)
        #expect(files.lines == ["4"])
        // The character that stands for what could not be read may be meant.
        #expect(try await run("import-tree $'\\xef\\xbf\\xbd' --store store").status == 0)
        #expect(try await run("ls $'/\\xef\\xbf\\xbd' --store store").status == 0)
    }

    @Test("a path that leads to two records is refused, and record names still lead to each")
    func ambiguity() async throws {
        _ = try await ToolRun.shell("mkdir tree/d/b && \"$TOOL\" import-tree tree --store store", in: directory)
        #expect(try await run("move /tree/a/b --under /tree/d --store store").status == 0)
        let refused = try await run("get /tree/d/b --store store --json")
        #expect(refused.status == 1)
        #expect(try refused.error()["code"] as? String == "ambiguous")
        #expect(try await run("get tree/a/b --store store").status == 0)
        #expect(try await run("get name:tree/d/b --store store").status == 0)
    }

    @Test("names with control characters never reach the output raw")
    func controlCharacters() async throws {
        let made = try await ToolRun.shell(
            "touch tree/$'esc\\x1b[31m\\a\\n' && \"$TOOL\" import-tree tree --store store", in: directory)
        try #require(made.status == 0)
        for line in [
            "ls /tree", "ls /tree --names", "tree /", "tree / --json", "keys", "keys --json", "ls /tree --json",
            "get tree/$'esc\\x1b[31m\\a\\n'", "get tree/$'esc\\x1b'", "path tree/$'esc\\x1b[31m\\a\\n'",
        ] {
            let run = try await run("\(line) --store store")
            let raw = (run.output + run.errors).unicodeScalars.filter { $0.value < 0x20 && $0 != "\n" }
            #expect(raw.isEmpty, "stratus \(line)")
        }
        #expect(try await run("ls /tree --store store").output.contains("esc\\u{1b}[31m\\u{7}\\u{a}"))
    }

    @Test("a store held by another process says who holds it")
    func heldStore() async throws {
        // The pipe that nobody reads stops the first process in the middle of its output, with the store open.
        let run = try await ToolRun.shell(
            """
            mkdir many && (cd many && touch {1..3000}) && "$TOOL" import-tree many --store store > /dev/null
            mkfifo pipe
            "$TOOL" tree / --json --store store > pipe & holder=$!
            exec 3< pipe
            head -c 1 <&3 > /dev/null
            "$TOOL" ls --store store --json; code=$?
            kill -KILL $holder; wait $holder
            exit $code
            """, in: directory)
        #expect(run.status == 4, "\(run.output) \(run.errors)")
        let last = try #require(run.errors.split(separator: "\n").first { $0.contains("{\"error\"") })
        #expect(last.contains("\"code\":\"held\""))
        #expect(last.contains("\"holderProcessID\":\""), "\(last)")
    }

    @Test("output that cannot be written is an error")
    func fullDisk() async throws {
        let run = try await run("ls / --store store > /dev/full")
        #expect(run.status == 1)
        #expect(run.errors.contains("no space left"))
    }

    @Test("colours appear on a terminal, and nowhere else")
    func terminal() async throws {
        let plain = try await run("ls / --store store")
        #expect(!plain.output.contains("\u{1B}"))
        let terminal = try await ToolRun.shell(
            "command -v script > /dev/null || exit 77; NO_COLOR= TERM=xterm script -qec '\"$TOOL\" ls / --store store' /dev/null",
            in: directory)
        if terminal.status == 77 { try Test.cancel("there is no 'script' here to make a terminal") }
        #expect(terminal.output.contains("\u{1B}[34mtree\u{1B}[0m/"))
        let json = try await ToolRun.shell(
            "NO_COLOR= TERM=xterm script -qec '\"$TOOL\" ls / --store store --json' /dev/null", in: directory)
        #expect(!json.output.contains("\u{1B}"))
    }

    @Test("a flipped byte in a table is corruption for verify, never a missing record")
    func corruption() async throws {
        let damaged = try await ToolRun.shell(
            """
            "$TOOL" compact --store store > /dev/null
            table=$(ls -S store/*.ldb | head -n 1)
            printf '\\x55' | dd of="$table" bs=1 seek=100 conv=notrunc 2> /dev/null
            "$TOOL" verify --store store --json
            """, in: directory)
        #expect(damaged.status == 5, "\(damaged.output) \(damaged.errors)")
    }
}
