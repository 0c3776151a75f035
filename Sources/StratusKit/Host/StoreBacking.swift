// Where the bytes of a store are. This is the only file of the target that names the engines.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusPostgres
import StratusRecords
import StratusStore

/// A place for a store.
enum HostedPlace: Sendable {
    case directory(URL)
    case memory
    /// A database on a server. The address has secrets: show only `info`.
    case server(address: String, info: ConnectionInfo)
    /// A store that a test has made.
    case given(any OrderedStore)

    /// The directory or the database that a text names.
    ///
    /// Throws `StoreError` with `invalidRequest` for a wrong address of a database, and with `unavailable` without
    /// PostgreSQL's client library.
    init(named text: String) throws {
        let isAddress = ["postgresql:", "postgres:"].contains { text.utf8.starts(with: $0.utf8) }
        self =
            isAddress
            ? .server(address: text, info: try ConnectionInfo(parsing: text))
            : .directory(URL(fileURLWithPath: text, isDirectory: true))
    }

    /// What makes two places the same; nil for stores that no other opening finds.
    enum Identity: Hashable, Sendable {
        case path(String)
        case database(ConnectionInfo.Identity)
    }

    var identity: Identity? {
        switch self {
        case .directory(let url): .path(url.path)
        case .server(_, let info): .database(info.identity)
        case .memory, .given: nil
        }
    }

    var directory: URL? {
        if case .directory(let url) = self { url } else { nil }
    }

    /// The place for people, without secrets.
    var description: String {
        switch self {
        case .directory(let url): url.path
        case .server(_, let info): info.description
        case .memory, .given: "memory"
        }
    }

    /// Whether the store is gone when it is closed.
    var isMemory: Bool {
        if case .memory = self { true } else { false }
    }
}

/// What the options say to the engine and to the record layer.
extension Stratus.Options {
    var olderFormat: OlderFormat { migratesOlderFormat ? .migrated : .refused }

    var engineOptions: RecordEngineOptions {
        var options = RecordEngineOptions()
        options.olderFormat = olderFormat
        options.ancestorCacheByteCount = max(0, hierarchyCacheByteCount)
        return options
    }

    var storeOptions: LevelDBOptions {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.opensOlderFormats = olderFormat != .refused
        // A quarter for decoded records that are read repeatedly; the rest for blocks.
        options.keptByteCount = max(0, cacheByteCount / 4)
        options.blockCacheByteCount = max(0, cacheByteCount) - options.keptByteCount
        // LevelDB's own limits.
        options.writeBufferByteCount = min(max(writeBufferByteCount, 64 << 10), 1 << 30)
        // A host that loads much data into new zones has large buffers. The same size again holds the names that are
        // new there.
        options.freshByteCount = options.writeBufferByteCount
        return options
    }
}

/// The directory for files of this process's stores that have no directory: the copies for clients, and the contents of
/// assets of stores in memory. It is removed with the last of these stores. If the process dies first, the next process
/// that opens a store removes it.
package enum MemoryDirectories {
    private static let prefix = "stratus-memory-"
    /// Used if no directory can be created: saving an asset fails, but not opening a store that may never have one.
    private static let nowhere = "/proc/none"

    private struct State {
        var directory: PrivateDirectory?
        var userCount = 0
        var lastNumber = 0
        var hasSwept = false
    }

    private static let state = Locked(State())

    /// The path of a new directory for a store. The directory does not exist yet. Give the path back.
    package static func take() -> String {
        sweep()
        return state.withLock { state in
            if state.directory == nil {
                let folder = FileManager.default.temporaryDirectory.path
                state.directory = try? PrivateDirectory.make(in: folder, prefix: prefix)
            }
            state.userCount += 1
            state.lastNumber += 1
            return "\(state.directory?.path ?? nowhere)/\(state.lastNumber)"
        }
    }

    /// Removes a directory returned by `take`. Call it once.
    package static func giveBack(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
        state.withLock { state in
            state.userCount -= 1
            guard state.userCount == 0 else { return }
            state.directory?.remove()
            state.directory = nil
        }
    }

    /// Removes what dead processes left, once in a process.
    package static func sweep() {
        guard !state.withLock({ exchange(&$0.hasSwept, with: true) }) else { return }
        PrivateDirectory.sweep(FileManager.default.temporaryDirectory.path, prefix: prefix)
    }
}

