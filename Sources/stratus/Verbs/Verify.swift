// stratus verify: is everything there, and does it fit together?

import ArgumentParser
import StratusRecords

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks every byte against its checksum and every index against the records.",
        discussion: """
            Nothing is changed. Exit code 1 means that indexes disagree with the records ('stratus rebuild' mends them), \
            5 that bytes are damaged (restore a backup).

            --json: {"clean","entries","damages","records","indexEntries","zones","missing","dangling","wrongCounts",\
            "findings":[{"kind","place","detail"}]}

            Example: stratus verify --store ./store
            """)

    @OptionGroup var store: StoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let result = try StoreSession.with(store) { session in
            let progress = Progress("verifying", total: nil, on: console)
            defer { progress.finish() }
            return try Verification(of: session) { _, done in progress.update(done) }
        }
        for line in result.lines() { try console.line(line) }
        try console.object(result.object)
        try console.flush()
        guard result.indexes != nil else { throw ExitCode(ExitStatus.corruption.rawValue) }
        guard result.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
