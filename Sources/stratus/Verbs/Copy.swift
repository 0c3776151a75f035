// stratus copy and stratus renew-incarnations: moves a whole store to another engine, and expires the positions that
// clients have in a store that was restored by other means.

import ArgumentParser
import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct CopyStore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies a whole store into another one, also of another engine.",
        discussion: """
            FROM and TO are each a directory or a URL of PostgreSQL (postgresql://…). The copy contains the records, \
            their assets and long-lived operations, in one moment: what is committed to FROM afterwards is not in it, \
            so stop its host first if you want to move. TO must not exist, or hold no data.

            An interrupted copy is no store: every verb and host refuses it. Run the same command with --resume to \
            finish it, which writes only what is missing and takes over what FROM has changed; or remove it. At the \
            end the verb compares the number and the digest of all entries of both sides, verifies the copy, and \
            expires all change tokens, so clients of the copy fetch everything again.

            Passwords in a URL are not shown, but other users of the machine can see them: use a password file \
            (PGPASSFILE).

            --json: {"from","to","entries","changedEntries","digest","assets","operations","findings","milliseconds"}; \
            digest is the SHA-256 of all copied entries, without the numbers by which a server stores assets.

            Example: stratus copy ./store postgresql://stratus@db.example.com/notes
            Example: stratus copy ./store ./other --resume
            """)

    @Argument(help: ArgumentHelp("The store to copy: a directory or a URL.", valueName: "from"), completion: .directory)
    var source: String

    @Argument(help: ArgumentHelp("Where to: a directory or a URL.", valueName: "to"), completion: .directory)
    var target: String

    @Flag(help: "Continue an interrupted run.")
    var resume = false

    @Flag(name: .long, help: "Print JSON: one object per line, errors as {\"error\":…} on standard error.")
    var json = false

    func run() throws {
        let console = Console(usesJSON: json)
        let started = ContinuousClock.now
        let (from, to) = (StoreAddress(parsing: source), StoreAddress(parsing: target))
        try checkPaths(from, to)
        // Before the snapshot: an operation that is answered meanwhile is sent again from the copy. In another order
        // it could be gone without its effect.
        let operations = try CopiedOperations()
        defer { operations.remove() }
        if case .directory(let path) = from { try operations.take(from: path) }
        let report = try StoreSession.with(SourceOptions(store: source, json: json), .readingAssets) { session in
            if from.isServer { try operations.take(from: session.engine) }
            let target = try TargetStore.open(to, resuming: resume)
            defer { target.store.close() }
            if !json { for notice in target.notices { Console.note(notice) } }
            let progress = ProgressLine("copying", on: console)
            var copier = StoreCopier(
                from: session.engine, to: target.store, assets: (session.assets, target.assets),
                draw: { UUID.drawn() },
                copyOperations: { engine, progress in
                    // Before the target counts as a store, so that no whole store has two formats.
                    try target.adoptFormat()
                    return try operations.put(into: to, engine, progress: progress)
                },
                progress: { told in
                    progress.update(told.part.words, told.doneCount, of: told.totalCount, told.part.unit)
                })
            do {
                return try StopSignal.noting(Self.interruptedNote) { try copier.run(resuming: resume) }
            } catch let error as StoreError where error.code == .invalidRequest {
                // What the copier finds in the target.
                throw error.adding(["target": to.shown])
            }
        }
        try show(report, from, to, .now - started, console)
    }

    private static let interruptedNote = "interrupted: the copy is unfinished: run the same command with --resume"

    /// Throws `notFound` if there is nothing to copy, and `refused` if the paths are wrong.
    private func checkPaths(_ from: StoreAddress, _ to: StoreAddress) throws {
        if case .directory(let path) = from {
            try StorePath.require(path)
            try Leftovers.finish(at: path)
        }
        guard case .directory(let path) = to else {
            guard from != to else { throw Self.same(to) }
            return
        }
        let places = [from, to].compactMap { address -> URL? in
            guard case .directory(let path) = address else { return nil }
            return URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath()
        }
        guard Set(places).count == places.count else { throw Self.same(to) }
        try StorePath.requireOutside(path)
    }

    private static func same(_ address: StoreAddress) -> ToolError {
        ToolError(.refused, "A store cannot be copied onto itself: name another place.", ["store": address.shown])
    }

    private func show(
        _ report: StoreCopyReport, _ from: StoreAddress, _ to: StoreAddress, _ duration: Duration, _ console: Console
    ) throws {
        try console.line(
            "copied \(VisibleText.of(from.shown)) to \(VisibleText.of(to.shown)): "
                + "\(Quantities.count(report.entryCount, "entry", "entries")), "
                + "\(Quantities.count(report.contentCount, "asset")), "
                + "\(Quantities.count(report.operationCount, "operation")) (\(Quantities.duration(duration)))")
        for finding in report.findings { try console.line("also in the source: \(VisibleText.of(finding))") }
        try console.object([
            "from": from.shown, "to": to.shown, "entries": report.entryCount,
            "changedEntries": report.changedEntryCount, "digest": Hex.text(report.digest),
            "assets": report.contentCount, "operations": report.operationCount, "findings": report.findings,
            "milliseconds": Quantities.milliseconds(duration),
        ])
        try console.flush()
    }
}