/// A store's directory; or memory or a database, with a temporary directory for files.
final class StoreBacking: Sendable {
    private let place: HostedPlace
    /// The path that a store without a directory has taken, while it is open.
    private let temporaryDirectory = Locked<String?>(nil)
    let options: Stratus.Options
    /// The store's directory while it is open; nil for a store that has none.
    let held: HeldDirectory?
    /// The format of a store on a server, which every transaction checks.
    private let format = OpenedFormat()

    private let didFailWrite: @Sendable (StoreError) -> Void
    private let onNotice: @Sendable (StoreError) -> Void

    /// `didFailWrite` is called when a write has failed, and `onNotice` with what the host should know. They must be
    /// short and must not call the store.
    init(
        place: HostedPlace, options: Stratus.Options, didFailWrite: @escaping @Sendable (StoreError) -> Void,
        onNotice: @escaping @Sendable (StoreError) -> Void
    ) {
        self.place = place
        self.options = options
        self.didFailWrite = didFailWrite
        self.onNotice = onNotice
        held = place.directory.map { HeldDirectory($0.path) }
        MemoryDirectories.sweep()
    }

    deinit { close() }

    /// What must be found when a store is reopened after a failed write.
    typealias Continuation = StoreContinuation

    /// Opens or creates the store; with `continuing`, only the store that was closed. The notices are for the host.
    /// If the store has to be emptied, `emptying` gets the number of removed files and the total.
    func open(
        continuing: Continuation? = nil, emptying: WorkMeter.Listener = { _, _ in }
    ) throws -> (store: any OrderedStore, notices: [StoreError]) {
        switch place {
        case .memory: return (try options.makeMemoryStore?() ?? MemoryStore(), [])
        case .given(let store): return (store, [])
        case .server(let address, _): return try openServer(address)
        case .directory(let directory):
            var options = options.storeOptions
            options.didFailWrite = didFailWrite
            let store = try LevelDBStore.open(
                at: directory.path, options: options, continuing: continuing, emptying: emptying)
            held?.hold(by: store.heldPath)
            return (store, store.notices)
        }
    }

    private func openServer(_ address: String) throws -> (store: any OrderedStore, notices: [StoreError]) {
        format.forget()
        var postgres = PostgresOptions(random: SystemRandom.bits)
        postgres.pool.connectionCount = max(1, options.postgresConnectionCount)
        postgres.use = options.excludesHosts ? .alone : .hosting
        postgres.announcedRanges = CloudService.announcedRanges
        postgres.leaseWaitSeconds = max(0, options.leaseWaitSeconds)
        postgres.hostName = ProcessInfo.processInfo.hostName
        postgres.onEvent = onNotice
        let (store, notices) = try PostgresStore.open(
            url: address, options: postgres,
            check: FormatCheck(key: StoreFormat.key) { [format] in try format.verify($0) })
        return (store, notices)
    }

    /// Gives a store that `open` returned, and that the engine has migrated, the current format.
    func adoptFormat(_ store: any OrderedStore) throws {
        if options.olderFormat == .migrated { try (store as? LevelDBStore)?.adoptFormat() }
    }

    /// Why a store that `open` returned takes no more writes, or nil.
    func failure(of store: any OrderedStore) -> StoreError? {
        failureToReopen(store) ?? (store as? PostgresStore)?.failure
    }

    /// The same, where reopening the store in place helps. It does not where another host has a store on a server.
    func failureToReopen(_ store: any OrderedStore) -> StoreError? { (store as? LevelDBStore)?.failure }

    /// Throws if the disk has no room for what reopening the store writes.
    func checkRoom(for store: any OrderedStore) throws { try (store as? LevelDBStore)?.checkRoom() }

    /// Closes a store that `open` returned, to reopen it. Readers may continue for `readerSeconds`.
    func closeToReopen(_ store: any OrderedStore, readerSeconds: Double) -> Continuation? {
        guard let store = store as? LevelDBStore else { return nil }
        defer { held?.lose() }
        return store.closeToReopen(readerSeconds: readerSeconds)
    }

    /// Closes a store that `open` returned.
    func close(_ store: any OrderedStore) {
        held?.hold(by: nil)
        store.close()
    }

    /// The file access for files next to the engine's.
    var files: any AssetFiles { SystemAssetFiles(in: held) }

    /// The directory for asset contents, or only for their copies. It is next to the engine's files. The first asset
    /// creates it.
    var assetDirectory: String {
        if let directory = place.directory { return directory.appendingPathComponent("assets").path }
        return temporaryDirectory.made(MemoryDirectories.take)
    }

