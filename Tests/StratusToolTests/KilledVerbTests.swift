// Verbs that are killed, and verbs in which a call fails: they leave the state before, or the complete state after.
// `make test` tries some of their calls, `make sweeps` all.

import Foundation
import StratusTestSupport
import Testing

@Suite("verbs killed during file system calls")
struct KilledVerbTests {
    private static let export = "\"$TOOL\" export ../export --secrets --store store >> ../log && cp ../export ."

    /// Opens the store like a host, which removes an ended session's remains of assets.
    private static let migration = "\"$TOOL\" migrate --store store"

    static let verbs = [
        KilledVerb("backup", "backup copy --store store"),
        KilledVerb(
            "restore", "restore copy --store restored", setUp: "\"$TOOL\" backup copy --store store >> ../log"),
        KilledVerb(
            "repair", "repair salvaged --store plain",
            setUp: """
                "$TOOL" init --create-account local --store plain >> ../log
                "$TOOL" zones create --zone notes --store plain >> ../log
                "$TOOL" put note --type Note --set title=short --zone notes --store plain >> ../log
                """),
        KilledVerb("export", "export exported --secrets --store store"),
        KilledVerb(
            "export of a schema", "schema export exported.ckdb --store store"),
        KilledVerb("report", "report --output page.html --store store"),
        KilledVerb(
            "report over another", "report --output page.html --force --store store", setUp: "echo old > page.html"),
        KilledVerb("picture", "tree --format svg --output picture.svg --zone notes --store store"),
        KilledVerb(
            "import", "import export --store imported", setUp: export,
            next: "[ -e imported ] && \"$TOOL\" import export --resume --store imported"),
        KilledVerb(
            "put", "put third --type Note --set file:asset=../asset2 --zone notes --store store",
            setUp: "echo other content > ../asset2", next: migration,
            // New content that no record names yet, which a host's upkeep removes.
            passing: "^./store/assets/content/"),
        KilledVerb(
            "rm", "rm note --force --zone notes --store store", next: migration),
        // LevelDB drops the text of deleted records when it compacts the tables that hold it, no sooner.
        KilledVerb(
            "zones delete", "zones delete --zone notes --force --store store", next: migration, passing: "^the secret"),
        KilledVerb(
            "accounts delete", "accounts delete local --force --store store", next: migration, passing: "^the secret"),
        KilledVerb("init", "init --store another", next: "[ -e another ] && \"$TOOL\" init --store another"),
        KilledVerb("compact", "compact --store store"),
        KilledVerb(
            "copy", "copy store copied",
            setUp: """
                mkdir -p store/operations/6f70.files && echo '{}' > store/operations/6f70.operation
                echo content > store/operations/6f70.files/0
                """, next: "[ -e copied ] && \"$TOOL\" copy store copied --resume"),
    ]

    @Test("an interrupted emptying leaves the store unchanged or empty, and nothing under another name")
    func reset() async throws {
        let bench = try await FileCallBench(KilledVerb("reset", "reset --force --store store"))
        let before = try await bench.stateBefore()
        let after = try await bench.wholeRun().state
        #expect(before.contains("the secret can be read"))
        #expect(!after.contains("the secret can be read"))
        for fault in try await bench.faults(killingEvery: CaseCount.isFull ? 1 : 4) { Issue.record("\(fault)") }
    }

    @Test(
        "after the next command, a killed verb has completed its work, or done nothing",
        arguments: verbs)
    func killed(_ verb: KilledVerb) async throws {
        let bench = try await FileCallBench(verb)
        for fault in try await bench.faults(killingEvery: CaseCount.isFull ? 1 : 25) { Issue.record("\(fault)") }
    }

    private static let makers = [
        KilledVerb("backup", "backup copy --store store"),
        KilledVerb("export", "export exported --secrets --store store"),
        KilledVerb("import", "import export --store imported", setUp: export),
        KilledVerb("picture", "tree --format svg --output picture.svg --zone notes --store store"),
        KilledVerb("reset", "reset --force --store store"),
        KilledVerb(
            "restore", "restore copy --store restored", setUp: "\"$TOOL\" backup copy --store store >> ../log"),
    ]

