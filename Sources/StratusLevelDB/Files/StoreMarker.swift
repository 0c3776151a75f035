// The marker file, which says that a directory is a store of ours, and its format:
//
//   stratus store
//   format N            (the number of the format)
//   creating            (only while the store is being created)
//   emptying            (instead of `creating`, only while the store is being emptied)
//
// The marker of a new store is written with `creating` before LevelDB creates anything, and again without it when
// LevelDB has finished. So after a crash between these writes, nothing was acknowledged and the store may be created
// again; and a finished store without CURRENT is known to be damaged, not new. With `emptying`, everything else in the
// directory must be removed before the store is created (see `Emptying`).

internal import Glibc
internal import StratusStore

struct StoreMarker: Equatable {
    static let fileName = "STRATUS"
    static let temporaryFileName = "STRATUS.new"

    var formatVersion: Int
    var isCreating = false
    var isEmptying = false

    var contents: String {
        "stratus store\nformat \(formatVersion)\n" + (isEmptying ? "emptying\n" : isCreating ? "creating\n" : "")
    }

}

extension StoreMarker {
    /// Nil if the bytes are no marker.
    init?(_ bytes: [UInt8]) {
        // Unknown lines belong to newer versions: the format number decides.
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.count >= 2, lines[0] == "stratus store", lines[1].hasPrefix("format "),
            let version = Int(lines[1].dropFirst(7)), version > 0
        else { return nil }
        formatVersion = version
        isCreating = lines.count > 2 && lines[2] == "creating"
        isEmptying = lines.count > 2 && lines[2] == "emptying"
    }

    /// The marker of a directory, or nil if there is none. Throws `.corruption` if it cannot be decoded.
    static func read(in directory: String) throws -> StoreMarker? {
        let bytes: [UInt8]
        do {
            bytes = try SystemFiles.read("\(directory)/\(fileName)")
        } catch let error where [ENOENT, ENOTDIR].contains(error.number) {
            return nil
        } catch { throw error.storeError }
        guard let marker = StoreMarker(bytes) else {
            throw StoreError(
                .corruption, "The store's marker file is damaged: restore it from a backup.",
                ["path": directory, "file": fileName], damage: .files)
        }
        return marker
    }

    /// Removes the file of a process that ended while it wrote the marker.
    static func removeTemporaryFile(in directory: String) throws(SystemError) {
        try SystemFiles.remove("\(directory)/\(temporaryFileName)")
    }

    /// Writes the marker to a directory, durably and atomically.
    func write(in directory: String) throws(SystemError) {
        let temporary = "\(directory)/\(Self.temporaryFileName)"
        try Self.removeTemporaryFile(in: directory)
        try SystemFiles.create(temporary, Array(contents.utf8))
        try SystemFiles.sync(temporary)
        try SystemFiles.rename(temporary, to: "\(directory)/\(Self.fileName)")
        try SystemFiles.syncDirectory(directory)
    }

    /// Throws if this software, which supports formats up to `supported`, must not open the store: `.newerFormat`, and
    /// `.olderFormat` unless `takesOlder`.
    func check(supported: Int, takesOlder: Bool, path: String) throws {
        let fields = ["path": path, "found": "\(formatVersion)", "supported": "\(supported)"]
        if formatVersion > supported {
            throw StoreError(
                .newerFormat, "The store was written by a newer version of this software: use that one.", fields)
        }
        if formatVersion < supported, !takesOlder {
            throw StoreError(
                .olderFormat, "The store is of an older format: migrate it first, with 'stratus migrate'.", fields)
        }
    }
}

// Emptying. A store is emptied in its own directory, so that its files never have another name and its locks stay held.
//
//   1. While the store is open, its marker gets the line `emptying`, durably. From now on the store counts as empty.
//   2. The store is closed, and opened again, by this process or another.
//   3. The process that opens it removes everything except the marker and the locks, under the locks, and LevelDB
//      creates the database.
//   4. The marker loses the line, as at the end of every creation. That write syncs the removals, too.
//
// A crash before step 1 leaves the old store, a crash after it a store that the next process empties. A locked file is
// never removed: a process that queries the lock must find the same file.

enum Emptying {
    /// Receives the number of removed files and directories, and of all.
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
    /// Throws `StoreError`. The store is then unchanged, except with `.commitUnknown`: it must then accept no more
    /// writes.
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
        let names = try SystemFiles.names(in: path).filter { !keptNames.contains($0) }
        var total = 0
        for name in names { total += try SystemFiles.countTree("\(path)/\(name)") }
        var done = 0
        listener(done, total)
        for name in names {
            try SystemFiles.removeTree("\(path)/\(name)") {
                done += 1
                listener(done, max(done, total))
            }
        }
    }
}
