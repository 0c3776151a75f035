// The store on LevelDB: one directory, opened once, by one process.
//
// The folders of this target, each using only those before it: `Engine` (LevelDB's C API with owners), `Files` (the
// files of the directory), `Read` (published snapshots), `Lane` (transactions and group commit), and the store.

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
    private let leavesLog: Bool

    private init(
        directory: StoreDirectory, database: EngineDatabase, options: LevelDBOptions, version: StoreVersion
    ) {
        self.directory = directory
        self.database = database
        leavesLog = options.testHooks.leavesLog
        let first = PublishedSnapshot(version: version, engine: EngineSnapshot(database))
        gate = ReadGate(first, keptByteCount: options.keptByteCount)
        lane = WriteLane(database, directory, first, gate, options)
    }

    /// The commit that was dropped when the store was opened: it was never acknowledged, and a crash lost pages of it.
    package var droppedCommit: DroppedCommit? { directory.logs.droppedCommit }

    /// What a host should know about how the store was opened.
    package var notices: [StoreError] {
        var notices: [StoreError] = []
        if let droppedCommit {
            notices.append(
                StoreError(
                    .commitDropped,
                    "A crash cut off the last commit before it was acknowledged, and it was dropped.",
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

    /// A path to the store's directory that stays valid if the directory is moved while the store is open. Use it for
    /// files other than the engine's. Without /proc it is `path`.
    package var heldPath: String { directory.place.directory }

    deinit {
        close()
    }

    /// Opens the store in the directory `path`, or creates it there. With `continuing` it replaces a store that was
    /// closed by `closeToReopen`, and its versions continue.
    ///
    /// Throws `StoreError` with `.held` naming the process that has it open, `.notAStore` naming the path's content,
    /// `.newerFormat`, `.notPermitted`, `.diskFull`, or `.corruption` naming the candidate files. Opening never repairs
    /// a store: see `repairLosingDamagedData(ofStoreAt:to:)`.
    ///
    /// If emptying the store was begun, it is finished first. `emptying` gets the number of removed files, and of all.
    package static func open(
        at path: String, options: LevelDBOptions = LevelDBOptions(), continuing: StoreContinuation? = nil,
        emptying: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBStore {
        var options = options
        // An empty directory, as of a volume that is not mounted, must not become a store.
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
            // A process of an older version took LOCK since the directory was inspected.
            if error.isLockHeld, let holder = try? StoreHolder.findByLocks(in: path) {
                throw holder.error(path: path, cause: error.text)
            }
            throw CorruptionCandidates.error(error, opening: path)
        }
    }

    /// Gives the store the format of the options, if it was opened with a lower one. Call it when the layer above has
    /// migrated the contents, durably.
    ///
    /// Throws `.inputOutput`, `.diskFull` and `.notPermitted`; the store keeps its format, or has the new one.
    package func adoptFormat() throws { try directory.adoptFormat() }

    /// The format of the store in a directory; nil if there is none.
    ///
    /// Throws `.corruption` if the marker cannot be read.
    package static func formatVersion(ofStoreAt path: String) throws -> Int? {
        try StoreMarker.read(in: path)?.formatVersion
    }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        let reader = try gate.enter()
        defer { gate.leave(reader) }
        return try body(reader)
    }

    /// All transactions share one lane, whatever they name.
    package func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try self.lane.transact(body)
    }

    package func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        lane.watchers.add(range, onChange)
    }

    package var statistics: StoreStatistics { gate.statistics }

    /// Makes the next opening of this store, in any process, empty it. Call `close` next: until then the store works
    /// with data that will be removed.
    ///
    /// Throws `.inputOutput`, `.diskFull`, `.notPermitted`, and `.unavailable` if the store is no longer at its path:
    /// the store is then unchanged. Throws `.commitUnknown` if it is unknown whether it changed: then close it too.
    package func beginEmptying() throws {
        // The caller means the store that is at the path now.
        if let displacement = directory.lock.displacement() { throw displacement }
        try directory.beginEmptying()
    }

    /// Whether the next process that opens the store in a directory empties it.
    package static func isBeingEmptied(_ path: String) throws -> Bool {
        try StoreMarker.read(in: path)?.isEmptying ?? false
    }

    /// Finishes the accepted transactions, waits for readers, and closes the database. It makes a table of what is in
    /// memory, so that the next opening need not read a log, unless something prevents it (`emptiesLog`). The lock is
    /// free when this returns. Later calls throw `.closed`. Closing again does nothing. Do not call it inside a body of
    /// `read` or `transact`.
    package func close() {
        closing.withLock {
            guard !isClosed else { return }
            isClosed = true
            lane.close()
            gate.close()
            if emptiesLog { database.emptyWriteBuffer() }
            database.close()
            directory.release()
        }
    }

    /// Whether closing makes a table of what was committed. Not if the directory is no longer the store's: another
    /// store may be at its path, or have its locks. Not if the next opening removes everything. And not while
    /// compactions are behind: LevelDB would wait for them.
    private var emptiesLog: Bool {
        lane.hasCommitted && !leavesLog && directory.lock.displacement() == nil
            && (try? Self.isBeingEmptied(directory.place.directory)) == false
            && Self.fileCount(database, level: 0) < Self.compactedFileCount
    }
}

// Recovery: a store that accepts no more writes is opened again in place, without restarting the process.
//
// LevelDB may acknowledge writes after a failed one, so the lane refuses all transactions until LevelDB is opened again
// and has read its log: then the commit in doubt is there or not. The caller does these steps in order:
//   1. `checkRoom` writes, syncs and removes a file as large as opening will write. If that fails, the store stays open
//      for reading.
//   2. `closeToReopen` gives readers a bounded time. Its result says what the store must contain when it is opened
//      again.
//   3. `open(at:options:continuing:)` refuses a store whose last write is older than the last acknowledged one.

extension LevelDBStore {
    private static let probeName = "STRATUS.room"
    private static let chunkByteCount = 1 << 20
    /// The bytes of tables and MANIFEST that opening writes in addition to the logs.
    private static let spareByteCount = 1 << 20

    /// Why the store accepts no transactions; nil while it does.
    package var failure: StoreError? { lane.failureError }

    /// Writes, syncs and removes a file as large as opening the store writes: its logs become tables, and it gets a new
    /// MANIFEST. Does nothing if the directory is no longer at its path: opening reports that.
    ///
    /// Throws `.diskFull`, `.inputOutput` and `.notPermitted`, with nothing left behind.
    package func checkRoom() throws {
        guard directory.lock.displacement() == nil else { return }
        let path = directory.place.directory
        do {
            let probe = "\(path)/\(Self.probeName)"
            // A killed process may have left one.
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
                    // Not zeros: a file system may store them as a hole.
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

    /// Closes the store. Current readers may continue for `readerSeconds`. After that their reads throw `.unavailable`,
    /// and this waits until they have ended. Do not call it inside a body of `read` or `transact`.
    package func closeToReopen(readerSeconds: Double) -> StoreContinuation {
        gate.abandonReaders(afterSeconds: readerSeconds)
        close()
        return lane.continuation
    }
}
