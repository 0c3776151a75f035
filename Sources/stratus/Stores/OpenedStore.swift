// Opens a store: the store itself, or, if another process holds it, a copy for reading or the host's socket for
// writing.

import Foundation
import StratusCloud
import StratusKit
import StratusRecords
import StratusStore
import Synchronization

struct OpenedStore {
    let engine: RecordEngine
    /// LevelDB's files; nil if another process has them, or a server the store.
    let files: StoreFiles?
    let host: (any StoreHost)?
    /// The contents of assets, if they are in the store.
    var contents: AssetStore?
    /// What the operator of a server should know, as notes.
    var notices: [String] = []
    /// Asks the server that has the store for its figures; nil for a store in a directory.
    var serverFigures: (() throws -> StoreServer.Figures)?
    /// Closes a store that has neither files nor a host.
    var onClose: () -> Void = {}
    /// The copy that is read, if it is one, and the process that holds the store.
    private(set) var copy: LiveCopy?
    private var holder: StoreFiles.Holder?

    init(engine: RecordEngine, files: StoreFiles?, host: (any StoreHost)?) {
        (self.engine, self.files, self.host) = (engine, files, host)
    }

    /// The host's socket, if the store is used through one.
    var served: ServedStore? { host as? ServedStore }

    /// Opens the store at an address.
    ///
    /// Throws the store's errors: `held`, `notAStore`, `newerFormat`, `notPermitted`, `diskFull`, `corruption`,
    /// `unavailable`.
    static func open(_ address: StoreAddress, _ opening: StoreSession.Opening) throws -> OpenedStore {
        switch address {
        case .directory(let path): try open(path, opening)
        case .server(let url): try StoreServer.open(url, opening)
        }
    }

    private static func open(_ path: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        try Leftovers.finish(at: path)
        LiveCopy.sweep()
        guard opening.isReading else { return try writable(path, opening) }
        if let holder = try StoreFiles.holder(of: path) { return try copy(path, opening, holder) }
        do {
            return try whole(path, opening)
        } catch {
            // Another process was faster, or the store can be read and not written.
            guard let code = StoreError.Code(of: error),
                [.held, .notPermitted, .diskFull, .olderFormat].contains(code)
            else { throw error }
            return try copy(path, opening, StoreFiles.holder(of: path))
        }
    }

    /// Opens the store for writing: through the process that holds it, if that serves it and may serve the verb.
    /// Otherwise opening it throws `held` with the name of that process.
    private static func writable(_ path: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        if opening.mayBeServed, holdsStore(path), let holder = try StoreFiles.holder(of: path),
            let served = try ServedStore(directory: path)
        {
            var opened = OpenedStore(engine: served.engine, files: nil, host: served)
            opened.holder = holder
            return opened
        }
        return try whole(path, opening)
    }

    /// Opens the store itself, and first finishes the deletion of accounts that was interrupted.
    private static func whole(_ path: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        let opened = try direct(path, opening)
        // If this cannot be read, the verb reports the error later.
        let departures = try? opened.engine.read { try AccountDirectory().departures(limit: 1, in: $0) }
        guard departures?.isEmpty == false else { return opened }
        if let stratus = opened.host as? Stratus {
            Leftovers.finishDepartures(of: stratus)
            return opened
        }
        opened.close()
        if let stratus = try? openStratus(path) {
            Leftovers.finishDepartures(of: stratus)
            stratus.close()
        }
        return try direct(path, opening)
    }

    /// Opens the store itself. With `isCopy` it is a private copy, and its format may be older or migrated.
    private static func direct(
        _ path: String, _ opening: StoreSession.Opening, isCopy: Bool = false
    ) throws -> OpenedStore {
        if opening.mayCreate, !holdsStore(path) { try StorePath.requireOutside(path) }
        guard opening.mayCreate || (opening.wantsFace && holdsStore(path)) else {
            let files = try StoreFiles.open(
                path, isReading: opening.isReading, olderFormat: isCopy ? .kept : .refused)
            return OpenedStore(engine: files.engine, files: files, host: nil)
        }
        let stratus = try openStratus(path, migrating: isCopy || opening == .migrating)
        do {
            let engine = try stratus.service.engine
            return OpenedStore(engine: engine, files: try StoreFiles(ofOpen: engine, path: path), host: stratus)
        } catch {
            stratus.close()
            throw error
        }
    }

    private static func copy(
        _ path: String, _ opening: StoreSession.Opening, _ holder: StoreFiles.Holder?
    ) throws -> OpenedStore {
        var (copy, opened) = try LiveCopy.make(of: path, withAssets: opening.wantsAssets) {
            try direct($0, opening, isCopy: true)
        }
        opened.copy = copy
        opened.holder = holder
        return opened
    }

    /// Closes the store. Does not remove a copy.
    func close() {
        if let host { host.close() } else { files?.close() }
        onClose()
    }

