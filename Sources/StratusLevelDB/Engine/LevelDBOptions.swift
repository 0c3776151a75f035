// How a store is opened. Paranoid checks and read checksums are not here: they are always on, because with them off a
// flipped byte silently loses records or whole commits.

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
    /// Memory for what was made of values that are read again and again, in bytes as whoever made it counts them; 0 keeps
    /// nothing. Default: 16 MiB.
    package var keptByteCount = 16 << 20
    /// Memory for what was written into ranges that were empty when transactions began to write there, in bytes; 0 remembers
    /// nothing. A key takes 6 to 11 bytes. Default: 32 MiB, enough for six million keys.
    package var freshByteCount = 32 << 20
    /// How much is gathered in memory before it becomes a table, in bytes; two of these may exist at once, and as
    /// much log is read again on opening. Default: 32 MiB, so that a load waits little for compaction.
    package var writeBufferByteCount = 32 << 20
    /// The size of a table file, in bytes. Default: 8 MiB, so that ten million records stay under `maximumOpenFiles`.
    package var fileByteCount = 8 << 20
    /// How many files LevelDB keeps open. Default: 1,000.
    package var maximumOpenFiles = 1_000
    /// The size of a block before compression, in bytes. Default: 4 KiB.
    package var blockByteCount = 4 << 10
    /// How many entries of a block lie between two keys that are written whole. Whoever looks for an entry, or steps back
    /// by one, reads from the last whole key before it on. Default: 4, a quarter of LevelDB's own, which takes few bytes
    /// more because most keys have little in common.
    package var blockRestartInterval = 4
    /// Whether a commit is on disk (fsync) when it returns. Default: true. With false a crash of the machine, not of
    /// the process, may lose the newest commits.
    package var syncsCommits = true
    /// From how many bytes on a commit's log is synced while the commit is inserted into memory, in place of before. Default:
    /// 64 KiB, some 150 records: inserting fewer gains little beside waking the thread that syncs.
    package var backgroundSyncByteCount = 64 << 10
    /// Whether a directory that does not exist, or is empty, becomes a new store. Default: true.
    package var createIfMissing = true
    /// The format number of the layer above, kept in the store's marker file: a store of a higher number is refused before
    /// anything of it is touched. Default: 1, for a layer that has only ever had one.
    package var formatVersion: Int
    /// Whether a store of a lower number is opened, and keeps it until `adoptFormat`. Default: false.
    package var opensOlderFormats = false
    /// How many bytes of keys and values one group of transactions may gather before further ones wait. Default: 4 MiB.
    package var groupByteCount = 4 << 20
    /// Called when a write has failed, with what later transactions end with. It runs under the lane's lock: it must be short and
    /// must not call the store. Default: nothing.
    package var didFailWrite: (@Sendable (StoreError) -> Void)?
    /// What tests put in the way. Default: nothing.
    package var testHooks = LevelDBTestHooks()

    package init(formatVersion: Int = 1) { self.formatVersion = formatVersion }
}

/// Where tests take hold of a store.
package struct LevelDBTestHooks: Sendable {
    /// Runs every transaction's body twice, the first time in vain, to show that bodies are pure.
    package var runsBodiesTwice = false
    /// Called when a transaction has come to the lane, before it stands in line. It may wait.
    package var didArrive: (@Sendable () -> Void)?
    /// Called by a flusher that waits for those who stand at the lane, under the lane's lock.
    package var willGather: (@Sendable () -> Void)?
    /// A flusher waits for all who stand at the lane, however long that takes.
    package var gathersWithoutBound = false
    /// Called by the flusher just before a group is written, with the number of transactions in it. It may wait; what
    /// it throws counts as a failed write.
    package var willWriteGroup: (@Sendable (_ transactionCount: Int) throws -> Void)?
    /// Takes transactions after a failed write, as LevelDB itself would. Only there to be caught: tests plant it to show
    /// that they find what is acknowledged and lost then.
    package var goesOnAfterFailedWrites = false
    /// Answers while the log of a large commit is still being synced. Only there to be caught, as above.
    package var answersBeforeSyncs = false
    /// Runs without an environment of our own, as on a LevelDB other than 1.23.
    package var leavesLogsToLevelDB = false
    /// Reaches the directory by its path, as where there is no /proc.
    package var reachesDirectoryByPath = false
    /// Called when the store itself has synced its directory.
    package var didSyncDirectory: (@Sendable () -> Void)?
    /// Neither syncs the names of logs nor notes them. Only there to be caught: tests plant it to show that they find what a
    /// strict file system loses then.
    package var leavesLogsUnnoted = false
    /// Makes the `leveldb_env_t` the store runs on. It is called once per opening, the store never destroys it, and it
    /// must live until the store is closed.
    package var environment: (any LevelDBEnvironmentSupplier)?

    package init() {}
}

/// Supplies the environment (files, clock, threads) under a store: the seam for injecting faults below LevelDB.
package protocol LevelDBEnvironmentSupplier: Sendable {
    /// A `leveldb_env_t *`. It stays the supplier's own.
    func environment() -> OpaquePointer
}
