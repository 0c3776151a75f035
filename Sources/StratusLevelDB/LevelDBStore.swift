// The seam on LevelDB: one directory, opened by one process, once.
//
// Floors of this target, each folder naming only those before it: `Engine` (LevelDB's C API with owners), `Files` (what
// lies in the directory), `Read` (published snapshots), `Lane` (transactions and group commit), and this file.

package import StratusStore

/// An ordered store in a LevelDB directory.
package final class LevelDBStore: OrderedStore {
    /// The directory, as it was given.
    package let path: String
    let database: EngineDatabase
    let gate: ReadGate
    private let lane: WriteLane

    private init(path: String, database: EngineDatabase, options: LevelDBOptions) {
        self.path = path
        self.database = database
        let first = PublishedSnapshot(version: 0, engine: EngineSnapshot(database))
        gate = ReadGate(first)
        lane = WriteLane(database, first, gate, options)
    }

    /// Opens the store in the directory `path`.
    package static func open(at path: String, options: LevelDBOptions = LevelDBOptions()) throws -> LevelDBStore {
        let engineOptions = unsafe EngineOptions(
            options.engineSettings, environment: options.testHooks.environment?.environment())
        do {
            let database = try EngineDatabase(path: path, options: engineOptions)
            return LevelDBStore(path: path, database: database, options: options)
        } catch {
            throw error.storeError(["path": path])
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

    package var isUnderWritePressure: Bool { false }

    /// Finishes the transactions that were accepted, waits for the readers that run, and closes the database: its lock
    /// is free when this returns. Everything later is refused with `.closed`. Must not be called from a body.
    package func close() {
        lane.close()
        gate.close()
        database.close()
    }
}

extension LevelDBOptions {
    var engineSettings: EngineSettings {
        EngineSettings(
            usesSnappy: compression == .snappy, bloomFilterBitsPerKey: bloomFilterBitsPerKey,
            blockCacheByteCount: blockCacheByteCount, writeBufferByteCount: writeBufferByteCount,
            fileByteCount: fileByteCount, maximumOpenFiles: maximumOpenFiles, blockByteCount: blockByteCount,
            createIfMissing: createIfMissing)
    }
}