    @Test("a verb that reports failure leaves nothing behind, whichever of its calls failed", arguments: makers)
    func failed(_ verb: KilledVerb) async throws {
        let bench = try await FileCallBench(verb)
        let before = bench.judged(try await bench.stateBefore())
        let (after, calls) = try await bench.wholeRun()
        for number in 1...calls.count {
            // The last calls are those that create a name and make it durable.
            guard CaseCount.isFull || number % 25 == 0 || number > calls.count - 6 else { continue }
            let outcome = try await bench.run(.failed, at: number)
            let state = bench.judged(outcome.state)
            let isAsTold = state == (outcome.status == 0 ? bench.judged(after) : before)
            // An emptying that has begun is completed by the next command.
            if !isAsTold, verb.testDescription == "reset", state == bench.judged(after) { continue }
            #expect(
                isAsTold,
                """
                call \(number) failed, \(calls[number - 1]), and the verb ended with \(outcome.status): \(outcome.errors)
                \(bench.difference(state, before, bench.judged(after)))
                """)
        }
    }

    @Test("an export's name is on the disk before its success is reported")
    func exportedName() async throws {
        let bench = try await FileCallBench(KilledVerb("export", "export exported --store store"))
        let calls = try await bench.wholeRun().calls
        let named = try #require(calls.firstIndex(of: "link ./exported"))
        #expect(calls[..<named].last { $0.hasPrefix("fsync ./.stratus-draft-") } != nil, "\(calls)")
        #expect(calls[named...].contains("fsync ."), "\(calls)")
    }

    @Test("the new name in CURRENT is on the disk before the files of the old one are removed")
    func nameInCurrent() async throws {
        let bench = try await FileCallBench(KilledVerb("zones create", "zones create --zone new --store store"))
        let calls = try await bench.wholeRun().calls
        let renamed = try #require(calls.firstIndex { $0.hasPrefix("rename ") && $0.hasSuffix("/CURRENT") })
        let removed = try #require(calls[renamed...].firstIndex { $0.hasPrefix("unlink ") })
        #expect(calls[renamed..<removed].contains("fsync ./store"), "\(calls)")
    }

    @Test("a failed import leaves nothing behind, in a new store and in an empty one")
    func failedImport() async throws {
        let directory = try TestDirectory()
        try await directory.importTree()
        let run = try await ToolRun.shell(
            """
            "$TOOL" export whole --store store > /dev/null
            head -n -3 whole > cut
            "$TOOL" import cut --store new 2> errors; echo $?; [ -e new ]; echo $?
            "$TOOL" init --store empty > /dev/null
            "$TOOL" export - --store empty > before 2> /dev/null
            "$TOOL" import cut --store empty 2>> errors; echo $?
            "$TOOL" export - --store empty 2> /dev/null | cmp - before; echo $?
            "$TOOL" import whole --store empty > /dev/null; echo $?
            "$TOOL" import cut --store empty 2>> errors; echo $?
            "$TOOL" export - --store empty 2> /dev/null | cmp - whole; echo $?
            ls -A
            """, in: directory)
        #expect(
            run.lines == [
                "1", "1", "1", "0", "0", "1", "0", "before", "cut", "empty", "errors", "store", "tree", "whole",
            ],
            "\(run.output) \(run.errors)")
    }

    @Test("a backup that cannot report its success leaves nothing behind")
    func unreportedBackup() async throws {
        let directory = try TestDirectory()
        let run = try await ToolRun.shell(
            """
            "$TOOL" init --store store > /dev/null
            "$TOOL" backup copy --store store > /dev/full 2> /dev/null; echo $?
            "$TOOL" restore store --store restored > /dev/full 2> /dev/null; echo $?
            ls -A
            """, in: directory)
        #expect(run.lines == ["1", "1", "store"], "\(run.output) \(run.errors)")
    }

    @Test("files of a running verb are kept, and a reader reports what it removes")
    func living() async throws {
        let directory = try TestDirectory()
        let run = try await ToolRun.shell(
            """
            "$TOOL" init --create-account local --store store > /dev/null
            killed() { # at the call with a number below a path: a verb
              env FILECALLS_KILL=$1 FILECALLS_UNDER="$2" LD_PRELOAD=\(FileCallBench.library) "$TOOL" "${@:3}" > /dev/null 2>&1
            }
            left() { ls -A | LC_ALL=C sort | grep -e stratus-draft -e incomplete | sed 's/[0-9]*-1$//'; }
            removed() { grep -c "note: removed the unfinished work of a killed verb: .*/$1" errors; }
            killed 20 "$PWD/copy.incomplete-" backup copy --store store
            mkdir notes.incomplete-1-1 && echo mine > notes.incomplete-1-1/notes
            left
            flock copy.incomplete-* "$TOOL" stats --store store 2> errors > /dev/null; removed copy.incomplete-
            "$TOOL" stats --store store 2> errors > /dev/null; removed copy.incomplete-
            left
            killed 2 "$PWD/.stratus-draft-" export exported --store store
            left
            flock .stratus-draft-* "$TOOL" stats --store store 2> errors > /dev/null; removed .stratus-draft-
            "$TOOL" stats --store store 2> errors > /dev/null; removed .stratus-draft-
            left
            cat notes.incomplete-1-1/notes
            """, in: directory)
        let notes = "notes.incomplete-1-1".dropLast(3)
        #expect(
            run.lines == [
                "copy.incomplete-", "\(notes)", "0", "1", "\(notes)", ".stratus-draft-", "\(notes)", "0", "1",
                "\(notes)",
                "mine",
            ], "\(run.output) \(run.errors)")
    }

    @Test(
        "the bench detects files that a killed verb would leave",
        arguments: [
            "mv store .store.emptied-1",
            "mkdir -p store/assets/old && echo \(FileCallBench.secret) > store/assets/old/1",
            "cp -r store store.incomplete-x-1", "\"$TOOL\" init --create-account other --store store",
        ])
    func planted(_ fault: String) async throws {
        let bench = try await FileCallBench(KilledVerb("reset", "reset --force --store store"))
        #expect(try await bench.faults(killingEvery: 1_000, plant: fault + " > /dev/null 2>&1").isEmpty == false)
    }
}
