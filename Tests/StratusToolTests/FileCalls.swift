// Runs verbs in which one call that changes files is the last, or fails: a verb is killed instead of its n-th call, the
// next command runs, and the result must be the state before the verb, or the complete state after it.
//
// The state of a directory is a text: the names in it except LevelDB's own, the export of each store, the contents of
// each file, and whether the old secret can be read in any file. Dates and random values are left out.

import Foundation
import Testing

/// A verb that is killed, or in which a call fails.
struct KilledVerb: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Creates what the verb needs in addition to the store "store".
    var setUp = ":"
    /// The verb without the tool's name.
    let verb: String
    /// The next command. Every state is read with `stratus export`, which opens each existing store.
    var next = ":"
    /// Whether an ended run may leave more than the states before and after: "" if not, or else a pattern of lines
    /// (`grep -E`) that do not count.
    var passing = ""

    init(_ name: String, _ verb: String, setUp: String = ":", next: String = ":", passing: String = "") {
        testDescription = name
        self.verb = verb
        self.setUp = setUp
        self.next = next
        self.passing = passing
    }
}

/// A bench for one verb, in a directory of its own.
struct FileCallBench {
    /// What becomes of the call with a number.
    enum End: String {
        case killed = "FILECALLS_KILL"
        case failed = "FILECALLS_FAIL"
    }

    /// The result of a run with one such call.
    struct Outcome {
        /// 137 if the verb was killed.
        var status: Int32
        var state: String
        var errors: String
    }

    static let secret = "OLD-SECRET-7f3a"

    let directory: TestDirectory
    let verb: KilledVerb

    /// A store with an account, a zone, and a record whose text and whose asset's content are the secret; created once.
    private static let base = Task { () async throws -> TestDirectory in
        let directory = try TestDirectory()
        let run = try await ToolRun.shell(
            """
            set -e
            mkdir template && cd template
            "$TOOL" init --create-account local --store store
            "$TOOL" zones create --zone notes --store store
            head -c 5000 /dev/zero | tr '\\0' x > ../asset && echo \(secret) >> ../asset
            "$TOOL" put note --type Note --set title=\(secret) --set file:asset=../asset --zone notes --store store
            "$TOOL" put other --type Note --set title=short --zone notes --store store
            """, in: directory)
        try #require(run.status == 0, "\(run.output) \(run.errors)")
        return directory
    }

    /// Runs an export, a command like any other, and prints the state of the current directory.
    private static let state = """
        state() {
          "$TOOL" export - --store store > /dev/null 2>&1
          for name in *; do
            if [ -e "$name/STRATUS" ]; then
              echo "store $name"
              "$TOOL" export - --secrets --store "$name" 2> ../state-errors \\
                | sed -E 's/"(created|modified|entry|identity)":("[^"]*"|[^,}]*)//g'
              grep -v '^note: \\|^exported ' ../state-errors
            elif [[ $name == *.html ]]; then tail -1 "$name" # which says how large files were
            elif [ -f "$name" ]; then sed -E 's/[0-9]{2}:[0-9]{2}(:[0-9]{2})?//g' "$name" | cksum; fi
          done
          find . -mindepth 1 '(' -not -type d -o -not -path './*/*' ')' \\
            | grep -Ev '/([0-9]{6}[.](log|ldb)|MANIFEST-[0-9]*|[A-Z]+([.]old)?)$' \\
            | sed -E 's/[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/UUID/g' | sort
          if grep -rqs \(secret) .; then echo "the secret can be read"; fi
          :
        }
        """

    init(_ verb: KilledVerb) async throws {
        self.verb = verb
        directory = try TestDirectory()
        let base = try await Self.base.value
        let run = try await ToolRun.shell(
            "set -e\ncp -a \(base.path)/template . && cd template\n\(verb.setUp)", in: directory)
        try #require(run.status == 0, "\(run.output) \(run.errors)")
    }

    /// The library that ends and fails calls, which is built with the tool.
    static var library: String {
        URL(fileURLWithPath: ToolRun.executable).deletingLastPathComponent()
            .appendingPathComponent("libCFileCalls.so").path
    }

