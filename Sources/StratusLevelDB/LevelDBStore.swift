// The seam on LevelDB: one directory, opened by one process, once.
//
// Floors of this target, each folder naming only those before it: `Engine` (LevelDB's C API with owners), `Files` (what
// lies in the directory), `Read` (published snapshots), `Lane` (transactions and group commit), and the store.

package import StratusStore

/// An ordered store in a LevelDB directory.
package final class LevelDBStore: OrderedStore, @unchecked Sendable {  // because a monitor guards the one variable
    /// The directory, as it was given.
    package var path: String { directory.place.path }
    let database: EngineDatabase
    let gate: ReadGate
    let lane: WriteLane
    let directory: StoreDirectory
    private let closing = Monitor()
    private var isClosed = false

    private init(
        directory: StoreDirectory, database: EngineDatabase, options: LevelDBOptions, version: StoreVersion
    ) {
        self.directory = directory
        self.database = database
        let first = PublishedSnapshot(version: version, engine: EngineSnapshot(database))
        gate = ReadGate(first, keptByteCount: options.keptByteCount)
        lane = WriteLane(database, directory, first, gate, options)
    }

    /// The commit that was dropped when the store was opened: it was never acknowledged, and a crash took pages of it.
    package var droppedCommit: DroppedCommit? { directory.droppedCommit }

    /// What a host should know of how the store was opened.
    package var notices: [StoreError] {
        var notices: [StoreError] = []
        if let droppedCommit {
            notices.append(
                StoreError(
                    .commitDropped,
                    "A crash took part of the last commit, which was never acknowledged: it was dropped.",
                    droppedCommit.fields.merging(["path": path]) { own, _ in own }))
        }
        if directory.place.directory == path {
            notices.append(
                StoreError(
                    .reachedByPath,
                    "There is no /proc: do not move or replace the store's directory while it is open.", ["path": path])
            )
        }
        return notices
    }

    /// A path that leads to the store's directory wherever that is moved, while the store is open: files beside the engine's
    /// are reached by it. Where the system has no /proc it is `path`.
    package var heldPath: String { directory.place.directory }

    deinit {
        close()
    }

    /// Opens the store in the directory `path`, or creates it there; with `continuing` in the place of one that was closed by
    /// `closeToReopen`, whose versions go on.
    ///
    /// Throws `StoreError` with `.held` naming who has it open, `.notAStore` naming what lies there instead,
    /// `.newerFormat`, `.notPermitted`, `.diskFull`, or `.corruption` naming the files it may lie in. Nothing is ever
    /// repaired here: see `repairLosingDamagedData(ofStoreAt:to:)`.
    ///
    /// A store whose emptying was begun is emptied first: `emptying` hears how many files are removed, and of how many.
    package static func open(
        at path: String, options: LevelDBOptions = LevelDBOptions(), continuing: StoreContinuation? = nil,
        emptying: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBStore {
        var options = options
        // An empty directory in the place of a store, as under a volume that is not mounted, must not become one.
        if continuing != nil { options.createIfMissing = false }
        let directory = try StoreDirectory.claim(
            path, options, leastSequence: continuing?.sequence ?? 0, emptying: emptying)
        do {
            let database = try openDatabase(directory, options)
            do {
                try directory.finishOpening()
            } catch {
                database.close()
                throw error
            }
            return LevelDBStore(
                directory: directory, database: database, options: options,
                version: continuing.map { $0.version + 1 } ?? 0)
        } catch {
            directory.release()
            throw error
        }
    }

    private static func openDatabase(_ directory: StoreDirectory, _ options: LevelDBOptions) throws -> EngineDatabase {
        let engineOptions = EngineOptions(options, createIfMissing: directory.isNew)
        let path = directory.place.path
        do {
            directory.lock.yieldEngineLock()
            return try EngineDatabase(
                directory.place, options: engineOptions, finishesSyncs: !options.testHooks.answersBeforeSyncs)
        } catch {
            // A process of an older version took LOCK since the directory was looked at.
            if error.isLockHeld, let holder = try? StoreHolder.findByLocks(in: path) {
                throw holder.error(path: path, cause: error.text)
            }
            throw CorruptionCandidates.error(error, opening: path)
        }
    }

    /// Gives the store the format of the options, where it was opened with a lower one. To be called when the layer above has
    /// migrated what is in it, durably.
    ///
    /// Throws `.inputOutput`, `.diskFull` and `.notPermitted`; the store keeps its format, or has the new one.
    package func adoptFormat() throws { try directory.adoptFormat() }

    /// The format of the store in a directory; nil where there is none.
    ///
    /// Throws `.corruption` where the marker cannot be read.
    package static func formatVersion(ofStoreAt path: String) throws -> Int? {
        try StoreMarker.read(in: path)?.formatVersion
    }

    package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
        let reader = try gate.enter()
        defer { gate.leave(reader) }
        return try body(reader)
    }

    package func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try lane.transact(body)
    }

    package var statistics: StoreStatistics { gate.statistics }

    /// Has the next opening of this store empty it, in any process. Call `close` next: until then the store works on what
    /// will be removed.
    ///
    /// Throws `.inputOutput`, `.diskFull`, `.notPermitted`, and `.unavailable` where the store is no longer at its path, and the
    /// store is as it was; `.commitUnknown` where the disk
    /// did not say whether it is: close it then, too.
    package func beginEmptying() throws {
        // What the caller would empty is what lies at the path now.
        if let displacement = directory.lock.displacement() { throw displacement }
        try directory.beginEmptying()
    }

    /// Whether the store in a directory is to be emptied by the next process that opens it.
    package static func isBeingEmptied(_ path: String) throws -> Bool {
        try StoreMarker.read(in: path)?.isEmptying ?? false
    }

    /// Finishes the transactions that were accepted, waits for the readers that run, and closes the database: its lock
    /// is free when this returns. Everything later is refused with `.closed`; closing again does nothing. It must not be
    /// called from a body.
    package func close() {
        closing.withLock {
            guard !isClosed else { return }
            isClosed = true
            lane.close()
            gate.close()
            database.close()
            directory.release()
        }
    }
}

