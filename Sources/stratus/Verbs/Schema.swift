// stratus schema: the record types of a container are shown, imported and exported.

import ArgumentParser
import Foundation
import StratusKit

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
            let console = Console(usesJSON: store.json)
            let (container, text) = try Schema.text(store)
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                try console.line(VisibleText.of(String(line)))
            }
            try console.object(["container": .string(container), "schema": .string(text)])
            try console.flush()
        }
    }

    struct ImportSchema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Replaces the schema by that of a .ckdb file.",
            discussion: """
                The file is the whole schema. Indexes that it wants are filled at once; interrupted, the next run or host \
                goes on with that. A mistake is told with its line and \
                column, and nothing is changed.

                --json: {"container","bytes"}

                Example: stratus schema import ./app.ckdb --store ./store
                """)

        @Argument(help: ArgumentHelp("The file, or '-' for standard input.", valueName: "file"))
        var file: String

        @OptionGroup var store: StoreArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            let text = try TextFile.contents(of: file)
            let container = store.database.container
            try StoreSession.with(store, .existingAsClient) { session in
                try session.host.importSchema(text, intoContainer: container)
                Interruption.stopAtSafePoints()
                try session.finishIndexes(console)
            }
            try console.line("the schema of \(VisibleText.of(container)) is that of \(VisibleText.of(file))")
            try console.object(["container": .string(container), "bytes": JSONValue(text.utf8.count)])
            try console.flush()
        }
    }

    struct ExportSchema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Writes the schema into a .ckdb file, which 'stratus schema import' takes.",
            discussion: """
                --json: {"container","file","bytes"}

                Example: stratus schema export ./app.ckdb --store ./store
                """)

        @Argument(help: "The file to make. It must not exist.")
        var file: String

        @OptionGroup var store: StoreArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            let (container, text) = try Schema.text(store)
            try TextFile.create(file, text)
            try console.line("wrote the schema of \(VisibleText.of(container)) to \(VisibleText.of(file))")
            try console.object([
                "container": .string(container), "file": .string(file), "bytes": JSONValue(text.utf8.count),
            ])
            try console.flush()
        }
    }

    private static func text(_ store: StoreArguments) throws -> (container: String, text: String) {
        let container = store.database.container
        let text = try StoreSession.with(store, .readingAsClient) { session in
            try session.ownHost.exportSchema(ofContainer: container)
        }
        return (container, text)
    }
}
