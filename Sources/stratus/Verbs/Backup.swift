// stratus backup: a consistent copy of a store, also while another process has it open.

import ArgumentParser

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a consistent copy of a store and verifies it.",
        discussion: """
            The store may be open in another process and written meanwhile. Tables are linked where the file system \
            allows it. The destination must not exist; it appears only when the copy is complete and verified.

            --json: {"destination","entries","linkedTables","copiedTables","logs","milliseconds"}

            Example: stratus backup ./store-copy --store ./store
            """)

    @Argument(help: "The directory to make.")
    var destination: String

    @OptionGroup var store: StoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let clock = ContinuousClock()
        let started = clock.now
        let figures = try StoreSession.backup(from: store.store, to: destination)
        let duration = clock.now - started
        try console.line(
            "backup: \(Quantities.count(figures.entryCount)) entries verified, "
                + "\(Quantities.count(figures.linkedTableCount)) tables linked, "
                + "\(Quantities.count(figures.copiedTableCount)) copied (\(Quantities.duration(duration)))")
        for path in figures.unfinishedPaths {
            try console.line("unfinished, of a backup that still runs or was killed: \(VisibleText.of(path))")
        }
        try console.object([
            "destination": .string(destination), "entries": JSONValue(figures.entryCount),
            "linkedTables": JSONValue(figures.linkedTableCount), "copiedTables": JSONValue(figures.copiedTableCount),
            "logs": JSONValue(figures.logCount), "milliseconds": Quantities.milliseconds(duration),
        ])
        try console.flush()
    }
}
