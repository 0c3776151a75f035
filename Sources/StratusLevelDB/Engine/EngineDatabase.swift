// An open LevelDB database, and the write batch it takes.
//
// Unsafe: the database pointer is made by `open` and lives until `close`, which is called once, by the store, when no
// reader, iterator or snapshot is left. LevelDB's functions may be called from any thread.

internal import CLevelDB

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

    /// Tests plant that nobody waits for syncs.
    init(_ place: EnginePlace, options: consuming EngineOptions, finishesSyncs: Bool = true) throws(EngineError) {
        self.finishesSyncs = finishesSyncs
        let pointer = unsafe options.pointer
        let name = place.name
        let opened = try unsafe EngineErrorSlot.check(place) { unsafe leveldb_open(pointer, name, $0) }
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

    /// Closes the database: its lock is free when this returns. Nothing of it may be used afterwards.
    func close() {
        if let handle = unsafe handle {
            unsafe leveldb_close(handle)
            unsafe self.handle = nil
        }
    }

    /// Writes a batch. With `synced` it is durable when this returns. To be called by one thread at a time.
    func write(_ batch: borrowing EngineWriteBatch, synced: Bool) throws(EngineError) {
        let writeOptions = unsafe synced ? syncedWrite : unsyncedWrite
        let batchPointer = unsafe batch.pointer
        try unsafe EngineErrorSlot.check(place) { error in
            unsafe leveldb_write(pointer, writeOptions, batchPointer, error)
            // The log of a large batch is synced while LevelDB inserts it, and LevelDB has not waited for that.
            if synced, finishesSyncs { unsafe options.logSync.finish(error) }
        }
    }

    /// The log to which the last write went; nil where LevelDB does not tell.
    var writtenLog: UInt64? { options.logSync.writtenLog }

    /// Salvages what it can of a database that is not open, and drops what it cannot read.
    static func repair(_ place: EnginePlace, options: borrowing EngineOptions) throws(EngineError) {
        let pointer = unsafe options.pointer
        let name = place.name
        try unsafe EngineErrorSlot.check(place) { unsafe leveldb_repair_db(pointer, name, $0) }
    }

    /// LevelDB's answer to a named question ("leveldb.stats", …), or nil when it does not know the name.
    func property(_ name: String) -> String? {
        guard let text = unsafe leveldb_property_value(pointer, name) else { return nil }
        defer { unsafe leveldb_free(text) }
        return unsafe String(cString: text)
    }

    /// About how many bytes of files the keys from `lower` up to `upper` take.
    func approximateByteCount(from lower: [UInt8], upTo upper: [UInt8]) -> Int {
        unsafe lower.withEngineBytes { lowerBytes in
            unsafe upper.withEngineBytes { upperBytes in
                var lowerPointer: UnsafePointer<CChar>? = unsafe lowerBytes.characters
                var upperPointer: UnsafePointer<CChar>? = unsafe upperBytes.characters
                var lowerCount = unsafe lowerBytes.count
                var upperCount = unsafe upperBytes.count
                var byteCount: UInt64 = 0
                unsafe leveldb_approximate_sizes(
                    pointer, 1, &lowerPointer, &lowerCount, &upperPointer, &upperCount, &byteCount)
                return Int(clamping: byteCount)
            }
        }
    }

    /// Rewrites the tables that hold keys from `lower` up to `upper`.
    func compact(from lower: [UInt8], upTo upper: [UInt8]) {
        unsafe lower.withEngineBytes { lowerBytes in
            unsafe upper.withEngineBytes { upperBytes in
                unsafe leveldb_compact_range(
                    pointer, lowerBytes.characters, lowerBytes.count, upperBytes.characters, upperBytes.count)
            }
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
