// stratus backup and stratus restore: verified copies of a whole store, in both directions.

import ArgumentParser
import StratusKit

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates a consistent copy of a store and verifies it.",
        discussion: """
            Another process may have the store open and write to it. The backup contains the records, their assets and \
            long-lived operations. It links tables and assets if the file system allows it, and copies them otherwise. \
            The destination must not exist; it appears when the copy is complete and verified, and is removed if the \
            verb cannot report success. The verb also removes unfinished backups of killed processes from the same \
            folder.

            --json: {"destination","entries","linkedTables","copiedTables","logs","assets","operations","findings",\
            "milliseconds"}

            Example: stratus backup ./store-copy --store ./store
            """)

    @Argument(help: "The directory to create.", completion: .directory)
    var destination: String

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let path = try StoreAddress.directory(of: store.store, instead: StoreAddress.backupInstead)
        try StorePath.require(path)
        try StorePath.requireOutside(destination)
        try StoreCopy.make(
            of: path, at: destination, "copying", Console(usesJSON: store.json), report: report)
    }

    private func report(_ figures: Stratus.BackupReport, _ duration: Duration, _ console: Console) throws {
        try console.line(
            "backup: \(Quantities.count(figures.entryCount, "entry", "entries")) verified, "
                + "\(Quantities.count(figures.linkedTableCount, "table")) linked, "
                + "\(Quantities.count(figures.copiedTableCount)) copied, "
                + "\(Quantities.count(figures.assetCount, "asset")) (\(Quantities.duration(duration)))")
        for finding in figures.findings { try console.line("counted wrongly: \(VisibleText.of(finding))") }
        for path in figures.unfinishedPaths {
            try console.line("unfinished copy of a backup that is still running: \(VisibleText.of(path))")
        }
        try console.object([
            "destination": destination, "entries": figures.entryCount, "linkedTables": figures.linkedTableCount,
            "copiedTables": figures.copiedTableCount, "logs": figures.logCount, "assets": figures.assetCount,
            "operations": figures.operationCount, "findings": figures.findings,
            "milliseconds": Quantities.milliseconds(duration),
        ])
    }
}

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates a store from a backup and verifies it.",
        discussion: """
            The backup stays unchanged. The store appears when it is complete and verified. Nothing may exist at \
            --store: move the old store aside, and keep it until you trust the new one. Old change tokens expire, so \
            clients fetch everything again.

            --json: {"store","backup","entries","assets","operations","findings","milliseconds"}

            Example: stratus restore ./store-copy --store ./store
            """)

    @Argument(
        help: ArgumentHelp("The directory that 'stratus backup' created.", valueName: "backup"), completion: .directory
    )
    var backup: String

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        _ = try StoreAddress.directory(of: store.store, instead: StoreAddress.backupInstead)
        try StorePath.require(backup)
        guard (try? Disk.facts(of: store.store)) == nil else {
            throw ToolError(
                .refused, "Something already exists at the path of the new store: move it aside, or name another path.",
                ["store": store.store])
        }
        try StorePath.requireOutside(store.store)
        try StoreCopy.make(of: backup, at: store.store, "restoring", Console(usesJSON: store.json), report: report)
    }

    private func report(_ figures: Stratus.BackupReport, _ duration: Duration, _ console: Console) throws {
        try console.line(
            "restored \(VisibleText.of(store.store)): \(Quantities.count(figures.entryCount, "entry", "entries")) and "
                + "\(Quantities.count(figures.assetCount, "asset")) verified (\(Quantities.duration(duration)))")
        for finding in figures.findings { try console.line("counted wrongly: \(VisibleText.of(finding))") }
        try console.object([
            "store": store.store, "backup": backup, "entries": figures.entryCount, "assets": figures.assetCount,
            "operations": figures.operationCount, "findings": figures.findings,
            "milliseconds": Quantities.milliseconds(duration),
        ])
    }
}
