// A store is emptied in its own directory, so that nothing of it ever lies under another name and its locks stay held.
//
//   1. While the store is open, its marker gets the line `emptying`, durably. From here on the store counts as empty.
//   2. The store is closed, and opened again, here or by any other process.
//   3. The process that opens it removes all but the marker and the locks, under the locks, and has LevelDB create the database.
//   4. The marker loses the line, as at the end of every creation. That write syncs the removals, too.
//
// So a crash before 1 leaves the old store, and a crash after it a store that the next process empties. A file that a lock
// is held on is never removed: a process that asks for the lock must find the same file.

internal import StratusStore

enum Emptying {
    /// Hears how many files and directories were removed, and of how many.
    typealias Listener = (_ done: Int, _ total: Int) -> Void

    private static let keptNames: Set<String> = [
        StoreMarker.fileName, StoreLock.fileName, StoreFileName.lockName,
    ]

    static func error(_ path: String) -> StoreError {
        StoreError(
            .unavailable,
            "The store is being emptied: open it, which finishes that, or wait for the process that does it.",
            ["path": path])
    }

    /// Step 1, on a store that this process has open.
    ///
    /// Throws `StoreError`: the store is as it was, but with `.commitUnknown`, after which it must take no more writes.
    static func begin(in path: String, formatVersion: Int) throws {
        do {
            try StoreMarker(formatVersion: formatVersion, isEmptying: true).write(in: path)
        } catch {
            let cause = error
            do {
                try StoreMarker(formatVersion: formatVersion).write(in: path)
            } catch {
                throw StoreError(
                    .commitUnknown, "It is not known whether the store will be emptied: open it again.", ["path": path],
                    cause: "\(cause.storeError)")
            }
            throw cause.storeError
        }
    }

    /// Step 3, without the creation.
    static func finish(in path: String, _ listener: Listener) throws(SystemError) {
        let names = try FileSystem.names(in: path).filter { !keptNames.contains($0) }
        var total = 0
        for name in names { total += try FileSystem.countTree("\(path)/\(name)") }
        var done = 0
        listener(done, total)
        for name in names {
            try FileSystem.removeTree("\(path)/\(name)") {
                done += 1
                listener(done, max(done, total))
            }
        }
    }
}