    /// How often opening an emptied store is tried while another process has it, and the pause between attempts.
    private static let reopeningAttemptCount = 250
    private static let reopeningPauseSeconds = 0.02

    /// Marks the store so that the next opening, in any process, empties it. So it is emptied completely or not at all,
    /// however this process ends. Then call `reopenEmpty`. After an error other than `commitUnknown` the store is
    /// unchanged.
    ///
    /// A database is emptied at once, in one transaction.
    func beginEmptying(_ store: any OrderedStore) throws {
        try (store as? LevelDBStore)?.beginEmptying()
        guard let server = store as? PostgresStore else { return }
        try server.removeEverything()
        format.forget()
    }

    /// Closes the store and opens it after `beginEmptying`. A reader in another process may have opened and emptied it
    /// first. A store on a server stays open: another host could take its lease in between.
    func reopenEmpty(
        _ store: any OrderedStore, _ progress: WorkMeter.Listener
    ) throws -> (store: any OrderedStore, notices: [StoreError]) {
        // A store without a directory has files elsewhere.
        close()
        if store is PostgresStore { return (store, []) }
        close(store)
        for _ in 1..<Self.reopeningAttemptCount {
            do {
                return try open(emptying: progress)
            } catch let error as StoreError where error.code == .held {
                Thread.sleep(forTimeInterval: Self.reopeningPauseSeconds)
            }
        }
        return try open(emptying: progress)
    }

    /// Finishes emptying a store if an ended process began it. Otherwise, and if nothing is there, it does nothing.
    static func finishEmptying(ofStoreAt path: String) throws {
        guard try LevelDBStore.isBeingEmptied(path) else { return }
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.opensOlderFormats = true
        try LevelDBStore.open(at: path, options: options).close()
    }

    /// The block cache while a copy is verified.
    private static let verifyingCacheByteCount = 16 << 20

    /// Copies the engine's files of a store that may be open, and verifies the copy. Returns the engine's part of the
    /// report. `begin` gets the directory before the copy, `prepare` the verified copy before it is renamed. `progress`
    /// reports tables and their entries. `making` creates the directory.
    static func copyEngine(
        from source: String, to destination: String, progress: (BackupProgress) -> Void,
        begin: (String) throws -> Void, prepare: (any OrderedStore) throws -> Void,
        making: (_ make: () throws -> Void) throws -> Void
    ) throws -> Stratus.BackupReport {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.opensOlderFormats = true
        // The copy is read from beginning to end, mostly once.
        options.keptByteCount = 0
        options.blockCacheByteCount = verifyingCacheByteCount
        let copy = try LevelDBStore.backup(
            ofStoreAt: source, to: destination, options: options, begin: begin, prepare: prepare,
            copying: { progress(BackupProgress(part: .tables, doneCount: $0, totalCount: $1)) },
            progress: { progress(BackupProgress(part: .entries, doneCount: $0, totalCount: $1)) }, making: making)
        return Stratus.BackupReport(
            entryCount: copy.entryCount, linkedTableCount: copy.linkedTableCount,
            copiedTableCount: copy.copiedTableCount, logCount: copy.logCount, unfinishedPaths: copy.unfinishedPaths)
    }

    /// Removes the directories of unfinished copies next to `destination` whose processes have ended. Returns their
    /// paths.
    static func sweepUnfinishedCopies(besides destination: String) -> [String] {
        let folder = URL(fileURLWithPath: destination).standardizedFileURL.deletingLastPathComponent()
        return LevelDBStore.sweepUnfinishedCopies(in: folder.path)
    }

    /// Rewrites an open store's files without deleted data. Returns nil for a store without files. `progress` gets from
    /// time to time how many bytes of files were processed, and the total; if it throws, nothing more is done.
    static func compact(
        _ store: any OrderedStore, sliceByteCount: Int = LevelDBStore.compactionByteCount,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> CompactedFiles? {
        guard let store = store as? LevelDBStore else { return nil }
        let (before, after) = try store.compact(.everything, sliceByteCount: sliceByteCount, progress: progress)
        return CompactedFiles(byteCountBefore: before, byteCountAfter: after)
    }

    /// Removes what a store without a directory has on disk.
    func close() {
        if let taken = temporaryDirectory.withLock({ $0.take() }) { MemoryDirectories.giveBack(taken) }
    }
}
