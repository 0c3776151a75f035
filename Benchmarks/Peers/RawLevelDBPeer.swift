// LevelDB with nothing above it: the floor under us. It writes the very keys and values that the record layer has
// planned, and walks up a chain with one `leveldb_get` a level on the same parent entries. Its options are ours
// (`LevelDBOptions`, checks and checksums included).
//
// Unsafe: the database pointer lives from `init` to `close`; what LevelDB returns is freed by the function that got it.

import CLevelDB
import CLogSync
import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

/// The same bytes in a bare LevelDB.
@safe final class RawLevelDBPeer: ReferencePeer, @unchecked Sendable {  // because LevelDB is; one thread has the batch
    private let options: OpaquePointer
    private let cache: OpaquePointer
    private let filter: OpaquePointer
    private let readOptions: OpaquePointer
    private let writeOptions: OpaquePointer
    private let batch: OpaquePointer
    private let logSync: OpaquePointer?
    private var database: OpaquePointer?

    /// With `syncsBeside` the log of a large batch is synced while LevelDB inserts the batch, as Stratus has it.
    init(path: String, like settings: LevelDBOptions = LevelDBOptions(), syncsBeside: Bool = false) throws {
        unsafe logSync =
            syncsBeside ? stratus_log_environment_create(nil, settings.backgroundSyncByteCount) : nil
        guard unsafe !syncsBeside || logSync != nil else { throw PeerError("CLogSync does not know this LevelDB.") }
        unsafe options = leveldb_options_create()
        unsafe cache = leveldb_cache_create_lru(settings.blockCacheByteCount)
        unsafe filter = leveldb_filterpolicy_create_bloom(Int32(settings.bloomFilterBitsPerKey))
        unsafe readOptions = leveldb_readoptions_create()
        unsafe writeOptions = leveldb_writeoptions_create()
        unsafe batch = leveldb_writebatch_create()
        unsafe leveldb_options_set_create_if_missing(options, 1)
        unsafe leveldb_options_set_cache(options, cache)
        unsafe leveldb_options_set_filter_policy(options, filter)
        unsafe leveldb_options_set_paranoid_checks(options, 1)
        unsafe leveldb_options_set_write_buffer_size(options, settings.writeBufferByteCount)
        unsafe leveldb_options_set_block_restart_interval(options, Int32(settings.blockRestartInterval))
        unsafe leveldb_options_set_max_file_size(options, settings.fileByteCount)
        unsafe leveldb_options_set_max_open_files(options, Int32(settings.maximumOpenFiles))
        unsafe leveldb_options_set_block_size(options, settings.blockByteCount)
        let compression = settings.compression == .snappy ? leveldb_snappy_compression : leveldb_no_compression
        unsafe leveldb_options_set_compression(options, Int32(compression))
        if let logSync = unsafe logSync {
            unsafe leveldb_options_set_env(options, stratus_log_environment_pointer(logSync))
        }
        unsafe leveldb_readoptions_set_verify_checksums(readOptions, 1)
        unsafe leveldb_writeoptions_set_sync(writeOptions, settings.syncsCommits ? 1 : 0)
        unsafe database = try Self.checked { unsafe leveldb_open(options, path, $0) }
    }

    deinit {
        close()
        unsafe leveldb_writebatch_destroy(batch)
        unsafe leveldb_writeoptions_destroy(writeOptions)
        unsafe leveldb_readoptions_destroy(readOptions)
        unsafe leveldb_options_destroy(options)
        unsafe leveldb_filterpolicy_destroy(filter)
        unsafe leveldb_cache_destroy(cache)
        if let logSync = unsafe logSync { unsafe stratus_log_environment_destroy(logSync) }
    }

    func close() {
        if let database = unsafe database { unsafe leveldb_close(database) }
        unsafe database = nil
    }

    /// One durable commit, by one thread at a time.
    func write(_ mutations: [(key: [UInt8], value: [UInt8]?)]) throws {
        unsafe leveldb_writebatch_clear(batch)
        try unsafe write(mutations, batch)
    }

    private func write(_ mutations: [(key: [UInt8], value: [UInt8]?)], _ batch: OpaquePointer?) throws {
        for (key, value) in mutations {
            unsafe key.withCharacters { keyStart in
                guard let value else { return unsafe leveldb_writebatch_delete(batch, keyStart, key.count) }
                unsafe value.withCharacters { valueStart in
                    unsafe leveldb_writebatch_put(batch, keyStart, key.count, valueStart, value.count)
                }
            }
        }
        try unsafe Self.checked { error in
            unsafe leveldb_write(database, writeOptions, batch, error)
            if let logSync = unsafe logSync { unsafe stratus_log_environment_finish_sync(logSync, error) }
        }
    }

    /// One durable commit, by any thread.
    func writeBesideOthers(_ mutations: [(key: [UInt8], value: [UInt8]?)]) throws {
        let own = unsafe leveldb_writebatch_create()
        defer { unsafe leveldb_writebatch_destroy(own) }
        try unsafe write(mutations, own)
    }

