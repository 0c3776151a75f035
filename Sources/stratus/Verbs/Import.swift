// stratus import: a store of lines that 'stratus export' has written.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a store of what 'stratus export' has written.",
        discussion: """
            The store must be empty, or not there. An import that fails leaves nothing behind; one that was interrupted, or \
            killed, is taken up by the same with --resume: what is there already stays as it is, also where that fails. Nobody \
            is notified of anything.

            --json: {"store","accounts","zones","records","contents","known","milliseconds"}; known is how many records \
            were there already.

            Example: stratus import ./store.jsonl --store ./another-store
            """)

    @Argument(help: ArgumentHelp("The file, or '-' for standard input.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Take up an import that was interrupted.")
    var resume = false

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let clock = ContinuousClock()
        let started = clock.now
        var reader = try LineReader(path: file)
        let count = try StoreImporter.readHead(&reader)
        StopSignal.stopAtSafePoints()
        let isNew = (try? Disk.facts(of: Array(store.store.utf8))) == nil
        let isEmptyDirectory = (try? FileManager.default.contentsOfDirectory(atPath: store.store))?.isEmpty == true
        do {
            _ = try StoreSession.make(at: store.store, account: nil, mayBeServed: false)
            try StoreSession.with(store, .owningAsClient) { session in
                // A pipe has no end that could be known: there it is what its head says.
                let progress =
                    reader.byteCount.map { ProgressLine("importing", total: $0, unit: .bytes, on: console) }
                    ?? ProgressLine("importing", total: count, on: console)
                defer { progress.finish() }
                let countsBytes = reader.byteCount != nil
                // Throws where the store is not empty: then nothing was changed.
                var importer = try StoreImporter(session, resumes: resume) { progress.update(countsBytes ? $1 : $0) }
                do {
                    try take(&importer, &reader, session, console)
                    try tell(importer, clock.now - started, console)
                } catch {
                    if leavesNothing(error), !isNew, !isEmptyDirectory { Self.empty(session) }
                    throw error
                }
            }
        } catch {
            if leavesNothing(error) { remove(isNew: isNew, isEmptyDirectory: isEmptyDirectory) }
            throw error
        }
    }

    private func take(
        _ importer: inout StoreImporter, _ reader: inout LineReader, _ session: StoreSession, _ console: Console
    ) throws {
        do {
            try importer.run(&reader)
            try session.finishIndexes(console)
        } catch let error as ToolError where error.code == .interrupted {
            throw ToolError(
                .interrupted, "Interrupted; what is done stays: say --resume to go on.", ["store": session.path])
        }
    }

    private func tell(_ importer: StoreImporter, _ duration: Duration, _ console: Console) throws {
        let counts = importer.counts
        try console.line("imported \(counts.text) into \(VisibleText.of(store.store))")
        var object: JSONObject = ["store": .string(store.store)]
        for (key, value) in counts.object.members { object.add(key, value) }
        object.add("known", JSONValue(importer.knownRecordCount))
        object.add("milliseconds", Quantities.milliseconds(duration))
        try console.object(object)
        try console.flush()
    }

    /// Whether nothing of the import is to stay: what an interrupted one has done is taken up by the next, and what was there
    /// before an import that takes up another cannot be told from what that has added.
    private func leavesNothing(_ error: any Error) -> Bool {
        !resume && (error as? ToolError)?.code != .interrupted
    }

    /// Whether another process has opened what was made, as far as can be seen.
    private var isHeld: Bool {
        do { return try StoreFiles.holder(of: store.store) != nil } catch { return true }
    }

    /// Removes what was made where no store was. A directory that was there stays, whatever it is and leads to.
    private func remove(isNew: Bool, isEmptyDirectory: Bool) {
        var isGone = true
        if isNew {
            isGone = StoreFiles.removeMade(store.store)
        } else if isEmptyDirectory, !isHeld {
            let manager = FileManager.default
            for name in (try? manager.contentsOfDirectory(atPath: store.store)) ?? [] {
                if (try? manager.removeItem(atPath: "\(store.store)/\(name)")) == nil { isGone = false }
            }
        }
        if !isGone {
            Console.note("note: what was imported could not be removed: remove \(VisibleText.of(store.store))")
        }
    }

    private static func empty(_ session: StoreSession) {
        do { try session.ownHost.reset() } catch {
            Console.note("note: what was imported could not be removed: run 'stratus reset' (\(error))")
        }
    }
}
