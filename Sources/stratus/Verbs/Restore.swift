// stratus restore: a store is made of a backup.

import ArgumentParser
import Foundation
import StratusKit

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a store of a backup, and verifies it.",
        discussion: """
            The backup is left as it is. The store appears only when it is complete and verified. There must be none at \
            --store: move the old one aside, which keeps it until the new one is trusted. Change tokens of clients from \
            before are refused, so that they fetch what they have anew.

            --json: {"store","backup","entries","assets","operations","findings","milliseconds"}

            Example: stratus restore ./store-copy --store ./store
            """)

    @Argument(
        help: ArgumentHelp("The directory that 'stratus backup' has made.", valueName: "backup"), completion: .directory
    )
    var backup: String

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.require(backup)
        guard (try? FileSystem.facts(of: Array(store.store.utf8))) == nil else {
            throw ToolError(
                .refused, "There is something at the store's place: move it aside, or name another place.",
                ["store": store.store])
        }
        try StorePath.requireOutside(store.store)
        let clock = ContinuousClock()
        let started = clock.now
        try StoreCopy.make(of: backup, at: store.store, "restoring", console) { figures in
            try report(figures, clock.now - started, console)
        }
    }

    private func report(_ figures: Stratus.BackupReport, _ duration: Duration, _ console: Console) throws {
        try console.line(
            "restored \(VisibleText.of(store.store)): \(Quantities.count(figures.entryCount, "entry", "entries")) and "
                + "\(Quantities.count(figures.assetCount, "asset")) verified (\(Quantities.duration(duration)))")
        for finding in figures.findings { try console.line("counted wrongly: \(VisibleText.of(finding))") }
        try console.object([
            "store": .string(store.store), "backup": .string(backup), "entries": JSONValue(figures.entryCount),
            "assets": JSONValue(figures.assetCount), "operations": JSONValue(figures.operationCount),
            "findings": .array(figures.findings.map { .string($0) }),
            "milliseconds": Quantities.milliseconds(duration),
        ])
    }
}
