// Where the bytes of a store lie. This is the one file of the target that names the engine.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusRecords
import StratusStore

/// How much memory a store may take.
struct StoreMemory: Sendable {
    var cacheByteCount: Int
    var hierarchyCacheByteCount: Int
    var writeBufferByteCount: Int
    var olderFormat = OlderFormat.migrated

    var engineOptions: RecordEngineOptions {
        var options = RecordEngineOptions()
        options.olderFormat = olderFormat
        options.ancestorCacheByteCount = max(0, hierarchyCacheByteCount)
        return options
    }

    var storeOptions: LevelDBOptions {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.opensOlderFormats = olderFormat != .refused
        // A quarter for records that are asked for again and again, decoded; the rest for what lies around them.
        options.keptByteCount = max(0, cacheByteCount / 4)
        options.blockCacheByteCount = max(0, cacheByteCount) - options.keptByteCount
        // LevelDB's own bounds.
        options.writeBufferByteCount = min(max(writeBufferByteCount, 64 << 10), 1 << 30)
        // Whoever loads much into new zones has large buffers: as much again tells which names are new there.
        options.freshByteCount = options.writeBufferByteCount
        return options
    }
}

/// Where stores in memory of this process keep the contents of assets and what they upload: in one directory, which goes
/// with the last of them. Where the process dies with it, the next process that opens a store removes it.
package enum MemoryDirectories {
    private static let prefix = "stratus-memory-"
    /// Where no directory can be made: saving an asset fails, and not the opening of a store that may never have one.
    private static let nowhere = "/proc/none"

    private struct State {
        var directory: PrivateDirectory?
        var userCount = 0
        var lastNumber = 0
        var hasSwept = false
    }

    private static let state = Locked(State())

    /// The path of a directory of its own for a store, which is not made yet. Give it back.
    static func take() -> String {
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

    /// Removes a directory that was taken, once.
    static func giveBack(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
        state.withLock { state in
            state.userCount -= 1
            guard state.userCount == 0 else { return }
            state.directory?.remove()
            state.directory = nil
        }
    }

    /// Removes what processes that have died have left, once in a process.
    package static func sweep() {
        let isFirst = state.withLock { state in
            defer { state.hasSwept = true }
            return !state.hasSwept
        }
        if isFirst { PrivateDirectory.sweep(FileManager.default.temporaryDirectory.path, prefix: prefix) }
    }
}

/// A directory, or memory with a temporary directory for the contents of assets.
final class StoreBacking: Sendable {
    /// Nil in memory.
    private let directory: URL?
    /// What a store in memory has taken of the process's directory, while it is open.
    private let temporaryDirectory = Locked<String?>(nil)
    let memory: StoreMemory
    /// The store's directory while it is open; nil in memory.
    let held: HeldDirectory?

    init(directory: URL?, memory: StoreMemory) {
        self.directory = directory
        self.memory = memory
        held = directory.map { HeldDirectory($0.path) }
        MemoryDirectories.sweep()
    }

    deinit { close() }

    /// What must be found when a store that was closed after a failed write is opened again.
    struct Continuation: Sendable {
        fileprivate let store: StoreContinuation
    }

    /// Opens what is there, or creates it; with `continuing` only the store that was closed. The notices are for the host.
    /// `didFailWrite` is called when a write has failed: it must be short and must not call the store. `emptying` hears how many
    /// files are removed, and of how many, where the store is to be emptied.
    func open(
        continuing: Continuation? = nil, didFailWrite: @escaping @Sendable (StoreError) -> Void,
        emptying: WorkMeter.Listener = { _, _ in }
    ) throws -> (store: any OrderedStore, notices: [StoreError]) {
        guard let directory else { return (MemoryStore(), []) }
        var options = memory.storeOptions
        options.didFailWrite = didFailWrite
        let store = try LevelDBStore.open(
            at: directory.path, options: options, continuing: continuing?.store, emptying: emptying)
        held?.hold(by: store.heldPath)
        return (store, store.notices)
    }

    /// Gives a store that `open` returned, and that the engine has migrated, the format of this software.
    func adoptFormat(_ store: any OrderedStore) throws {
        if memory.olderFormat == .migrated { try (store as? LevelDBStore)?.adoptFormat() }
    }

    /// Why a store that `open` returned takes no more writes; nil while it does.
    func failure(of store: any OrderedStore) -> StoreError? { (store as? LevelDBStore)?.failure }

    /// Throws where the disk has no room for what opening the store again writes.
    func checkRoom(for store: any OrderedStore) throws { try (store as? LevelDBStore)?.checkRoom() }

    /// Closes a store that `open` returned, to open it again. Readers may go on for `readerSeconds`.
    func closeToReopen(_ store: any OrderedStore, readerSeconds: Double) -> Continuation? {
        guard let store = store as? LevelDBStore else { return nil }
        defer { held?.lose() }
        return Continuation(store: store.closeToReopen(readerSeconds: readerSeconds))
    }

    /// Closes a store that `open` returned.
    func close(_ store: any OrderedStore) {
        held?.hold(by: nil)
        store.close()
    }

    /// The files beside the engine's.
    var files: any AssetFiles { SystemAssetFiles(in: held) }

    /// Where the contents of assets go: in a directory beside the engine's files, made with the first asset.
    var assetDirectory: String {
        if let directory { return directory.appendingPathComponent("assets").path }
        return temporaryDirectory.withLock { taken in
            let path = taken ?? MemoryDirectories.take()
            taken = path
            return path
        }
    }

    /// So often an emptied store is opened where another process has it, and so long each attempt waits for the next.
    private static let reopeningAttemptCount = 250
    private static let reopeningPauseSeconds = 0.02

    /// Whether the store is open as it was after `beginEmptying` has failed.
    static func isUnchanged(after error: any Error) -> Bool { (error as? StoreError)?.code != .commitUnknown }

    /// Has the next opening empty the store, in any process: so it is emptied whole or not at all, however this process
    /// ends. Close the store next, and call `reopenEmpty`.
    func beginEmptying(_ store: any OrderedStore) throws { try (store as? LevelDBStore)?.beginEmptying() }

    /// Opens the store after `beginEmptying`. A reader in another process may have come between, and empties it meanwhile.
    func reopenEmpty(
        didFailWrite: @escaping @Sendable (StoreError) -> Void, _ progress: WorkMeter.Listener
    ) throws -> (store: any OrderedStore, notices: [StoreError]) {
        // In memory there is nothing but the contents of assets.
        close()
        for _ in 1..<Self.reopeningAttemptCount {
            do {
                return try open(didFailWrite: didFailWrite, emptying: progress)
            } catch let error as StoreError where error.code == .held {
                Thread.sleep(forTimeInterval: Self.reopeningPauseSeconds)
            }
        }
        return try open(didFailWrite: didFailWrite, emptying: progress)
    }

    /// Finishes the emptying of a store that an ended process has begun. It does nothing for any other, and where nothing is
    /// there.
    static func finishEmptying(ofStoreAt path: String) throws {
        guard try LevelDBStore.isBeingEmptied(path) else { return }
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.opensOlderFormats = true
        try LevelDBStore.open(at: path, options: options).close()
    }

    /// For the blocks of a copy while it is checked.
    private static let verifyingCacheByteCount = 16 << 20

    /// What a copy of the engine's files consists of.
    struct EngineFigures {
        var entryCount: Int
        var linkedTableCount: Int
        var copiedTableCount: Int
        var logCount: Int
        var unfinishedPaths: [String]
    }

    /// Copies the engine's files of a store that may be open, and verifies the copy. `begin` is given its directory
    /// before, `prepare` the verified copy before it has its name; `progress` is told of the tables and of their entries.
    /// `making` makes the directory.
    static func copyEngine(
        from source: String, to destination: String, progress: (BackupProgress) -> Void,
        begin: (String) throws -> Void, prepare: (any OrderedStore) throws -> Void,
        making: (_ make: () throws -> Void) throws -> Void
    ) throws -> EngineFigures {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.opensOlderFormats = true
        // The copy is read from its beginning to its end, and most of it once.
        options.keptByteCount = 0
        options.blockCacheByteCount = verifyingCacheByteCount
        let report = try LevelDBStore.backup(
            ofStoreAt: source, to: destination, options: options, begin: begin, prepare: prepare,
            copying: { progress(BackupProgress(part: .tables, doneCount: $0, totalCount: $1)) },
            progress: { progress(BackupProgress(part: .entries, doneCount: $0, totalCount: $1)) }, making: making)
        return EngineFigures(
            entryCount: report.entryCount, linkedTableCount: report.linkedTableCount,
            copiedTableCount: report.copiedTableCount, logCount: report.logCount,
            unfinishedPaths: report.unfinishedPaths)
    }

    /// Removes the directories of copies beside `destination` whose processes have ended without finishing them. Returns their
    /// paths.
    static func sweepUnfinishedCopies(besides destination: String) -> [String] {
        let folder = URL(fileURLWithPath: destination).standardizedFileURL.deletingLastPathComponent()
        return LevelDBStore.sweepUnfinishedCopies(in: folder.path)
    }

    /// Rewrites an open store's files without what was deleted; nil for a store that has none. `progress` is told now and
    /// then how many bytes of files were looked at, and of how many; where it throws nothing more is done.
    static func compact(
        _ store: any OrderedStore, sliceByteCount: Int = LevelDBStore.compactionByteCount,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> CompactedFiles? {
        guard let store = store as? LevelDBStore else { return nil }
        let (before, after) = try store.compact(.everything, sliceByteCount: sliceByteCount, progress: progress)
        return CompactedFiles(byteCountBefore: before, byteCountAfter: after)
    }

    /// Gives back what a store in memory has on disk.
    func close() {
        let taken = temporaryDirectory.withLock { taken in
            defer { taken = nil }
            return taken
        }
        if let taken { MemoryDirectories.giveBack(taken) }
    }
}
