// LevelDB's C objects with their owners: the open database, its options and environment, write batches, snapshots and
// iterators.
//
// Unsafe: each owner creates its pointer in `init` and destroys it once. The database is valid until `close`, which the
// store calls once, when no reader, iterator or snapshot is left. LevelDB's functions may be called from any thread,
// except on an iterator, which one thread uses at a time. What an iterator points at is valid until it is moved.

internal import CLevelDB
internal import CLogSync
internal import StratusStore

/// Owns a `leveldb_t` with its options.
@safe final class EngineDatabase: @unchecked Sendable {  // because LevelDB guards itself and `close` comes last
    let place: EnginePlace
    var path: String { place.path }
    private let options: EngineOptions
    private let syncedWrite: OpaquePointer
    private let unsyncedWrite: OpaquePointer
    private var handle: OpaquePointer?
    private let finishesSyncs: Bool

    var pointer: OpaquePointer {
        guard let handle = unsafe handle else { preconditionFailure("The database was used after it was closed.") }
        return unsafe handle
    }

    /// Tests set `finishesSyncs` to false to plant a store that does not wait for syncs.
    init(_ place: EnginePlace, options: consuming EngineOptions, finishesSyncs: Bool = true) throws(EngineError) {
        self.finishesSyncs = finishesSyncs
        let pointer = unsafe options.pointer
        let name = place.name
        let opened = try unsafe EngineError.check(place) { unsafe leveldb_open(pointer, name, $0) }
        self.place = place
        self.options = options
        unsafe handle = unsafe opened
        unsafe syncedWrite = leveldb_writeoptions_create()
        unsafe unsyncedWrite = leveldb_writeoptions_create()
        unsafe leveldb_writeoptions_set_sync(syncedWrite, 1)
    }

    deinit {
        close()
        unsafe leveldb_writeoptions_destroy(syncedWrite)
        unsafe leveldb_writeoptions_destroy(unsyncedWrite)
    }

    /// Closes the database. Its lock is free when this returns. Do not use the database afterwards.
    func close() {
        if let handle = unsafe handle {
            unsafe leveldb_close(handle)
            unsafe self.handle = nil
        }
    }

    /// Writes a batch. With `synced` it is durable when this returns. Call it on one thread at a time.
    func write(_ batch: borrowing EngineWriteBatch, synced: Bool) throws(EngineError) {
        let writeOptions = unsafe synced ? syncedWrite : unsyncedWrite
        let batchPointer = unsafe batch.pointer
        try unsafe EngineError.check(place) { error in
            unsafe leveldb_write(pointer, writeOptions, batchPointer, error)
            // The log of a large batch is synced while LevelDB inserts it, and LevelDB has not waited for that.
            if synced, finishesSyncs { unsafe options.logSync.finish(error) }
        }
    }

    /// The log of the last write; nil if LevelDB does not report it.
    var writtenLog: UInt64? { options.logSync.writtenLog }

    /// Repairs a database that is not open: salvages what LevelDB can read and drops the rest.
    static func repair(_ place: EnginePlace, options: borrowing EngineOptions) throws(EngineError) {
        let pointer = unsafe options.pointer
        let name = place.name
        try unsafe EngineError.check(place) { unsafe leveldb_repair_db(pointer, name, $0) }
    }

    /// The value of a LevelDB property ("leveldb.stats", …), or nil if LevelDB does not know the name.
    func property(_ name: String) -> String? {
        guard let text = unsafe leveldb_property_value(pointer, name) else { return nil }
        defer { unsafe leveldb_free(text) }
        return unsafe String(cString: text)
    }

    /// The approximate number of bytes of files for the keys in `range`.
    func approximateByteCount(of range: KeyRange) -> Int {
        unsafe range.withEngineBytes { lower, upper in
            var lowerPointer: UnsafePointer<CChar>? = unsafe lower.characters
            var upperPointer: UnsafePointer<CChar>? = unsafe upper.characters
            var (lowerCount, upperCount) = unsafe (lower.count, upper.count)
            var byteCount: UInt64 = 0
            unsafe leveldb_approximate_sizes(
                pointer, 1, &lowerPointer, &lowerCount, &upperPointer, &upperCount, &byteCount)
            return Int(clamping: byteCount)
        }
    }

    /// Rewrites the tables that hold keys in `range`.
    func compact(_ range: KeyRange) {
        unsafe range.withEngineBytes { lower, upper in
            unsafe leveldb_compact_range(pointer, lower.characters, lower.count, upper.characters, upper.count)
        }
    }
}

extension EngineDatabase {
    /// Makes a table of the memory table, and begins an empty log. It waits for the table. An error is LevelDB's own:
    /// its log still has everything.
    func emptyWriteBuffer() {
        // LevelDB empties its memory table before it looks for tables of the range, and no table has this key.
        let last: [UInt8] = [0xFF]
        unsafe last.withEngineBytes { key in
            unsafe leveldb_compact_range(pointer, key.characters, key.count, key.characters, key.count)
        }
    }
}

