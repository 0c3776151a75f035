// What people meet at a shell: completions, questions, counts of one, and the commands of the README.

import Foundation
import Testing

@testable import stratus

@Suite("command line")
struct CommandLineTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    @Test("completions complete paths: directories for stores, and files for inputs and outputs")
    func completions() async throws {
        let run = try await shell(
            """
            mkdir -p stock/inner other; touch stick fields.json
            "$TOOL" --generate-completion-script bash > completions && . ./completions
            # Completes the last word, as a shell that has it under the cursor.
            complete_words() {
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMPREPLY=()
                _stratus stratus "${!#}" "${@: -2:1}" 2> /dev/null
                echo $(printf '%s\\n' "${COMPREPLY[@]}" | sed 's,/$,,' | sort)
            }
            complete_words stratus ls --store st
            complete_words stratus accounts list --store st
            complete_words stratus init --store st
            complete_words stratus import-tree st
            complete_words stratus demo st
            complete_words stratus bench --directory st
            complete_words stratus backup st
            complete_words stratus restore st
            complete_words stratus repair-losing-damaged-data st
            complete_words stratus import st
            complete_words stratus export st
            complete_words stratus schema import st
            complete_words stratus schema export st
            complete_words stratus report --output st
            complete_words stratus tree / --output st
            complete_words stratus put name --fields fi
            """)
        let folders = Array(repeating: "stock", count: 9), files = Array(repeating: "stick stock", count: 6)
        #expect(run.lines == folders + files + ["fields.json"], "\(run.output) \(run.errors)")
    }

    /// Runs the tool on a terminal with the given input; returns everything that the terminal shows.
    private func onTerminal(_ line: String, typing input: String) async throws -> [String] {
        let run = try await shell(
            "\(input) | script -qefc '\"$TOOL\" \(line) --store store' /dev/null; echo \"exit ${PIPESTATUS[1]}\"")
        return run.output.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
    }

    @Test("end of input at a question means no, and ends the question's line")
    func endOfInput() async throws {
        try await directory.importTree()
        for line in ["zones delete --zone files", "rm /tree -r", "accounts delete local", "reset"] {
            // The question appears before the terminal's input ends.
            let shown = try await onTerminal(line, typing: "{ sleep 2; printf '\\004'; sleep 2; }")
            let question = try #require(shown.firstIndex { $0.contains("Continue? [y/N]") }, "\(line): \(shown)")
            #expect(shown[question].hasSuffix("[y/N] ") || shown[question].hasSuffix("[y/N] ^D"), "\(line): \(shown)")
            #expect(shown[question + 1] == "error: Nothing was changed: the answer was not yes.", "\(line): \(shown)")
            #expect(shown.contains("exit 1"), "\(line): \(shown)")
        }
        let listed = try await shell("\"$TOOL\" ls / --store store")
        #expect(listed.status == 0)
        #expect(listed.output.hasSuffix("tree/\n"))
    }

    @Test("fields and schemas are read from pipes like from files")
    func pipes() async throws {
        let run = try await shell(
            """
            "$TOOL" init --create-account local --store store > /dev/null
            "$TOOL" zones create --zone notes --store store > /dev/null
            "$TOOL" put a --type Note --fields <(echo '{"title":{"type":"string","value":"piped"}}') \\
                --zone notes --store store > /dev/null; echo $?
            "$TOOL" get a --zone notes --store store --json | grep -c piped
            "$TOOL" schema import <(echo 'DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, GRANT READ TO "_world");') \\
                --store store > /dev/null; echo $?
            "$TOOL" put b --type Note --fields no-such-file --zone notes --store store 2> errors; echo $?
            """)
        #expect(run.lines == ["0", "1", "0", "3"], "\(run.output) \(run.errors)")
    }

    @Test("a store that no process has open can be read on a full or read-only file system")
    func fullDisk() async throws {
        let run = try await shell(
            """
            mkdir volume scratch
            unshare -m true 2> /dev/null || { echo skipped; exit; }
            unshare -m bash -e <<'END'
            mount -t tmpfs -o size=3m tests volume
            "$TOOL" init --create-account local --store volume/store > /dev/null
            "$TOOL" zones create --zone notes --store volume/store > /dev/null
            "$TOOL" put a --type Note --set title=kept --zone notes --store volume/store > /dev/null
            read_all() {
                for verb in "get a --zone notes" "ls / --zone notes" stats verify "query Note --zone notes"; do
                    "$TOOL" $verb --store volume/store > out 2> errors || { echo "failed: $verb"; cat errors; }
                done
            }
            dd if=/dev/zero of=volume/filler bs=4k 2> /dev/null || true
            cat /dev/zero >> volume/filler 2> /dev/null || true
            read_all
            STRATUS_SCRATCH=$PWD/scratch read_all
            # The folders for copies are tried in their order.
            mkdir -p volume/tmp 2> /dev/null || true
            TMPDIR=$PWD/volume read_all
            mount -o remount,ro volume
            read_all
            ls scratch
            END
            echo done
            """)
        #expect(run.lines == ["done"] || run.lines == ["skipped"], "\(run.output) \(run.errors)")
    }

    @Test("counts of one are singular")
    func singular() async throws {
        let made = try await shell(
            "mkdir one && mkfifo one/pipe && touch one/file && \"$TOOL\" import-tree one --store store")
        #expect(made.lines.first == "2 records: 1 folder, 1 file, 0 symbolic links")
        #expect(made.lines.contains("1 device, pipe or socket (skipped)"), "\(made.output)")
        let plan = try await shell("\"$TOOL\" query File --where \"name == 'file'\" --explain --store store")
        #expect(plan.lines.last == "1 result", "\(plan.output)")
        #expect(plan.output.contains("1 record looked at, 1 found"), "\(plan.output)")
        #expect(plan.output.contains(", 1 entry;"), "\(plan.output)")
        for problem in FileProblem.allCases {
            let (one, two) = (problem.text(count: 1), problem.text(count: 2))
            #expect(one.hasPrefix("1 "))
            #expect(two.hasPrefix("2 "))
            #expect((one == "1" + two.dropFirst()) == (problem == .vanished))
        }
        #expect(FileProblem.unreadableFile.text(count: 1) == "1 file that cannot be read (saved without SHA-256)")
        #expect(FileProblem.unreadableFolder.text(count: 2).hasPrefix("2 folders that cannot be read (their"))
        #expect(Quantities.count(1, "entry", "entries") == "1 entry")
        #expect(Quantities.count(0, "entry", "entries") == "0 entries")
    }

    // MARK: The README

    /// The commands of the README's fenced blocks that begin with the tool's name, block by block, without their
    /// comments.
    private static func readmeBlocks() throws -> [[String]] {
        let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../README.md")
        let parts = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```")
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { part in
            part.element.split(separator: "\n").map { $0.components(separatedBy: " #")[0] }
                .filter { $0.hasPrefix("stratus ") }
        }.filter { !$0.isEmpty }
    }

    @Test("the README's commands work in order, as printed")
    func readme() async throws {
        let blocks = try Self.readmeBlocks()
        try #require(blocks.count == 2)
        #expect(blocks[0].count > 10)
        #expect(blocks[1].count >= 2)
        // A small tree replaces their large one; everything else is as printed.
        let setUp = """
            mkdir bin; ln -s "$TOOL" bin/stratus; PATH=$PWD/bin:$PATH
            mkdir -p share/doc/a share/man/man1; head -c 200000 /dev/zero > share/man/man1/cat.1; touch share/doc/a/file
            """
        let first = blocks[0].map { line in
            let local = line.replacing("import-tree /usr/share", with: "import-tree share")
            return "\(local) > out 2>&1 || { echo \"failed: $?\"; cat out; }"
        }
        let run = try await shell(setUp + "\n" + first.joined(separator: "\n") + "\ncat out")
        #expect(run.lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts", "\(run.output) \(run.errors)")
        #expect(!run.output.contains("failed"), "\(run.output)")
        // The second block is for a store that a host serves, and its commands run until they are interrupted.
        let second = blocks[1].map { line in
            """
            timeout -s INT 5 \(line) > out 2>&1; code=$?; [ $code = 0 ] || [ $code = 124 ] || { echo "failed: $code"; cat out; }
            """
        }
        let served = try await shell(
            """
            PATH=$PWD/bin:$PATH
            coproc HOST { exec "$(dirname "$TOOL")/stratus-test-program" serve store; }
            read -r -u ${HOST[0]} line; echo "$line"
            \(second.joined(separator: "\n"))
            exec {HOST[1]}>&-; wait $HOST_PID; echo $?
            """)
        #expect(served.lines == ["open", "0"], "\(served.output) \(served.errors)")
    }
}