    /// The state before the verb.
    func stateBefore() async throws -> String {
        try await shell("rm -rf before && cp -a template before && cd before && state").output
    }

    /// The state after a whole run of it, and its calls.
    func wholeRun() async throws -> (state: String, calls: [String]) {
        let run = try await shell(
            """
            rm -rf calls after && cp -a template after && cd after
            FILECALLS_UNDER="$PWD" FILECALLS_LOG=../calls LD_PRELOAD=\(Self.library) "$TOOL" \(verb.verb) > ../log 2>&1 \\
              || { cat ../log; exit 1; }
            state
            """)
        try #require(run.status == 0, "\(verb.verb): \(run.output) \(run.errors)")
        let calls = try String(contentsOfFile: "\(directory.path)/calls", encoding: .utf8)
        return (
            run.output, calls.split(separator: "\n").map { String($0).replacing("\(directory.path)/after", with: ".") }
        )
    }

    /// Runs the verb, which the call with this number ends or fails, then the next command, and reads the state.
    /// `plant` runs before the next command.
    func run(_ end: End, at number: Int, plant: String = ":") async throws -> Outcome {
        let place = "\(end.rawValue)-\(number)"
        let run = try await shell(
            """
            rm -rf \(place) && cp -a template \(place) && cd \(place)
            FILECALLS_UNDER="$PWD" \(end.rawValue)=\(number) LD_PRELOAD=\(Self.library) "$TOOL" \(verb.verb) \\
              > /dev/null 2> ../errors-\(number)
            status=$?
            \(plant)
            \(verb.next) > /dev/null 2>> ../errors-\(number)
            state
            cd .. && rm -rf \(place)
            exit $status
            """)
        let errors = try String(contentsOfFile: "\(directory.path)/errors-\(number)", encoding: .utf8)
        return Outcome(status: run.status, state: run.output, errors: errors + run.errors)
    }

    private func shell(_ script: String) async throws -> ToolRun {
        try await ToolRun.shell(Self.state + "\n" + script, in: directory)
    }

    /// A state without the allowed leftovers of an ended run.
    func judged(_ state: String) -> [Substring] {
        let lines = state.split(separator: "\n")
        guard !verb.passing.isEmpty else { return lines }
        return lines.filter { String($0).range(of: verb.passing, options: .regularExpression) == nil }
    }

    /// Kills the verb at calls, and returns what is wrong. `stride` is the distance between the tried calls; calls that
    /// rename are all tried. How many calls LevelDB makes in the background differs from run to run: a verb that ends
    /// before it is killed has done its work.
    func faults(killingEvery stride: Int, plant: String = ":") async throws -> [String] {
        let before = judged(try await stateBefore())
        let (whole, calls) = try await wholeRun()
        let after = judged(whole)
        var faults: [String] = []
        var killedCount = 0
        for number in 1...calls.count + 1 {
            let call = number <= calls.count ? calls[number - 1] : "the end"
            guard number % stride == 0 || number > calls.count || Self.isNaming(call) else { continue }
            let outcome = try await run(.killed, at: number, plant: plant)
            let state = judged(outcome.state)
            if outcome.status == 137 { killedCount += 1 }
            if state != after, state != before || outcome.status != 137 {
                faults.append(
                    "killed at call \(number), \(call), status \(outcome.status): \(outcome.errors)\n"
                        + difference(state, before, after))
            }
        }
        if killedCount == 0, stride <= calls.count { faults.append("never killed") }
        return faults
    }

    /// Whether the call creates a name that is not LevelDB's own.
    private static func isNaming(_ call: String) -> Bool {
        ["rename", "link"].contains { call.hasPrefix($0) } && !["CURRENT", "LOG.old"].contains { call.hasSuffix($0) }
    }

    func difference(_ state: [Substring], _ before: [Substring], _ after: [Substring]) -> String {
        func lines(_ lines: [Substring]) -> String { lines.map { "  \($0.prefix(160))" }.joined(separator: "\n") }
        let known = Set(before).union(after)
        return "new:\n\(lines(state.filter { !known.contains($0) }))\nnot as before:\n"
            + "\(lines(before.filter { !state.contains($0) }))\nnot as after:\n\(lines(after.filter { !state.contains($0) }))"
    }
}
