// A LevelDB snapshot with its read options, and the iterators made on it.
//
// Unsafe: a snapshot is made from an open database and destroyed once, by its owner, before that database is closed;
// an iterator likewise before its snapshot. An iterator is used by one thread at a time. What it points at is valid
// until it is moved.

internal import CLevelDB

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

    /// Gives the snapshot back to LevelDB.
    func destroy() {
        precondition(!isDestroyed, "A snapshot was destroyed twice.")
        isDestroyed = true
        unsafe leveldb_readoptions_destroy(readOptions)
        unsafe leveldb_release_snapshot(database.pointer, snapshot)
    }

    /// Calls `body` with the value where `leveldb_get` left it, or returns false when the key is absent.
    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        var count = 0
        let found = try unsafe key.withEngineBytes { bytes throws(EngineError) in
            try unsafe EngineErrorSlot.check(database.place) {
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

    /// Gives the iterator back to LevelDB; it may not be used afterwards.
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

    func seekToFirst() {
        unsafe leveldb_iter_seek_to_first(live)
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

    /// Throws what went wrong on the way. LevelDB passes over a block it cannot read and stays valid behind it, so this
    /// is asked after every scan, however it ended.
    func check() throws(EngineError) {
        try unsafe EngineErrorSlot.check(place) { unsafe leveldb_iter_get_error(live, $0) }
    }
}
