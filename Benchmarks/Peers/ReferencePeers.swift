// LMDB and RocksDB with nothing above them, as references without bars: the very keys and values that the record layer
// has planned, each batch durable. RocksDB's block cache is as large as LevelDB's; LMDB has none, it maps its file.
//
// Unsafe: the handles live from `init` to `close`; a value of LMDB is valid until its transaction ends, one of RocksDB
// until it is freed.

import CLMDB
import CRocksDB
import Foundation
import StratusLevelDB

/// A key-value store that holds the keys and values of our records.
protocol ReferencePeer {
    /// One durable commit.
    func write(_ mutations: [(key: [UInt8], value: [UInt8]?)]) throws
    /// Reads the values under these keys, and returns their bytes, in one snapshot where the store needs one.
    func byteCount(of keys: [[UInt8]]) throws -> Int
    /// Reads the entries whose keys begin with `prefix`, in their order, and returns their number.
    func entryCount(below prefix: [UInt8]) throws -> Int
    /// What the store says of its compactions; it changes while one runs.
    var statisticsText: String { get }
    func close()
}

/// LMDB: a B+ tree in a mapped file. A commit writes the pages that changed and syncs twice.
@safe final class LMDBPeer: ReferencePeer {
    private var environment: OpaquePointer?
    private let database: MDB_dbi

    init(path: String, mapByteCount: Int = 64 << 30) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var environment: OpaquePointer?
        try unsafe Self.check(mdb_env_create(&environment))
        try unsafe Self.check(mdb_env_set_mapsize(environment, mapByteCount))
        // Neighbours of a random read are not wanted.
        try unsafe Self.check(mdb_env_open(environment, path, UInt32(MDB_NORDAHEAD), 0o644))
        unsafe self.environment = unsafe environment
        var transaction: OpaquePointer?
        var database = MDB_dbi()
        try unsafe Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
        try unsafe Self.check(mdb_dbi_open(transaction, nil, 0, &database))
        try unsafe Self.check(mdb_txn_commit(transaction))
        self.database = database
    }

    deinit { close() }

    /// It has none.
    var statisticsText: String { "" }

    func close() {
        if let environment = unsafe environment { unsafe mdb_env_close(environment) }
        unsafe environment = nil
    }

    func write(_ mutations: [(key: [UInt8], value: [UInt8]?)]) throws {
        var transaction: OpaquePointer?
        try unsafe Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
        do {
            for (key, value) in mutations {
                let status = unsafe Self.withValue(key) { key in
                    guard let value else { return unsafe mdb_del(transaction, database, key, nil) }
                    return unsafe Self.withValue(value) { unsafe mdb_put(transaction, database, key, $0, 0) }
                }
                if status != MDB_NOTFOUND { try Self.check(status) }
            }
        } catch {
            unsafe mdb_txn_abort(transaction)
            throw error
        }
        try unsafe Self.check(mdb_txn_commit(transaction))
    }

    func byteCount(of keys: [[UInt8]]) throws -> Int {
        var transaction: OpaquePointer?
        try unsafe Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { unsafe mdb_txn_abort(transaction) }
        var count = 0
        for key in keys {
            var value = unsafe MDB_val()
            try unsafe Self.check(Self.withValue(key) { unsafe mdb_get(transaction, database, $0, &value) })
            // The value is where the file is mapped: copying it is what makes its pages be read.
            count += unsafe Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)).count
        }
        return count
    }

    func entryCount(below prefix: [UInt8]) throws -> Int {
        var transaction: OpaquePointer?
        try unsafe Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { unsafe mdb_txn_abort(transaction) }
        var cursor: OpaquePointer?
        try unsafe Self.check(mdb_cursor_open(transaction, database, &cursor))
        defer { unsafe mdb_cursor_close(cursor) }
        var count = 0
        var value = unsafe MDB_val()
        return try unsafe Self.withValue(prefix) { key in
            var status = unsafe mdb_cursor_get(cursor, key, &value, MDB_SET_RANGE)
            while status == MDB_SUCCESS {
                let found = unsafe UnsafeRawBufferPointer(start: key.pointee.mv_data, count: key.pointee.mv_size)
                guard unsafe found.starts(with: prefix) else { return count }
                // As in `byteCount`: copying is reading.
                _ = unsafe Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
                count += 1
                unsafe status = mdb_cursor_get(cursor, key, &value, MDB_NEXT)
            }
            if status != MDB_NOTFOUND { try Self.check(status) }
            return count
        }
    }

    @unsafe private static func withValue<Result>(
        _ bytes: [UInt8], _ body: (UnsafeMutablePointer<MDB_val>) throws -> Result
    ) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes { buffer in
            var value = unsafe MDB_val(
                mv_size: buffer.count, mv_data: UnsafeMutableRawPointer(mutating: buffer.baseAddress))
            return try unsafe body(&value)
        }
    }

    private static func check(_ status: Int32) throws {
        guard status == MDB_SUCCESS else { throw PeerError("LMDB: \(unsafe String(cString: mdb_strerror(status)))") }
    }
}