    /// Shows what a person should know before the verb begins. With JSON it shows nothing.
    func showNotes(usesJSON: Bool) {
        guard !usesJSON else { return }
        for note in [copyNote, droppedCommitNote].compactMap({ $0 }) + notices { Console.note(note) }
    }

    private var droppedCommitNote: String? {
        guard let dropped = files?.droppedCommit else { return nil }
        let values = dropped.sorted { $0.key < $1.key }.map { "\($0.key)=\(VisibleText.of($0.value))" }
        return "note: a crash cut off the last commit before it was acknowledged; it was dropped "
            + "(\(values.joined(separator: ", ")))"
    }

    /// The note about a copy, or about a store that another process has.
    private var copyNote: String? {
        guard let copy else {
            guard served != nil, let holder else { return nil }
            let command = VisibleText.of(holder.command)
            return "note: going through process \(holder.processID) (\(command)), which has the store"
        }
        var note = "note: reading a copy of the store as of \(Quantities.date(copy.date)) UTC"
        if let holder { note += ", held by process \(holder.processID) (\(VisibleText.of(holder.command)))" }
        guard copy.copiedTableCount > 0 else { return note }
        return note + "; \(Quantities.count(copy.copiedTableCount, "table")) could not be shared: set "
            + "\(LiveCopy.folderVariable) to a folder on the store's file system"
    }

    /// Whether LevelDB's CURRENT file exists. Without it, `StoreFiles.open` reports what is wrong; `Stratus.open` would
    /// create a store.
    static func holdsStore(_ path: String) -> Bool {
        (try? Disk.facts(of: "\(path)/CURRENT")) != nil
    }

    /// Opens the store as a host does, but without upkeep and without a log.
    static func openStratus(_ path: String, migrating: Bool = false) throws -> Stratus {
        var options = Stratus.Options()
        options.migratesOlderFormat = migrating
        options.upkeepIntervalSeconds = nil
        options.cacheByteCount = StoreFiles.cacheByteCount
        options.writeBufferByteCount = StoreFiles.writeBufferByteCount
        options.logger = nil
        return try Stratus.open(at: URL(fileURLWithPath: path), options: options)
    }
}

/// A store that is only read. A write would be a mistake of the verb, and would be lost in a copy.
final class ReadingStore: OrderedStore {
    private let store: any OrderedStore
    private let isSealed = Atomic(false)

    init(_ store: any OrderedStore) { self.store = store }

    /// Refuses transactions from now on. Before that, opening may write what a new store needs.
    func seal() { isSealed.store(true, ordering: .releasing) }

    var isShared: Bool { store.isShared }
    var timeline: ServerTimeline? { store.timeline }
    var isReplicated: Bool { store.isReplicated }
    var snapshotsLast: Bool { store.snapshotsLast }
    var contents: (any StoreContents)? { store.contents }

    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try store.read(scope, body)
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        guard !isSealed.load(ordering: .acquiring) else {
            throw StoreError(.notPermitted, "The store was opened for reading, and the verb tried to write.")
        }
        return try store.transact(lane: lane, body)
    }

    func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        store.watch(range, onChange)
    }

    var statistics: StoreStatistics { store.statistics }
    var isUnderWritePressure: Bool { store.isUnderWritePressure }

    func close() { store.close() }
}

extension StoreSession {
    /// How a verb opens a store.
    ///
    /// If another process holds the store, a reading verb reads a private copy from when it began, and a writing verb
    /// goes through that process if it serves a socket. Otherwise, and if the verb needs the store for itself, it
    /// throws `held`.
    enum Opening {
        /// Reads with the engine only.
        case reading
        /// Reads with the engine only, including asset contents.
        case readingAssets
        /// Reads with CloudKit's API.
        case readingAsClient
        /// Reads with CloudKit's API, including asset contents.
        case readingAssetsAsClient
        /// Writes with the engine only; the store must exist.
        case existing
        /// Writes with CloudKit's API; the store must exist.
        case existingAsClient
        /// Writes with CloudKit's API, and never through another process.
        case owningAsClient
        /// As `owningAsClient`, and migrates a store of an older format.
        case migrating
        /// Writes with CloudKit's API, and creates the store and the account if they do not exist.
        case creatingAsClient
        /// As `creatingAsClient`, and never through another process.
        case creatingForItself

        var isReading: Bool { [.reading, .readingAssets, .readingAsClient, .readingAssetsAsClient].contains(self) }
        var wantsAssets: Bool { [.readingAssets, .readingAssetsAsClient].contains(self) }
        var wantsFace: Bool {
            [.existingAsClient, .owningAsClient, .migrating, .readingAsClient, .readingAssetsAsClient].contains(self)
        }
        var mayCreate: Bool { [.creatingAsClient, .creatingForItself].contains(self) }
        var mayBeServed: Bool { [.existing, .existingAsClient, .creatingAsClient].contains(self) }
    }
}
