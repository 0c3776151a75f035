// stratus import: a store of lines that 'stratus export' has written.

import ArgumentParser
import Foundation
import StratusModel

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a store of what 'stratus export' has written.",
        discussion: """
            The store must be empty, or not there. An import that was interrupted is taken up by the same with --resume: \
            what is there already stays as it is. Nobody is notified of anything.

            --json: {"store","accounts","zones","records","contents","known","milliseconds"}; known is how many records \
            were there already.

            Example: stratus import ./store.jsonl --store ./another-store
            """)

    @Argument(help: ArgumentHelp("The file, or '-' for standard input.", valueName: "file"))
    var file: String

    @Flag(help: "Take up an import that was interrupted.")
    var resume = false

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        let clock = ContinuousClock()
        let started = clock.now
        var reader = try LineReader(path: file)
        let count = try StoreImporter.readHead(&reader)
        Interruption.stopAtSafePoints()
        _ = try StoreSession.make(at: store.store, account: nil, mayBeServed: false)
        try StoreSession.with(store, .owningAsClient) { session in
            // A pipe has no end that could be known: there it is what its head says.
            let progress =
                reader.byteCount.map { Progress("importing", total: $0, unit: .bytes, on: console) }
                ?? Progress("importing", total: count, on: console)
            defer { progress.finish() }
            let countsBytes = reader.byteCount != nil
            var importer = try StoreImporter(session, resumes: resume) { progress.update(countsBytes ? $1 : $0) }
            do {
                try importer.run(&reader)
                try session.finishIndexes(console)
            } catch let error as ToolError where error.code == .interrupted {
                throw ToolError(
                    .interrupted, "Interrupted; what is done stays: say --resume to go on.", ["store": session.path])
            }
            let counts = importer.counts
            try console.line("imported \(counts.text) into \(VisibleText.of(store.store))")
            var object: JSONObject = ["store": .string(store.store)]
            for (key, value) in counts.object.members { object.add(key, value) }
            object.add("known", JSONValue(importer.knownRecordCount))
            object.add("milliseconds", Quantities.milliseconds(clock.now - started))
            try console.object(object)
        }
        try console.flush()
    }
}