/// RocksDB: a log-structured tree with more of everything than LevelDB.
@safe final class RocksDBPeer: ReferencePeer {
    private let options: OpaquePointer?
    private let tables: OpaquePointer?
    private let cache: OpaquePointer?
    private let readOptions: OpaquePointer?
    private let writeOptions: OpaquePointer?
    private var database: OpaquePointer?

    init(path: String, like settings: LevelDBOptions = LevelDBOptions()) throws {
        unsafe options = rocksdb_options_create()
        unsafe tables = rocksdb_block_based_options_create()
        unsafe cache = rocksdb_cache_create_lru(settings.blockCacheByteCount)
        unsafe readOptions = rocksdb_readoptions_create()
        unsafe writeOptions = rocksdb_writeoptions_create()
        unsafe rocksdb_options_set_create_if_missing(options, 1)
        unsafe rocksdb_options_set_paranoid_checks(options, 1)
        unsafe rocksdb_options_set_write_buffer_size(options, settings.writeBufferByteCount)
        unsafe rocksdb_options_set_max_open_files(options, -1)
        unsafe rocksdb_options_set_compression(
            options, Int32(settings.compression == .snappy ? rocksdb_snappy_compression : rocksdb_no_compression))
        unsafe rocksdb_block_based_options_set_block_size(tables, settings.blockByteCount)
        unsafe rocksdb_block_based_options_set_block_cache(tables, cache)
        unsafe rocksdb_block_based_options_set_filter_policy(
            tables, rocksdb_filterpolicy_create_bloom_full(Double(settings.bloomFilterBitsPerKey)))
        unsafe rocksdb_options_set_block_based_table_factory(options, tables)
        unsafe rocksdb_writeoptions_set_sync(writeOptions, settings.syncsCommits ? 1 : 0)
        unsafe database = try Self.checked { unsafe rocksdb_open(options, path, $0) }
    }

    deinit {
        close()
        unsafe rocksdb_writeoptions_destroy(writeOptions)
        unsafe rocksdb_readoptions_destroy(readOptions)
        unsafe rocksdb_cache_destroy(cache)
        unsafe rocksdb_block_based_options_destroy(tables)
        unsafe rocksdb_options_destroy(options)
    }

    func close() {
        if let database = unsafe database { unsafe rocksdb_close(database) }
        unsafe database = nil
    }

    func write(_ mutations: [(key: [UInt8], value: [UInt8]?)]) throws {
        let batch = unsafe rocksdb_writebatch_create()
        defer { unsafe rocksdb_writebatch_destroy(batch) }
        for (key, value) in mutations {
            unsafe key.withCharacters { keyStart in
                guard let value else { return unsafe rocksdb_writebatch_delete(batch, keyStart, key.count) }
                unsafe value.withCharacters { valueStart in
                    unsafe rocksdb_writebatch_put(batch, keyStart, key.count, valueStart, value.count)
                }
            }
        }
        try unsafe Self.checked { unsafe rocksdb_write(database, writeOptions, batch, $0) }
    }

    func byteCount(of keys: [[UInt8]]) throws -> Int {
        var total = 0
        for key in keys {
            var count = 0
            let found = try unsafe key.withCharacters { start in
                try unsafe Self.checked { unsafe rocksdb_get(database, readOptions, start, key.count, &count, $0) }
            }
            guard let value = unsafe found else { throw PeerError("A record is missing in RocksDB.") }
            unsafe rocksdb_free(value)
            total += count
        }
        return total
    }

    func entryCount(below prefix: [UInt8]) throws -> Int {
        let iterator = unsafe rocksdb_create_iterator(database, readOptions)
        defer { unsafe rocksdb_iter_destroy(iterator) }
        unsafe prefix.withCharacters { unsafe rocksdb_iter_seek(iterator, $0, prefix.count) }
        var count = 0
        while unsafe rocksdb_iter_valid(iterator) != 0 {
            var keyCount = 0
            let key = unsafe rocksdb_iter_key(iterator, &keyCount)
            guard unsafe UnsafeRawBufferPointer(start: key, count: keyCount).starts(with: prefix) else { break }
            var valueCount = 0
            let value = unsafe rocksdb_iter_value(iterator, &valueCount)
            _ = unsafe Array(UnsafeRawBufferPointer(start: value, count: valueCount))
            count += 1
            unsafe rocksdb_iter_next(iterator)
        }
        try unsafe Self.checked { unsafe rocksdb_iter_get_error(iterator, $0) }
        return count
    }

    var statisticsText: String {
        ["rocksdb.num-running-compactions", "rocksdb.compaction-pending", "rocksdb.levelstats"].map { name in
            guard let text = unsafe rocksdb_property_value(database, name) else { return "" }
            defer { unsafe rocksdb_free(text) }
            return unsafe String(cString: text)
        }
        .joined(separator: "\n")
    }

    @discardableResult
    private static func checked<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) throws -> Result {
        try unsafe PeerError.checked(rocksdb_free, body)
    }
}
