// The seam on LevelDB: one directory, opened by one process, once.
//
// Floors of this target, each folder naming only those before it: `Engine` (LevelDB's C API with owners), `Files` (what
// lies in the directory), `Read` (published snapshots), `Lane` (transactions and group commit), and the store.

package import StratusStore

/// An ordered store in a LevelDB directory.
package final class LevelDBStore: OrderedStore, @unchecked Sendable {  // because a monitor guards the one variable
    /// The directory, as it was given.
    package let path: String
    let database: EngineDatabase
    let gate: ReadGate
    let lane: WriteLane
    private let directory: StoreDirectory
    private let closing = Monitor()
    private var isClosed = false

    private init(directory: StoreDirectory, database: EngineDatabase, options: LevelDBOptions) {
        path = directory.path
        self.directory = directory
        self.database = database
        let first = PublishedSnapshot(version: 0, engine: EngineSnapshot(database))
        gate = ReadGate(first, keptByteCount: options.keptByteCount)
        lane = WriteLane(database, first, gate, options)
    }

    deinit {
        close()
    }

    /// Opens the store in the directory `path`, or creates it there.
    ///
    /// Throws `StoreError` with `.held` naming who has it open, `.notAStore` naming what lies there instead,
    /// `.newerFormat`, `.notPermitted`, `.diskFull`, or `.corruption` naming the files it may lie in. Nothing is ever
    /// repaired here: see `repairLosingDamagedData(ofStoreAt:to:)`.
    package static func open(at path: String, options: LevelDBOptions = LevelDBOptions()) throws -> LevelDBStore {
        let directory = try StoreDirectory.claim(
            path, createIfMissing: options.createIfMissing, formatVersion: options.formatVersion)
        do {
            let database = try openDatabase(directory, options)
            do {
                if directory.isNew { try directory.finishCreation() }
            } catch {
                database.close()
                throw error
            }
            return LevelDBStore(directory: directory, database: database, options: options)
        } catch {
            directory.release()
            throw error
        }
    }

    private static func openDatabase(_ directory: StoreDirectory, _ options: LevelDBOptions) throws -> EngineDatabase {
        let engineOptions = EngineOptions(options, createIfMissing: directory.isNew)
        do {
            return try EngineDatabase(
                path: directory.path, options: engineOptions, finishesSyncs: !options.testHooks.answersBeforeSyncs)
        } catch {
            // Somebody took the lock since the directory was looked at.
            if error.isLockHeld, let holder = try? StoreHolder.find(in: directory.path) {
                throw holder.error(path: directory.path, cause: error.text)
            }
            throw CorruptionCandidates.error(error, opening: directory.path)
        }
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
