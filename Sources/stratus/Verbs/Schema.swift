// stratus schema: shows, imports and exports the record types of a container.

import ArgumentParser
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords

struct Schema: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows, imports and exports the schema of a container.",
        discussion: "Example: stratus schema --container iCloud.com.example.app --store ./store",
        subcommands: [ShowSchema.self, ImportSchema.self, ExportSchema.self],
        defaultSubcommand: ShowSchema.self)

    struct ShowSchema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Shows the schema in Apple's schema language.",
            discussion: """
                --json: {"container","schema"}

                Example: stratus schema show --store ./store
                """)

        @OptionGroup var store: StoreArguments

        func run() throws {
            try Schema.withText(store) { container, text, console in
                for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                    try console.line(VisibleText.of(String(line)))
                }
                try console.object(["container": container, "schema": text])
            }
        }
    }

    struct ImportSchema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Replaces the schema with that of a .ckdb file.",
            discussion: """
                The file is the whole schema. Types and fields that it leaves out are removed from the schema and \
                listed; records keep them. Every type in the file counts as imported: from then on, a query that names \
                a field without an entry in the schema is refused, in development too (X-31). The verb fills the \
                indexes that the file declares; if that is interrupted, the next run or host continues. If the file \
                has a mistake, the error names its line and column, and nothing changes.

                --json: {"container","bytes","forgotten"}, where forgotten lists types and fields: "Note", "Note.title"

                Example: stratus schema import ./app.ckdb --store ./store
                """)

        @Argument(help: ArgumentHelp("The file, or '-' for standard input.", valueName: "file"), completion: .file())
        var file: String

        @OptionGroup var store: StoreArguments

        func run() throws {
            let text = try TextFile.contents(of: file)
            let container = store.database.container
            try StoreSession.with(store, .existingAsClient) { session, console in
                let old = try Schema.names(in: container, session)
                try session.host.importSchema(text, intoContainer: container)
                let forgotten = old.subtracting(try Schema.names(in: container, session)).sorted()
                StopSignal.stopAtSafePoints()
                try session.finishIndexes(console)
                try console.line("the schema of \(VisibleText.of(container)) is that of \(VisibleText.of(file))")
                for name in forgotten { try console.line("forgotten: \(VisibleText.of(name))") }
                try console.object(["container": container, "bytes": text.utf8.count, "forgotten": forgotten])
            }
        }
    }

    struct ExportSchema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Writes the schema to a .ckdb file for 'stratus schema import'.",
            discussion: """
                The file does not say which types were imported and which were learnt from records. To copy a store \
                with these marks, use 'stratus export' and 'stratus import'.

                --json: {"container","file","bytes"}

                Example: stratus schema export ./app.ckdb --store ./store
                """)

        @Argument(help: "The file to create. It must not exist.", completion: .file())
        var file: String

        @OptionGroup var store: StoreArguments

        func run() throws {
            try Schema.withText(store) { container, text, console in
                try TextFile.create(file, text)
                try console.line("wrote the schema of \(VisibleText.of(container)) to \(VisibleText.of(file))")
                try console.object(["container": container, "file": file, "bytes": text.utf8.count])
            }
        }
    }

    /// The types of a container, and their fields: "Note", "Note.title".
    private static func names(in container: String, _ session: StoreSession) throws -> Set<String> {
        let schema = try session.engine.read {
            try session.service.schemaKeeper.schema(of: ContainerName(container), in: $0)
        }
        let fields = schema.types.values.flatMap { type in type.fields.keys.map { "\(type.name.text).\($0.text)" } }
        return Set(fields + schema.types.keys.map(\.text))
    }

    private static func withText(
        _ store: StoreArguments, _ body: (_ container: String, _ text: String, Console) throws -> Void
    ) throws {
        let container = store.database.container
        try StoreSession.with(store, .readingAsClient) { session, console in
            try body(container, session.ownHost.exportSchema(ofContainer: container), console)
        }
    }
}
