// LevelDB's options with the objects they refer to. A database refers to its cache and filter until it is closed, so
// this is owned by `EngineDatabase` and destroyed after it.
//
// Unsafe: the pointers are made in `init`, owned by this value alone and destroyed once, in `deinit`.

internal import CLevelDB

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