    /// Walks up from the record whose key in the parents keyspace is `key`, until a share root or the end of the chain.
    /// Returns the number of levels read. `prefix` is what every key of that keyspace begins with.
    func walk(from key: [UInt8], prefix: [UInt8]) throws -> Int {
        var key = key
        var levels = 0
        while true {
            var count = 0
            let found = try unsafe key.withCharacters { start in
                try unsafe Self.checked { unsafe leveldb_get(database, readOptions, start, key.count, &count, $0) }
            }
            guard let value = unsafe found else { throw PeerError("A parent entry is missing in the raw LevelDB.") }
            defer { unsafe leveldb_free(value) }
            levels += 1
            // The bytes of a `ParentEntry`: version, flags (1 has a parent, 2 is a share root), the parent's length and
            // name. The names are UUIDs: the length is one byte, and their bytes need no escapes, so the next key is
            // put together without a string.
            let entry = unsafe UnsafeRawBufferPointer(start: value, count: count)
            if unsafe entry[1] & 3 != 1 { return levels }
            key.removeAll(keepingCapacity: true)
            key.append(contentsOf: prefix)
            unsafe key.append(contentsOf: entry[3..<3 + Int(entry[2])])
            key.append(0)
        }
    }

    /// The number of bytes of the value under `key`, which is read and freed again.
    func byteCount(of key: [UInt8]) throws -> Int {
        var count = 0
        let found = try unsafe key.withCharacters { start in
            try unsafe Self.checked { unsafe leveldb_get(database, readOptions, start, key.count, &count, $0) }
        }
        guard let value = unsafe found else { throw PeerError("A record is missing in the raw LevelDB.") }
        unsafe leveldb_free(value)
        return count
    }

    func byteCount(of keys: [[UInt8]]) throws -> Int { try keys.reduce(0) { try $0 + byteCount(of: $1) } }

    func entryCount(below prefix: [UInt8]) throws -> Int {
        let iterator = unsafe leveldb_create_iterator(database, readOptions)
        defer { unsafe leveldb_iter_destroy(iterator) }
        unsafe prefix.withCharacters { unsafe leveldb_iter_seek(iterator, $0, prefix.count) }
        var count = 0
        while unsafe leveldb_iter_valid(iterator) != 0 {
            var keyCount = 0
            let key = unsafe leveldb_iter_key(iterator, &keyCount)
            guard unsafe UnsafeRawBufferPointer(start: key, count: keyCount).starts(with: prefix) else { break }
            var valueCount = 0
            let value = unsafe leveldb_iter_value(iterator, &valueCount)
            _ = unsafe Array(UnsafeRawBufferPointer(start: value, count: valueCount))
            count += 1
            unsafe leveldb_iter_next(iterator)
        }
        try unsafe Self.checked { unsafe leveldb_iter_get_error(iterator, $0) }
        return count
    }

    /// LevelDB begins to compact level 0 at one file more.
    static let idleFileCount = 3

    /// Waits until no compaction of level 0 is owed.
    func waitForLevelZero() { while levelZeroFileCount > Self.idleFileCount { usleep(1_000) } }

    /// Table files in level 0.
    private var levelZeroFileCount: Int {
        guard let text = unsafe leveldb_property_value(database, "leveldb.num-files-at-level0") else { return 0 }
        defer { unsafe leveldb_free(text) }
        return Int(unsafe String(cString: text)) ?? 0
    }

    /// What LevelDB says of its levels; it changes when a compaction ends.
    var statisticsText: String {
        guard let text = unsafe leveldb_property_value(database, "leveldb.stats") else { return "" }
        defer { unsafe leveldb_free(text) }
        return unsafe String(cString: text)
    }

    @discardableResult
    private static func checked<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) throws -> Result {
        try unsafe PeerError.checked(leveldb_free, body)
    }
}

extension LevelDBStore {
    /// Waits until no compaction of level 0 is owed.
    func waitForLevelZero() throws {
        while try figures().filesByLevel[0] > RawLevelDBPeer.idleFileCount { usleep(1_000) }
    }
}

extension StratusSide {
    /// Waits until no compaction of level 0 is owed.
    func waitForLevelZero() throws { try store.waitForLevelZero() }
}

extension [UInt8] {
    /// The bytes as C's stores take them.
    func withCharacters<Result>(_ body: (UnsafePointer<CChar>?) throws -> Result) rethrows -> Result {
        try unsafe withUnsafeBytes { unsafe try body($0.bindMemory(to: CChar.self).baseAddress) }
    }
}

extension PeerError {
    /// Calls a function of a store that leaves a text where it fails. `free` frees the text.
    @unsafe static func checked<Result>(
        _ free: (UnsafeMutableRawPointer?) -> Void,
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) throws -> Result {
        var message: UnsafeMutablePointer<CChar>?
        let result = unsafe body(&message)
        if let message = unsafe message {
            defer { unsafe free(message) }
            throw PeerError(unsafe String(cString: message))
        }
        return result
    }
}
