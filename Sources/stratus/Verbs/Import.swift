// stratus import: creates a store from the lines of 'stratus export'.

import ArgumentParser
import Foundation
import StratusKit
import StratusStore

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates a store from an export.",
        discussion: """
            The store must be empty or not exist. An import that fails leaves nothing behind. After an import that was \
            interrupted or killed, run the same command with --resume: it keeps what is there, also if it fails. An \
            import sends no notifications.

            --json: {"store","accounts","zones","records","contents","known","milliseconds"}; known is the number of \
            records that already existed.

            Example: stratus import ./store.jsonl --store ./another-store
            """)

    @Argument(help: ArgumentHelp("The file, or '-' for standard input.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Continue an interrupted run.")
    var resume = false

    @OptionGroup var store: WholeStoreArguments

    private var address: StoreAddress { StoreAddress(parsing: store.store) }

    func run() throws {
        let console = Console(usesJSON: store.json)
        let started = ContinuousClock.now
        var reader = try LineReader(path: file)
        let count = try StoreImporter.readHead(&reader)
        StopSignal.stopAtSafePoints()
        let isOnServer = address.isServer
        let isEmptyDirectory =
            !isOnServer && (try? FileManager.default.contentsOfDirectory(atPath: store.store))?.isEmpty == true
        if !isOnServer { try StorePath.requireOutside(store.store) }
        let isNew = !isOnServer && Self.makeDirectory(store.store)
        // Whether the directory is this import's own, or the store was empty when this import had it alone. What others
        // have put there meanwhile stays.
        var isOwn = isNew
        do {
            _ = try StoreSession.make(at: store.store, account: nil, mayBeServed: false)
            try StoreSession.with(store, .owningAsClient) { session in
                // The size of a pipe is unknown: there the total is the count in the first line.
                let progress =
                    reader.byteCount.map { ProgressLine("importing", total: $0, unit: .bytes, on: console) }
                    ?? ProgressLine("importing", total: count, on: console)
                let countsBytes = reader.byteCount != nil
                // Throws if the store is not empty: then others have filled it.
                isOwn = false
                var importer = try StoreImporter(session, resumes: resume) { progress.update(countsBytes ? $1 : $0) }
                isOwn = true
                do {
                    try run(&importer, &reader, session, console)
                    try report(importer, .now - started, console)
                } catch {
                    if leavesNothing(error), !isNew, !isEmptyDirectory { Self.empty(session) }
                    throw error
                }
            }
        } catch {
            let isHeld = StoreError.Code(of: error) == .held
            if leavesNothing(error), !isHeld, isOwn || isEmptyDirectory && StoreFiles.isBegun(store.store) {
                remove(isNew: isNew, isEmptyDirectory: isEmptyDirectory)
            }
            throw error
        }
    }

    private func run(
        _ importer: inout StoreImporter, _ reader: inout LineReader, _ session: StoreSession, _ console: Console
    ) throws {
        do {
            try importer.run(&reader)
            try session.finishIndexes(console)
        } catch let error as ToolError where error.code == .interrupted {
            throw ToolError(
                .interrupted, "Interrupted; finished work is kept. Run the command again with --resume to continue.",
                ["store": session.path])
        }
    }

    private func report(_ importer: StoreImporter, _ duration: Duration, _ console: Console) throws {
        let counts = importer.counts
        try console.line("imported \(counts.text) into \(VisibleText.of(address.shown))")
        try console.object(
            ["store": address.shown] + counts.object
                + ["known": importer.knownRecordCount, "milliseconds": Quantities.milliseconds(duration)])
        try console.flush()
    }

    /// Whether a failed import removes what it has written. An interrupted import keeps it for --resume; with --resume
    /// the verb cannot know what the earlier run has written.
    private func leavesNothing(_ error: any Error) -> Bool {
        !resume && (error as? ToolError)?.code != .interrupted
    }

    /// Whether another process has opened the new store. True if that cannot be determined.
    private var isHeld: Bool {
        do { return try StoreFiles.holder(of: store.store) != nil } catch { return true }
    }

    /// Creates a directory for its owner alone. False if something is there, or it cannot be created.
    private static func makeDirectory(_ path: String) -> Bool {
        let manager = FileManager.default
        let isMade: Void? = try? manager.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return isMade != nil
    }

    /// Removes a new store. A directory that existed before stays, also if it is a link.
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
            Console.note("note: the unfinished import could not be removed: remove \(VisibleText.of(store.store))")
        }
    }

    private static func empty(_ session: StoreSession) {
        do { try session.ownHost.reset() } catch {
            Console.note("note: the unfinished import could not be removed: run 'stratus reset' (\(error))")
        }
    }
}
