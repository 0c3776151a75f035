// The demonstration uses only its own data, and leaves nothing of it behind.

import Foundation
import Testing

@Suite("demo")
struct DemoTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    /// Makes a tree for the demonstration with `count` files more, and a store with a zone named demo and a guest.
    private func prepare(fileCount: Int = 1) async throws {
        try await directory.makeTree()
        let script = """
            set -e
            mkdir -p tree/d/inner && touch tree/d/inner/file && (cd tree/d && touch {1..\(fileCount)})
            for line in "zones create --zone demo" "put mine --type Note --set text=kept --zone demo" \\
                "accounts create guest-of-the-demonstration --email guest@demonstration.example"; do
                "$TOOL" $line --store store
            done
            "$TOOL" export before --store store
            """
        let made = try await shell(script)
        try #require(made.status == 0, "\(made.errors)")
    }

    /// Expects that the store has exactly its former contents.
    private func expectUnchanged(_ name: String) async throws {
        let same = try await shell("\"$TOOL\" export \(name) --store store && cmp before \(name)")
        #expect(same.status == 0, "\(name): \(same.output)\(same.errors)")
        let containers = try await shell("\"$TOOL\" containers --store store --json").objects()
        #expect(containers.map { $0["container"] as? String } == ["iCloud.default"], "\(name)")
        let verified = try await shell("\"$TOOL\" verify --store store")
        #expect(verified.lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
        let purged = try await shell("\"$TOOL\" zones purge --store store --json").object()
        #expect(purged["zonesFinished"] as? Int == 0, "\(name)")
        #expect(purged["entriesRemoved"] as? Int == 0, "\(name)")
    }

    @Test("the demonstration ends with a clean verification, each time, and leaves the store as it was")
    func demonstration() async throws {
        try await prepare()
        for number in 1...2 {
            let run = try await ToolRun.stratus("demo", "tree", "--store", "store", in: directory)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
            try await expectUnchanged("after-\(number)")
        }
        let steps = try await ToolRun.stratus("demo", "tree", "--store", "store", "--json", in: directory).objects()
        let move = try #require(steps.first { $0["step"] as? String == "move a folder into the share" })
        #expect((move["cost"] as? [String: Any])?["fsyncs"] as? Int == 1)
        let again = try #require(steps.first { $0["step"] as? String == "import it again" })
        #expect((again["cost"] as? [String: Any])?["commits"] as? Int == 0)
    }

    @Test("a demonstration that fails leaves the store as it was")
    func failing() async throws {
        try await prepare()
        let run = try await shell("mkdir small && touch small/file && \"$TOOL\" demo small --store store")
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.errors.contains("too small"), "\(run.errors)")
        try await expectUnchanged("after")
    }

    @Test("an interrupted demonstration says so, and deletes its zone and accounts first")
    func interrupted() async throws {
        try await prepare(fileCount: 3_000)
        let script = """
            "$TOOL" demo tree --store store > out 2> errors & pid=$!
            for n in {1..600}; do grep -q "import it again" out && break; sleep 0.05; done
            kill -TERM $pid; wait $pid; echo $?; cat errors
            """
        let run = try await shell(script)
        #expect(run.lines.first.map { $0 != "0" } == true, "\(run.output)")
        #expect(run.output.contains("Interrupted"), "\(run.output)")
        _ = try await shell("\"$TOOL\" zones purge --store store")
        try await expectUnchanged("after")
    }
}
