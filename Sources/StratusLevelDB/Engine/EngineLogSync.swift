// The environment in which LevelDB's log is synced beside the insertion of what was logged, with an owner.
//
// Unsafe: the pointer is made in `init`, owned by this value alone and destroyed once, in `deinit`, after the database.

internal import CLogSync

/// Owns a `stratus_log_environment`, if there can be one for the LevelDB that is loaded.
@safe struct EngineLogSync: ~Copyable {
    private let pointer: OpaquePointer?

    /// Whether there can be one for this version of LevelDB.
    static func supports(majorVersion: Int, minorVersion: Int) -> Bool {
        stratus_log_environment_supports(Int32(clamping: majorVersion), Int32(clamping: minorVersion))
    }

    /// On the environment `base`, or LevelDB's own where that is nil. Smaller syncs than `leastByteCount` are waited for at once.
    init(base: OpaquePointer?, leastByteCount: Int, isWanted: Bool = true) {
        unsafe pointer = isWanted ? stratus_log_environment_create(base, max(0, leastByteCount)) : nil
    }

    deinit {
        if let pointer = unsafe pointer { unsafe stratus_log_environment_destroy(pointer) }
    }

    /// The `leveldb_env_t *` for LevelDB's options, or nil where there is none: LevelDB then waits for each sync itself.
    var environment: OpaquePointer? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe stratus_log_environment_pointer(pointer)
    }

    /// The number of the log to which LevelDB has appended last; nil where there is no environment, or nothing was appended.
    var writtenLog: UInt64? {
        guard let pointer = unsafe pointer else { return nil }
        let number = unsafe stratus_log_environment_written_log(pointer)
        return number == 0 ? nil : number
    }

    /// Waits until what the last write has logged is durable. Where it will not be, `error` says why, unless it says something
    /// already.
    @unsafe func finish(_ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
        if let pointer = unsafe pointer { unsafe stratus_log_environment_finish_sync(pointer, error) }
    }
}
