// A store is opened: itself, or, where another process holds it, a copy of it to be read, or the host's socket to write.

import Foundation
import StratusCloud
import StratusKit
import StratusRecords
import StratusStore
import Synchronization

struct OpenedStore {
    let engine: RecordEngine
    /// LevelDB's files; nil where another process has them.
    let files: StoreFiles?
    let host: (any StoreHost)?
    /// What is read, where it is a copy, and who holds the store.
    private(set) var copy: LiveCopy?
    private var holder: StoreFiles.Holder?

    private init(engine: RecordEngine, files: StoreFiles?, host: (any StoreHost)?) {
        self.engine = engine
        self.files = files
        self.host = host
    }

    /// The store at the other end of its host's socket, where it is that.
    var served: ServedStore? { host as? ServedStore }

    /// Opens the store at `path`.
    ///
    /// Throws the store's errors: `held`, `notAStore`, `newerFormat`, `notPermitted`, `diskFull`, `corruption`.
    static func open(_ path: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        try Leftovers.finish(at: path)
        LiveCopy.sweep()
        guard opening.isReading else { return try writable(path, opening) }
        if let holder = try StoreFiles.holder(of: path) { return try copy(path, opening, holder) }
        do {
            return try whole(path, opening)
        } catch {
            guard let failure = StoreFailure(error), canReadCopy(after: failure) else { throw error }
            return try copy(path, opening, StoreFiles.holder(of: path))
        }
    }

    /// Whether a copy can be read where the store itself cannot be opened: another process was faster, or the store can be
    /// read and not written.
    private static func canReadCopy(after failure: StoreFailure) -> Bool {
        switch failure {
        case .held, .notPermitted, .diskFull, .olderFormat: true
        case .unknownZone, .unknownRecord, .unknownShare, .unknownAccount, .notAStore, .newerFormat, .corruption: false
        }
    }

    /// What another process holds is written through that, where it serves and the verb is one that can be served. Else
    /// opening the store names it.
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

    /// Opens the store itself, in which no account is deleted by half.
    private static func whole(_ path: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        let opened = try direct(path, opening)
        guard Leftovers.hasDepartures(opened.engine) else { return opened }
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

    /// With `isCopy` the store is a copy to be read, whose format is of no matter to anybody.
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

    /// Closes what was opened. A copy is left to its owner.
    func close() {
        if let host { host.close() } else { files?.close() }
    }

    /// What is to be said of the store before anything is done with it.
    var notes: [String] { [copyNote, droppedCommitNote].compactMap { $0 } }

    private var droppedCommitNote: String? {
        guard let dropped = files?.droppedCommit else { return nil }
        let values = dropped.sorted { $0.key < $1.key }.map { "\($0.key)=\(VisibleText.of($0.value))" }
        return "note: a crash took part of the last commit, which was never acknowledged: it was dropped "
            + "(\(values.joined(separator: ", ")))"
    }

    /// What is to be said of a copy, and of a store that is another process's.
    private var copyNote: String? {
        guard let copy else {
            guard served != nil, let holder else { return nil }
            let command = VisibleText.of(holder.command)
            return "note: goes through process \(holder.processID) (\(command)), which has the store"
        }
        var note = "note: reads a copy of the store as of \(Quantities.date(copy.date)) UTC"
        if let holder { note += ", held by process \(holder.processID) (\(VisibleText.of(holder.command)))" }
        guard copy.copiedTableCount > 0 else { return note }
        return note + "; \(Quantities.count(copy.copiedTableCount, "table")) could not be shared: name a folder on the "
            + "store's file system by \(LiveCopy.folderVariable)"
    }

    /// Whether LevelDB has its file there. Opening says what is wrong where it has not; the face would make a store.
    static func holdsStore(_ path: String) -> Bool {
        (try? Disk.facts(of: Array("\(path)/CURRENT".utf8))) != nil
    }

    /// Opens the store as a host does. A verb does no upkeep that was not asked for, and its errors are its own.
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

// A store that is only read: what would write to it is a mistake of the verb, and in a copy it would be lost.

final class ReadingStore: OrderedStore {
    private let store: any OrderedStore
    private let isSealed = Atomic(false)

    init(_ store: any OrderedStore) { self.store = store }

    /// From here on transactions are refused: the store is laid out.
    func seal() { isSealed.store(true, ordering: .releasing) }

    func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try store.read(body) }

    func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        guard !isSealed.load(ordering: .acquiring) else {
            throw StoreError(.notPermitted, "The store was opened to be read, and the verb tried to write.")
        }
        return try store.transact(body)
    }

    var statistics: StoreStatistics { store.statistics }
    var isUnderWritePressure: Bool { store.isUnderWritePressure }

    func close() { store.close() }
}

// How a verb opens a store: what it wants of it.

extension StoreSession {
    /// How a store is opened.
    ///
    /// A store that another process holds is read from a copy of its own, as it was when the verb began, and written through
    /// that process where it serves a socket. Else, and where a verb wants the store for itself, writing throws `held`.
    enum Opening {
        /// To be read, with the engine alone.
        case reading
        /// The same with the contents of assets.
        case readingAssets
        /// To be read, with the face above the engine where the database's owner has an account.
        case readingAsClient
        /// The same with the contents of assets.
        case readingAssetsAsClient
        /// To be written, with the engine alone; the store is there.
        case existing
        /// The same with the face above the engine where the database's owner has an account.
        case existingAsClient
        /// The same for what no host does for others.
        case owningAsClient
        /// The same, and a store of an older format gets that of this software.
        case migrating
        /// With the face above the engine; store and account are made where there are none.
        case creatingAsClient
        /// The same for what no host does for others.
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
