// stratus verify: is everything there, and does it fit together?

import ArgumentParser
import StratusRecords

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks every byte against its checksum, every index against the records, and what is counted.",
        discussion: """
            Also looked at are accounts and all that leads to them, what every account holds of its quota, the \
            contents of assets (every file, how often it is held, and what it says), and shares: what they hold, their \
            roots, who has accepted them, their URLs. Identities that occur twice, or that everybody can guess because \
            an earlier version had no random numbers, are reported too. Nothing is changed and no secret shown. Exit code 1 \
            means that something disagrees ('stratus rebuild' repairs indexes), 5 that bytes are damaged (restore a \
            backup). Stray files are shown and are no fault: orphaned contents are removed by the next host. Lists \
            the first findings of each kind, but every damaged or missing content of an asset; the counts include all. A \
            last commit that was never acknowledged, and of which a crash took part, is dropped and named, and is no fault.

            --json: {"clean","entries","damages","records","indexEntries","zones","missing","dangling","wrongCounts",\
            "identityFaults","accountFaults","assetFaults","shareFaults","subscriptionFaults","strayFiles",\
            "findings":[{"kind","place","detail"}]}, and \
            "droppedCommit":{"log","offset","byteCount","firstSequence","lastSequence"} where one was dropped

            Example: stratus verify --store ./store
            """)

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        let result = try StoreSession.with(store, .readingAssets) { session in
            let progress = Progress("verifying", total: nil, on: console)
            defer { progress.finish() }
            return try Verification(of: session, progress: progress.update)
        }
        for line in result.lines() { try console.line(line) }
        try console.object(result.object)
        try console.flush()
        guard result.indexes != nil else { throw ExitCode(ExitStatus.corruption.rawValue) }
        guard result.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