/// Owns a `leveldb_writebatch_t`.
@safe struct EngineWriteBatch: ~Copyable {
    fileprivate let pointer: OpaquePointer
    /// How many writes it holds.
    private(set) var count = 0

    init() {
        unsafe pointer = leveldb_writebatch_create()
    }

    deinit {
        unsafe leveldb_writebatch_destroy(pointer)
    }

    mutating func clear() {
        unsafe leveldb_writebatch_clear(pointer)
        count = 0
    }

    @unsafe mutating func put(_ key: EngineBytes, _ value: EngineBytes) {
        count += 1
        unsafe leveldb_writebatch_put(pointer, key.characters, key.count, value.characters, value.count)
    }

    @unsafe mutating func delete(_ key: EngineBytes) {
        count += 1
        unsafe leveldb_writebatch_delete(pointer, key.characters, key.count)
    }
}

// A snapshot is destroyed before its database is closed, an iterator before its snapshot.

/// Owns a `leveldb_snapshot_t` and the options to read it. Checksums are always verified.
@safe final class EngineSnapshot: @unchecked Sendable {  // because only `destroy` changes it, called by the last user
    let database: EngineDatabase
    private let snapshot: OpaquePointer
    private let readOptions: OpaquePointer
    private var isDestroyed = false

    init(_ database: EngineDatabase, fillsCache: Bool = true) {
        self.database = database
        unsafe snapshot = leveldb_create_snapshot(database.pointer)
        unsafe readOptions = leveldb_readoptions_create()
        unsafe leveldb_readoptions_set_snapshot(readOptions, snapshot)
        unsafe leveldb_readoptions_set_verify_checksums(readOptions, 1)
        unsafe leveldb_readoptions_set_fill_cache(readOptions, fillsCache ? 1 : 0)
    }

    /// Releases the snapshot.
    func destroy() {
        precondition(!isDestroyed, "A snapshot was destroyed twice.")
        isDestroyed = true
        unsafe leveldb_readoptions_destroy(readOptions)
        unsafe leveldb_release_snapshot(database.pointer, snapshot)
    }

    /// Calls `body` with the value in LevelDB's memory, or returns false if the key is absent.
    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        var count = 0
        let found = try unsafe key.withEngineBytes { bytes throws(EngineError) in
            try unsafe EngineError.check(database.place) {
                unsafe leveldb_get(database.pointer, readOptions, bytes.characters, bytes.count, &count, $0)
            }
        }
        guard let value = unsafe found else { return false }
        defer { unsafe leveldb_free(value) }
        try unsafe EngineBytes(characters: value, count: count).withSpan(body)
        return true
    }

    func makeIterator() -> EngineIterator {
        unsafe EngineIterator(leveldb_create_iterator(database.pointer, readOptions), in: database.place)
    }
}

/// Owns a `leveldb_iterator_t`.
@safe final class EngineIterator {
    private var pointer: OpaquePointer?
    private let place: EnginePlace

    fileprivate init(_ pointer: OpaquePointer, in place: EnginePlace) {
        self.place = place
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        destroy()
    }

    /// Destroys the iterator. Do not use it afterwards.
    func destroy() {
        if let pointer = unsafe pointer {
            unsafe leveldb_iter_destroy(pointer)
            unsafe self.pointer = nil
        }
    }

    private var live: OpaquePointer {
        guard let pointer = unsafe pointer else { preconditionFailure("An iterator was used after it was destroyed.") }
        return unsafe pointer
    }

    var isValid: Bool {
        unsafe leveldb_iter_valid(live) != 0
    }

    /// Moves to the first key that is not below `key`.
    func seek(_ key: [UInt8]) {
        unsafe key.withEngineBytes { unsafe leveldb_iter_seek(live, $0.characters, $0.count) }
    }

    /// Moves to the last key below `key`.
    func seek(before key: [UInt8]) throws(EngineError) {
        seek(key)
        if isValid {
            moveBackward()
        } else {
            try check()
            unsafe leveldb_iter_seek_to_last(live)
        }
    }

    func moveForward() {
        unsafe leveldb_iter_next(live)
    }

    func moveBackward() {
        unsafe leveldb_iter_prev(live)
    }

    var key: EngineBytes {
        var count = 0
        let start = unsafe leveldb_iter_key(live, &count)
        return unsafe EngineBytes(characters: start, count: count)
    }

    var value: EngineBytes {
        var count = 0
        let start = unsafe leveldb_iter_value(live, &count)
        return unsafe EngineBytes(characters: start, count: count)
    }

    /// Throws the iterator's error. LevelDB skips a block that it cannot read and stays valid behind it, so every scan
    /// must call this, however it ended.
    func check() throws(EngineError) {
        try unsafe EngineError.check(place) { unsafe leveldb_iter_get_error(live, $0) }
    }
}

