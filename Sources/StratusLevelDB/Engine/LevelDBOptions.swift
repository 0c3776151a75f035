// The options of a store. Paranoid checks and read checksums are always on, because without them a flipped byte
// silently loses records or whole commits.

package import StratusStore

/// How tables are compressed on disk.
package enum LevelDBCompression: Sendable {
    case none
    case snappy
}

/// The settings of one opened store. The defaults suit a store of some hundred thousand to ten million records.
package struct LevelDBOptions: Sendable {
    /// How blocks of tables are compressed. Default: Snappy, which costs little time and halves typical records.
    package var compression = LevelDBCompression.snappy
    /// Bits a key takes in the Bloom filters of tables; 0 leaves them out. Default: 10, about 1 % false positives,
    /// so that looking up an absent key rarely touches a block.
    package var bloomFilterBitsPerKey = 10
    /// Memory for uncompressed blocks, in bytes. Default: 64 MiB.
    package var blockCacheByteCount = 64 << 20
    /// Memory for objects decoded from values that are read often, in bytes as the decoder estimates them; 0 keeps
    /// nothing. Default: 16 MiB.
    package var keptByteCount = 16 << 20
    /// Memory for the keys written to ranges that were empty before (`FreshRanges`), in bytes; 0 turns it off. A key
    /// takes 6 to 11 bytes. Default: 32 MiB, enough for six million keys.
    package var freshByteCount = 32 << 20
    /// The size of a memory table before it becomes a table file, in bytes. Two may exist at a time. Opening reads as
    /// much log after a process that did not close the store. Default: 32 MiB, so that a load rarely waits for
    /// compaction.
    package var writeBufferByteCount = 32 << 20
    /// The size of a table file, in bytes. Default: 8 MiB, so that ten million records stay under `maximumOpenFiles`.
    package var fileByteCount = 8 << 20
    /// How many files LevelDB keeps open. Default: 1,000.
    package var maximumOpenFiles = 1_000
    /// The size of a block before compression, in bytes. Default: 4 KiB.
    package var blockByteCount = 4 << 10
    /// How many entries of a block are between two keys that are written whole. A look-up or a step backwards reads
    /// from the last whole key on. Default: 4, a quarter of LevelDB's own, which takes few bytes more because most keys
    /// have little in common.
    package var blockRestartInterval = 4
    /// Whether a commit is on disk (fsync) when it returns. Default: true. With false a crash of the machine, not of
    /// the process, may lose the newest commits.
    package var syncsCommits = true
    /// The size from which a commit's log is synced while the commit is inserted into memory, and not before, in bytes.
    /// Default: 64 KiB, some 150 records: for fewer, waking the thread costs more than it saves.
    package var backgroundSyncByteCount = 64 << 10
    /// Whether a directory that does not exist, or is empty, becomes a new store. Default: true.
    package var createIfMissing = true
    /// The format number of the layer above, stored in the store's marker file. A store with a higher number is refused
    /// before anything else is read. Default: 1.
    package var formatVersion: Int
    /// Whether a store with a lower number may be opened. It keeps the number until `adoptFormat`. Default: false.
    package var opensOlderFormats = false
    /// How many bytes of keys and values one group of transactions may gather before further ones wait. Default: 4 MiB.
    package var groupByteCount = 4 << 20
    /// Called when a write has failed, with the error that later transactions get. It runs under the lane's lock: it
    /// must be short and must not call the store. Default: nothing.
    package var didFailWrite: (@Sendable (StoreError) -> Void)?
    /// Hooks for tests. Default: none.
    package var testHooks = LevelDBTestHooks()

    package init(formatVersion: Int = 1) { self.formatVersion = formatVersion }
}

/// Hooks for tests.
package struct LevelDBTestHooks: Sendable {
    /// Runs every transaction's body twice and discards the first run, to show that bodies are pure.
    package var runsBodiesTwice = false
    /// Called when a transaction arrives at the lane, before it waits for its turn. It may wait.
    package var didArrive: (@Sendable () -> Void)?
    /// Called by a flusher that waits for arrived transactions, under the lane's lock.
    package var willGather: (@Sendable () -> Void)?
    /// A flusher waits for all arrived transactions, however long that takes.
    package var gathersWithoutBound = false
    /// Called by the flusher just before it writes a group, with the number of transactions in it. It may wait. An
    /// error that it throws counts as a failed write.
    package var willWriteGroup: (@Sendable (_ transactionCount: Int) throws -> Void)?
    /// A planted fault: accepts transactions after a failed write, as LevelDB itself would. Tests must find what is
    /// acknowledged and lost then.
    package var goesOnAfterFailedWrites = false
    /// A planted fault: returns while the log of a large commit is still being synced.
    package var answersBeforeSyncs = false
    /// Closes as the end of a process does: what is in the log stays there.
    package var leavesLog = false
    /// Runs without the log environment, as on a LevelDB other than 1.23.
    package var leavesLogsToLevelDB = false
    /// Reaches the directory by its path, as on a system without /proc.
    package var reachesDirectoryByPath = false
    /// Called when the store has synced its directory.
    package var didSyncDirectory: (@Sendable () -> Void)?
    /// A planted fault: neither syncs the names of logs nor notes them. Tests must find what a strict file system loses
    /// then.
    package var leavesLogsUnnoted = false
    /// Supplies the `leveldb_env_t` of the store. It is called once per opening. The store never destroys the
    /// environment, which must exist until the store is closed.
    package var environment: (any LevelDBEnvironmentSupplier)?

    package init() {}
}

/// Supplies the environment (files, clock, threads) under a store: the seam for injecting faults below LevelDB.
package protocol LevelDBEnvironmentSupplier: Sendable {
    /// A `leveldb_env_t *` that the supplier owns.
    func environment() -> OpaquePointer
}