/// The store that is copied, as the options of a session.
private struct SourceOptions: StoreOptions {
    let store: String
    let json: Bool
    var database: DatabaseChoice { .standard }
}

/// The store that gets the copy.
private struct TargetStore {
    let store: any OrderedStore
    /// The contents of assets of an engine over the store.
    let assets: (RecordEngine) -> AssetStore
    /// Writes this software's format to the marker of a directory, which may be of an older one.
    var adoptFormat: () throws -> Void = {}
    /// What an operator should know of the server, as notes.
    var notices: [String] = []

    static func open(_ address: StoreAddress, resuming: Bool) throws -> TargetStore {
        switch address {
        case .directory(let path):
            let (store, adoptFormat) = try StoreFiles.openTarget(path, resuming: resuming)
            return TargetStore(store: store, assets: { _ in LiveCopy.assets(in: path) }, adoptFormat: adoptFormat)
        case .server(let url):
            let (store, notices) = try StoreServer.openTarget(url)
            return TargetStore(store: store, assets: { StoreServer.contents(over: $0) }, notices: notices)
        }
    }
}

/// The long-lived operations of the source as files, while the rest is copied.
private struct CopiedOperations {
    private let scratch: StoreFiles.Scratch
    private var directory: String { scratch.path + "/operations" }

    init() throws {
        scratch = try StoreFiles.Scratch.make(in: FileManager.default.temporaryDirectory.path, for: .importing)
    }

    /// Takes those beside a store in a directory.
    func take(from path: String) throws { _ = try Stratus.copyOperations(path + "/operations", to: directory) }

    /// Takes those in a store.
    func take(from engine: RecordEngine) throws { _ = try Stratus.copyOperations(of: engine, to: directory) }

    /// Puts them into the target, in place of what an interrupted copy has left. Returns their number.
    func put(
        into address: StoreAddress, _ engine: RecordEngine, progress: @escaping WorkMeter.Listener
    ) throws -> Int {
        guard case .directory(let path) = address else {
            return try Stratus.copyOperations(directory, into: engine, progress: progress)
        }
        return try Stratus.copyOperations(directory, to: path + "/operations", replacing: true, progress: progress)
    }

    func remove() { scratch.remove() }
}

extension StoreCopyProgress.Part {
    /// The part in words that follow "copying".
    fileprivate var words: String {
        switch self {
        case .entries: "entries"
        case .digest: "and comparing entries"
        case .contents: "assets"
        case .contentBytes: "and verifying assets"
        case .verification: "and verifying indexes"
        case .operations: "long-lived operations"
        case .incarnations: "and expiring tokens of zones"
        }
    }

    fileprivate var unit: ProgressUnit { self == .contentBytes ? .bytes : .items }
}

struct RenewIncarnations: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Expires all change tokens of a store, after it was restored or moved by other means.",
        discussion: """
            Clients keep positions in a store's feeds, and must not use them with a copy that has other changes. \
            'stratus restore', 'stratus copy' and 'stratus repair' do this by themselves. Run this verb after \
            PostgreSQL has restored a backup, and after you have copied a store's files yourself. Clients fetch \
            everything again. Records stay as they are.

            --json: {"store","zones"}

            Example: stratus renew-incarnations --store postgresql://stratus@db.example.com/notes
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        try StoreSession.with(store, .owningAsClient) { session, console in
            let progress = ProgressLine("expiring tokens of zones", on: console)
            let count = try session.engine.renewIncarnations(draw: { UUID.drawn() }) { progress.update($0, of: $1) }
            try console.line("expired all change tokens: \(Quantities.count(count, "zone"))")
            try console.object(["store": session.path, "zones": count])
        }
    }
}