// A database refers to its cache and filter until it is closed, so `EngineDatabase` owns its options and destroys them
// last.

/// Owns a `leveldb_options_t`, its block cache, its filter policy and its environment.
@safe struct EngineOptions: ~Copyable {
    let pointer: OpaquePointer
    private let cache: OpaquePointer
    private let filter: OpaquePointer?
    let logSync: EngineLogSync

    /// The environment that `options` supply must outlive the database.
    init(_ options: LevelDBOptions, createIfMissing: Bool) {
        unsafe pointer = leveldb_options_create()
        unsafe cache = leveldb_cache_create_lru(max(0, options.blockCacheByteCount))
        if options.bloomFilterBitsPerKey > 0 {
            unsafe filter = leveldb_filterpolicy_create_bloom(Int32(clamping: options.bloomFilterBitsPerKey))
            unsafe leveldb_options_set_filter_policy(pointer, filter)
        } else {
            unsafe filter = nil
        }
        unsafe leveldb_options_set_cache(pointer, cache)
        unsafe leveldb_options_set_paranoid_checks(pointer, 1)
        unsafe leveldb_options_set_create_if_missing(pointer, createIfMissing ? 1 : 0)
        unsafe leveldb_options_set_write_buffer_size(pointer, options.writeBufferByteCount)
        unsafe leveldb_options_set_max_file_size(pointer, options.fileByteCount)
        unsafe leveldb_options_set_max_open_files(pointer, Int32(clamping: options.maximumOpenFiles))
        unsafe leveldb_options_set_block_size(pointer, options.blockByteCount)
        let restartInterval = Int32(clamping: max(1, options.blockRestartInterval))
        unsafe leveldb_options_set_block_restart_interval(pointer, restartInterval)
        let compression = options.compression == .snappy ? leveldb_snappy_compression : leveldb_no_compression
        unsafe leveldb_options_set_compression(pointer, Int32(compression))
        let base = unsafe options.testHooks.environment?.environment()
        unsafe logSync = EngineLogSync(
            base: base, leastByteCount: options.backgroundSyncByteCount,
            isWanted: !options.testHooks.leavesLogsToLevelDB)
        if let environment = unsafe logSync.environment ?? base {
            unsafe leveldb_options_set_env(pointer, environment)
        }
    }

    deinit {
        unsafe leveldb_options_destroy(pointer)
        unsafe leveldb_cache_destroy(cache)
        if let filter = unsafe filter {
            unsafe leveldb_filterpolicy_destroy(filter)
        }
    }
}

// The environment that syncs LevelDB's log while LevelDB inserts the logged writes. It is destroyed after the database.

/// Owns a `stratus_log_environment`, if the loaded LevelDB supports one.
@safe struct EngineLogSync: ~Copyable {
    private let pointer: OpaquePointer?

    /// Whether this version of LevelDB supports one.
    static func supports(majorVersion: Int, minorVersion: Int) -> Bool {
        stratus_log_environment_supports(Int32(clamping: majorVersion), Int32(clamping: minorVersion))
    }

    /// Wraps the environment `base`, or LevelDB's own if that is nil. Syncs of fewer bytes than `leastByteCount` are
    /// waited for at once.
    init(base: OpaquePointer?, leastByteCount: Int, isWanted: Bool = true) {
        unsafe pointer = isWanted ? stratus_log_environment_create(base, max(0, leastByteCount)) : nil
    }

    deinit {
        if let pointer = unsafe pointer { unsafe stratus_log_environment_destroy(pointer) }
    }

    /// The `leveldb_env_t *` for LevelDB's options, or nil if there is none: LevelDB then waits for each sync itself.
    var environment: OpaquePointer? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe stratus_log_environment_pointer(pointer)
    }

    /// The number of the log to which LevelDB appended last; nil if there is no environment or nothing was appended.
    var writtenLog: UInt64? {
        guard let pointer = unsafe pointer else { return nil }
        let number = unsafe stratus_log_environment_written_log(pointer)
        return number == 0 ? nil : number
    }

    /// Waits until the log of the last write is durable. If the sync fails, sets `error`, unless it is already set.
    @unsafe func finish(_ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
        if let pointer = unsafe pointer { unsafe stratus_log_environment_finish_sync(pointer, error) }
    }
}

extension EngineError {
    /// Runs a C call on the database at `place` and throws the error text that it left in its slot.
    static func check<Result>(
        _ place: EnginePlace, _ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) throws(EngineError) -> Result {
        var slot: UnsafeMutablePointer<CChar>?
        let result = unsafe call(&slot)
        guard let text = unsafe slot else { return result }
        defer { unsafe leveldb_free(text) }
        throw EngineError(text: place.asGiven(unsafe String(cString: text)))
    }
}