// A store that takes no more writes is opened again in place, without its process being started again.
//
// LevelDB may go on acknowledging after a failed write, so the lane takes nothing more until LevelDB is opened again: what its
// log holds is read back, and the commit in doubt is there or not. The steps, which the caller makes one after another:
//   1. `checkRoom`: a file as large as what opening writes is written, synced and removed. Where that fails the store stays open
//      for reading, as it is.
//   2. `closeToReopen`: readers get a bounded time. The result says what must be found when the store is opened again.
//   3. `open(at:options:continuing:)`: a store whose last write is older than the last acknowledged one is refused.

extension LevelDBStore {
    private static let probeName = "STRATUS.room"
    private static let chunkByteCount = 1 << 20
    /// How much of tables and MANIFEST opening writes besides what it reads from logs.
    private static let spareByteCount = 1 << 20

    /// Why the store takes no more transactions; nil while it does.
    package var failure: StoreError? { lane.failureError }

    /// Writes, syncs and removes a file as large as what opening the store writes: its logs become tables, and it gets a new
    /// MANIFEST. Does nothing where the directory is no longer at its path: what is there is looked at by opening it.
    ///
    /// Throws `.diskFull`, `.inputOutput` and `.notPermitted`, with nothing left behind.
    package func checkRoom() throws {
        guard directory.lock.displacement() == nil else { return }
        let path = directory.place.directory
        do {
            let probe = "\(path)/\(Self.probeName)"
            // One that a process that was killed has left.
            try SystemFiles.remove(probe)
            var remaining = Self.spareByteCount
            for name in try SystemFiles.names(in: path) {
                switch StoreFileName(name) {
                case .log, .manifest: remaining += try SystemFiles.status("\(path)/\(name)")?.byteCount ?? 0
                default: continue
                }
            }
            do {
                try SystemFiles.create(probe, [])
                while remaining > 0 {
                    let count = min(remaining, Self.chunkByteCount)
                    // Not zeros, of which a file system may keep none.
                    try SystemFiles.append([UInt8](repeating: 0x5A, count: count), to: probe)
                    remaining -= count
                }
                try SystemFiles.sync(probe)
                try SystemFiles.remove(probe)
            } catch {
                try? SystemFiles.remove(probe)
                throw error
            }
        } catch { throw directory.place.asGiven(error) }
    }

    /// Closes the store. Readers that are in may go on for `readerSeconds`; from then on their reads throw `.unavailable`, and
    /// they are waited for until they have left. It must not be called from a body.
    package func closeToReopen(readerSeconds: Double) -> StoreContinuation {
        gate.abandonReaders(afterSeconds: readerSeconds)
        close()
        return lane.continuation
    }
}
