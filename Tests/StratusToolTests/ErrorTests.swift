// Refusals of the tool: exit codes, the object and the remedy in the text, JSON on request.

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
            ("rm /tree --force --store store", 1),
            ("", 0), ("nonsense", 2), ("ls", 2), ("ls --store store --zone _x", 2),
            ("tree --depth -1 --store store", 2),
            ("get /tree/none --store store", 3), ("get none --store store", 3), ("ls --store store --zone none", 3),
            ("ls --store nowhere", 3), ("import-tree nowhere --store store", 3),
            ("ls --store tree", 4),
        ]
        for (line, status) in expected {
            let run = try await run(line)
            #expect(run.status == status, "stratus \(line): \(run.status) \(run.errors)")
            #expect(!run.wasKilled, "stratus \(line): \(run.status) \(run.errors)")
        }
    }

    @Test("the help documents every exit code")
    func documentedExitCodes() async throws {
        let help = try await run("help").output
        for code in Array(0...5) + [130] { #expect(help.contains("\n  \(code)  "), "exit code \(code)") }
    }

    @Test("every verb's help has an example and its JSON keys")
    func examples() async throws {
        let told = try await run("--experimental-dump-help").output
        let help = try JSONDecoder().decode(ToolHelp.self, from: Data(told.utf8))
        let verbs = help.command.verbs(behind: []).filter { $0 != "help" }
        try #require(verbs.contains("zones purge") && verbs.contains("ls"), "\(verbs)")
        for verb in verbs {
            let help = try await run("\(verb) --help").output
            #expect(help.contains("Example:"), "stratus \(verb)")
            #expect(help.contains("--json:"), "stratus \(verb)")
        }
    }

    @Test("options mean the same in every verb, and verbs that name a zone accept an account")
    func sameOptions() async throws {
        let told = try await run("--experimental-dump-help").output
        let help = try JSONDecoder().decode(ToolHelp.self, from: Data(told.utf8))
        var meanings: [String: [String: String]] = [:]
        // A whole tree of the owner's, and indexes, which have no owner.
        let ownersVerbs = ["import-tree", "rebuild"]
        for (verb, options) in help.command.options(behind: []) where verb != "help" {
            let names = Set(options.map(\.name))
            #expect(names.contains("json") || verb == "addresses", "stratus \(verb)")
            #expect(
                names.contains("store") || ["addresses", "bench", "copy", "rule"].contains(verb), "stratus \(verb)")
            if names.contains("zone"), !ownersVerbs.contains(verb) {
                #expect(names.contains("as"), "stratus \(verb) has no --as")
            }
            // An option about a database has an effect: an owner is never named in vain.
            let place = names.intersection(["owner", "container", "in", "public"])
            #expect([0, 4].contains(place.count), "stratus \(verb): \(place)")
            #expect(
                place.isEmpty == Self.wholeVerbs.contains(verb.split(separator: " ").first.map(String.init) ?? ""),
                "stratus \(verb)")
            for option in options { meanings[option.name, default: [:]][option.meaning] = verb }
        }
        // Limits, creations and questions are specific to each verb.
        let own = [
            "limit", "interval", "count", "share", "recursive", "set", "depth", "as", "json", "permission", "force",
        ]
        for (name, told) in meanings where !own.contains(name) {
            #expect(told.count == 1, "--\(name): \(told)")
        }
        for word in ["account", "every", "for"] { #expect(meanings[word] == nil, "--\(word)") }
    }

    /// What is about a whole store, or none.
    private static let wholeVerbs = [
        "init", "recover", "stats", "report", "verify", "repair-losing-damaged-data", "migrate", "reset", "compact",
        "keys", "backup", "restore", "export", "import", "accounts", "containers", "databases", "accept",
        "subscriptions", "watch", "bench", "demo", "copy", "renew-incarnations",
        "addresses", "rule",
    ]

    @Test("a negative number, and an invalid zone, store and predicate are reported as such")
    func mistakes() async throws {
        let expected: [(String, Int32, String)] = [
            ("query File --limit -1 --store store", 2, "0 for all"), ("keys --limit -1 --store store", 2, "0 for all"),
            ("tree --depth -1 --store store", 2, "--depth"), ("watch --interval -1 --store store", 2, "--interval"),
            ("query File --where 'a ==' --store store", 2, "column"), ("verify --owner x --store store", 2, "--owner"),
            ("rebuild --zone file --store store", 3, "nearest: files"),
            ("audit --zone file --store store", 3, "nearest: files"),
            ("changes --zone file --store store", 3, "nearest: files"),
            ("query File --zone file --store store", 3, "nearest: files"),
            ("backup copy --store stor", 3, "nearest: "), ("restore stor --store other", 3, "nearest: "),
            ("import-tree nowhere --store made", 3, "no such file"),
            ("import nowhere --store store", 3, "No such file"),
            ("import tree --store store", 1, "directory"), ("ls --container '' --store store", 2, "--container"),
            ("accounts create x --quota -5 --store store", 2, "leave out --quota"),
        ]
        for (line, status, words) in expected {
            let run = try await run(line)
            #expect(run.status == status, "stratus \(line): \(run.status) \(run.errors)")
            #expect(run.errors.hasPrefix("error: "), "stratus \(line): \(run.errors)")
            #expect(run.errors.contains(words), "stratus \(line): \(run.errors)")
        }
        let left = try await ToolRun.shell("ls", in: directory)
        #expect(left.lines == ["store", "tree"])
    }

    /// The tool's machine-readable description of its verbs.
    private struct ToolHelp: Decodable {
        struct Option: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }

            let preferredName: Name?
            let abstract: String?
            let valueName: String?

            var name: String { preferredName?.name ?? "" }
            var meaning: String { "\(valueName ?? ""): \(abstract ?? "")" }
        }

        struct Command: Decodable {
            let commandName: String
            let subcommands: [Command]?
            let arguments: [Option]?

            /// The options of every verb that does something.
            func options(behind path: [String]) -> [(verb: String, options: [Option])] {
                guard let subcommands, !subcommands.isEmpty else {
                    return [(path.joined(separator: " "), (arguments ?? []).filter { $0.preferredName != nil })]
                }
                return subcommands.flatMap { $0.options(behind: path + [$0.commandName]) }
            }

            /// Every verb that does something, with its parent verbs in front of it.
            func verbs(behind path: [String]) -> [String] {
                guard let subcommands, !subcommands.isEmpty else { return [path.joined(separator: " ")] }
                return subcommands.flatMap { $0.verbs(behind: path + [$0.commandName]) }
            }
        }

        let command: Command
    }

    @Test("an error names the object and the remedy, and is JSON on request")
    func errorTexts() async throws {
        let people = try await run("get /tree/a/none --store store")
        #expect(people.output.isEmpty)
        #expect(people.errors.contains("stratus ls"))
        #expect(people.errors.contains("missing: none"))
        let error = try await run("get /tree/a/none --store store --json").error()
        #expect(error["code"] as? String == "notFound")
        #expect(error["exitCode"] as? Int == 3)
        #expect((error["fields"] as? [String: Any])?["below"] as? String == "tree/a")
        let usage = try await run("ls --json").error()
        #expect(usage["code"] as? String == "usage")
    }

    @Test("an argument that is not UTF-8 is refused, and nothing is created under another name")
    func argumentBytes() async throws {
        let named = try await ToolRun.shell("mkdir $'tr\\xffee' && mkdir $'\\xef\\xbf\\xbd'", in: directory)
        try #require(named.status == 0)
        for line in [
            "import-tree $'tr\\xffee' --store store", "import-tree tree --store $'st\\xffre'",
            "ls --store=$'st\\xffre'", "ls $'/tr\\xe2\\x82' --store store",
        ] {
            let run = try await run(line)
            #expect(run.status == 2, "\(line): \(run.status) \(run.errors)")
            #expect(run.errors.contains("UTF-8"), "\(line): \(run.status) \(run.errors)")
            let error = try await self.run("\(line) --json").error()
            #expect(error["code"] as? String == "usage")
        }
        let error = try await run("ls --store $'st\\xffre' --json").error()
        #expect((error["fields"] as? [String: String])?["argument"] == "st%FFre")
        let files = try await ToolRun.shell("LC_ALL=C ls | wc -l", in: directory)
        #expect(files.lines == ["4"])
        // The replacement character may be intended.
        #expect(try await run("import-tree $'\\xef\\xbf\\xbd' --store store").status == 0)
        #expect(try await run("ls $'/\\xef\\xbf\\xbd' --store store").status == 0)
    }

    @Test("an unknown verb, zone and store are reported with the nearest existing one")
    func nearest() async throws {
        let expected: [(String, Int32, String)] = [
            ("lss --store store", 2, "stratus ls"), ("impport-tree tree", 2, "stratus import-tree"),
            ("zones craete --store store", 2, "stratus zones create"), ("help verfy", 2, "stratus verify"),
            ("ls --zone flies --store store", 3, "files"),
            ("zones delete --zone file --force --store store", 3, "files"),
            ("ls --store stroe", 3, "store"), ("ls --store store/assets", 3, "store"), ("ls --store .", 4, "store"),
        ]
        for (line, status, nearest) in expected {
            let run = try await run("\(line) --json")
            #expect(run.status == status, "stratus \(line): \(run.errors)")
            let fields = try #require(try run.error()["fields"] as? [String: String], "stratus \(line)")
            #expect(fields["nearest"]?.hasSuffix(nearest) == true, "stratus \(line): \(fields)")
        }
        #expect(try await run("ls --store tree").errors.contains("found: a directory of other files: a, d"))
        #expect(try await run("ls --store tree/a/one").errors.contains("found: a file"))
        #expect(try await run("nonsense --json").error()["fields"] as? [String: String] == ["verb": "nonsense"])
    }

    @Test("destructive verbs need a confirmation, and --dry-run prints their effect")
    func deeds() async throws {
        for line in ["rm /tree -r", "zones delete"] {
            let refused = try await run("\(line) --store store")
            #expect(refused.status == 1, "stratus \(line): \(refused.errors)")
            #expect(refused.errors.contains("--force"), "stratus \(line): \(refused.errors)")
            let told = try await run("\(line) --dry-run --force --store store --json").object()
            #expect(told["dryRun"] as? Bool == true)
            #expect(told["records"] as? Int == 9)
            #expect((told["would"] as? String)?.contains("9 records") == true)
        }
        let answers = try await ToolRun.shell(
            """
            command -v script > /dev/null || exit 77
            for answer in n yes; do
              (echo $answer) | TERM=dumb script -qec '"$TOOL" rm /tree/a -r --store store' /dev/null; echo " exit $?"
            done
            """, in: directory)
        if answers.status == 77 { try Test.cancel("there is no 'script' here to make a terminal") }
        #expect(answers.output.contains("About to delete 5 records: tree/a and all below."), "\(answers.output)")
        #expect(answers.output.contains("the answer was not yes"))
        #expect(answers.output.contains("deleted 5 records"))
    }

    @Test("a path to two records is refused, and record names still identify each")
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

    @Test("a failure to write the output is an error")
    func fullDisk() async throws {
        for line in ["ls / --store store", "--help", "export - --store store"] {
            let full = try await run("\(line) > /dev/full")
            #expect(full.status == 1, "\(line): \(full.errors)")
            #expect(full.errors.contains("no space left"), "\(line): \(full.errors)")
            let closed = try await run("\(line) >&-")
            #expect(closed.status == 1, "\(line): \(closed.errors)")
            #expect(closed.errors.contains("open for writing"), "\(line): \(closed.errors)")
        }
    }

    @Test("a record that is moved to where it is stays there")
    func moveNowhere() async throws {
        let parent = try await run("ls --store store").lines.count
        let run = try await run("move /tree/a --under /tree --store store")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("is already in"))
        #expect(try await self.run("ls --store store").lines.count == parent)
    }

    @Test("an export of a version that this tool does not know is refused with both versions")
    func otherExport() async throws {
        let run = try await ToolRun.shell(
            "echo '{\"stratusExport\":2}' > later; \"$TOOL\" import later --store store", in: directory)
        #expect(run.status == 1)
        for words in ["with that version", "found: 2", "supported: 1"] { #expect(run.errors.contains(words)) }
    }

    @Test("colours appear only on a terminal")
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
