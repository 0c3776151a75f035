// Which logs hold acknowledged commits: an empty file "<number>.acknowledged" for each, beside the log.
//
// A log that was never written to is empty, and one that is not named by the MANIFEST may never have existed. Without these
// files, a log that has lost its name or its content could not be told from either.
//
// Invariants:
//   1. The name of a log is durable before its first commit is acknowledged: the directory is synced.
//   2. The file is created after that sync, and durable before the commit is acknowledged. So where the file is, the log is and
//      has content, whatever crash came in between.
//   3. Files are removed only for logs that are in tables: LevelDB switches to a third log only when the first is in a table, and
//      opening brings all of them there.

internal import StratusStore

/// Notes the logs of an open store. Used by one thread at a time, the flusher.
final class AcknowledgedLogs: @unchecked Sendable {  // because the lane has one flusher at a time
    private let lock: StoreLock
    /// The log that was noted last.
    private var newest: UInt64?

    init(_ lock: StoreLock) {
        self.lock = lock
    }

    /// To be called when a commit in the log is synced, before it is acknowledged.
    func note(_ log: UInt64) throws(SystemError) {
        guard log != newest else { return }
        let directory = lock.place.directory
        try lock.syncDirectory()
        do {
            try FileSystem.create("\(directory)/\(StoreFileName.acknowledgedName(log))", [])
        } catch {
            guard error.isExistence else { throw error }
        }
        try lock.syncDirectory()
        if let newest {
            Self.remove(Self.numbers(among: try FileSystem.names(in: directory)).filter { $0 < newest }, in: directory)
        }
        newest = log
    }

    /// The newest log with content, for a LevelDB that does not tell to which it has written.
    func newestWrittenLog() throws(SystemError) -> UInt64? {
        let directory = lock.place.directory
        var newest: UInt64?
        for name in try FileSystem.names(in: directory) {
            guard case .log(let number) = StoreFileName(name), number > newest ?? 0 else { continue }
            if try FileSystem.status("\(directory)/\(name)")?.byteCount ?? 0 > 0 { newest = number }
        }
        return newest
    }

    /// The logs that are noted among a directory's names.
    static func numbers(among names: [String]) -> Set<UInt64> {
        Set(
            names.compactMap { name in
                guard case .acknowledged(let number) = StoreFileName(name) else { return nil }
                return number
            })
    }

    /// Removes the notes of logs that are in tables. One that stays is passed over: its log is no longer live.
    static func remove(_ logs: Set<UInt64>, in directory: String) {
        for log in logs { try? FileSystem.remove("\(directory)/\(StoreFileName.acknowledgedName(log))") }
    }
}
