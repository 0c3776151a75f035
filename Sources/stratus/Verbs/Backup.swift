// stratus backup: a consistent copy of a store, also while another process has it open.

import ArgumentParser
import Foundation
import StratusKit

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a consistent copy of a store and verifies it.",
        discussion: """
            The store may be open in another process and written meanwhile. Records, the assets that they name and \
            long-lived operations are copied; tables and assets are linked where the file system allows it. The \
            destination must not exist; it appears only when the copy is complete and verified, and stays only where the \
            verb reports success. What a killed backup has left in the same folder is removed.

            --json: {"destination","entries","linkedTables","copiedTables","logs","assets","operations","findings",\
            "milliseconds"}

            Example: stratus backup ./store-copy --store ./store
            """)

    @Argument(help: "The directory to make.", completion: .directory)
    var destination: String

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.require(store.store)
        try StorePath.requireOutside(destination)
        let clock = ContinuousClock()
        let started = clock.now
        try StoreCopy.make(of: store.store, at: destination, "copying", console) { figures in
            try report(figures, clock.now - started, console)
        }
    }

    private func report(_ figures: Stratus.BackupReport, _ duration: Duration, _ console: Console) throws {
        try console.line(
            "backup: \(Quantities.count(figures.entryCount, "entry", "entries")) verified, "
                + "\(Quantities.count(figures.linkedTableCount, "table")) linked, "
                + "\(Quantities.count(figures.copiedTableCount)) copied, "
                + "\(Quantities.count(figures.assetCount, "asset")) (\(Quantities.duration(duration)))")
        for finding in figures.findings { try console.line("counted wrongly: \(VisibleText.of(finding))") }
        for path in figures.unfinishedPaths {
            try console.line("unfinished, of a backup that still runs: \(VisibleText.of(path))")
        }
        try console.object([
            "destination": .string(destination), "entries": JSONValue(figures.entryCount),
            "linkedTables": JSONValue(figures.linkedTableCount), "copiedTables": JSONValue(figures.copiedTableCount),
            "logs": JSONValue(figures.logCount), "assets": JSONValue(figures.assetCount),
            "operations": JSONValue(figures.operationCount),
            "findings": .array(figures.findings.map { .string($0) }),
            "milliseconds": Quantities.milliseconds(duration),
        ])
    }
}
