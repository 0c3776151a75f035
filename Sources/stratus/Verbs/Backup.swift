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

    @OptionGroup var store: WholeStoreArguments

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

// stratus restore: a store is made of a backup.

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

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.require(backup)
        guard (try? Disk.facts(of: Array(store.store.utf8))) == nil else {
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
