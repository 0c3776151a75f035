// What lies at a path, found out before LevelDB touches anything, and the claim on it while it is open.
//
// The steps of `claim`, each ending with its own error:
//   1. Nothing there: make the directory, or refuse. Something else than a directory: refuse.
//   2. Note in this process's registry that the directory is open; from here on failures take the note back.
//   3. May the process read and write it? Does another process hold its lock?
//   4. The marker: a newer format, an older one, one whose creation was interrupted.
//   5. No marker: an empty directory becomes a store; anything else belongs to somebody else.
//   6. A finished store has a CURRENT that names a MANIFEST, and neither the MANIFEST's nor a live log's last block is
//      damaged in the one way that LevelDB takes for the end of the file.

internal import Glibc
internal import StratusStore

/// A directory that this process may open as a store. Release it when the store is closed.
struct StoreDirectory: Sendable {
    let path: String
    let identity: FileIdentity
    /// Whether LevelDB has yet to create the database: call `finishCreation` afterwards.
    let isNew: Bool
    private let formatVersion: Int

    static func claim(_ path: String, createIfMissing: Bool, formatVersion: Int) throws -> StoreDirectory {
        do {
            let identity = try locate(path, createIfMissing: createIfMissing)
            try OpenStores.insert(identity, path: path)
            do {
                let isNew = try inspect(path, createIfMissing: createIfMissing, formatVersion: formatVersion)
                return StoreDirectory(path: path, identity: identity, isNew: isNew, formatVersion: formatVersion)
            } catch {
                OpenStores.remove(identity)
                throw error
            }
        } catch let error as SystemError {
            throw error.storeError
        }
    }

    /// Claims a store that does not open, to be repaired. Steps 2 and 3 and the formats of 4, and nothing is created.
    ///
    /// Throws `.notAStore`, `.held`, `.newerFormat` and `.unavailable` for an older one.
    static func claimDamaged(_ path: String, formatVersion: Int) throws -> StoreDirectory {
        do {
            let identity = try locate(path, createIfMissing: false)
            try OpenStores.insert(identity, path: path)
            do {
                guard let marker = try StoreMarker.read(in: path) else {
                    throw StoreError(
                        .notAStore, "The directory is not a store: name the directory of a store.", ["path": path])
                }
                try marker.check(supported: formatVersion, path: path)
                if let holder = try StoreHolder.find(in: path) { throw holder.error(path: path) }
                return StoreDirectory(path: path, identity: identity, isNew: false, formatVersion: formatVersion)
            } catch {
                OpenStores.remove(identity)
                throw error
            }
        } catch let error as SystemError {
            throw error.storeError
        }
    }

    func release() {
        OpenStores.remove(identity)
    }

    /// Says in the marker that the store is complete.
    func finishCreation() throws {
        do {
            try StoreMarker(formatVersion: formatVersion, isCreating: false).write(in: path)
        } catch { throw error.storeError }
    }

    // MARK: The steps

    private static func locate(_ path: String, createIfMissing: Bool) throws -> FileIdentity {
        if let status = try FileSystem.status(path) {
            guard status.kind == .directory else {
                throw StoreError(
                    .notAStore, "The path is not a directory: name the directory of a store.",
                    ["path": path, "found": status.kind == .file ? "a file" : "a special file"])
            }
            return status.identity
        }
        guard createIfMissing else {
            throw StoreError(
                .notAStore, "There is nothing at the path: check its spelling, or create the store.",
                ["path": path, "found": "nothing"])
        }
        let parent = FileSystem.parent(of: path)
        guard try FileSystem.status(parent)?.kind == .directory else {
            throw StoreError(
                .notAStore, "There is no folder to hold the store: create it first.",
                ["path": path, "found": "nothing", "missingFolder": parent])
        }
        try FileSystem.makeDirectory(path)
        try FileSystem.syncDirectory(parent)
        guard let status = try FileSystem.status(path) else {
            throw SystemError(number: ENOENT, call: "stat", path: path)
        }
        return status.identity
    }

    /// Steps 3 to 6. Returns whether LevelDB has yet to create the database.
    private static func inspect(_ path: String, createIfMissing: Bool, formatVersion: Int) throws -> Bool {
        try FileSystem.checkAccess(path, R_OK | W_OK | X_OK)
        let names = try FileSystem.names(in: path)
        if let holder = try StoreHolder.find(in: path) { throw holder.error(path: path) }
        guard let marker = try StoreMarker.read(in: path) else {
            try checkIsEmpty(path, names, createIfMissing: createIfMissing)
            try StoreMarker(formatVersion: formatVersion, isCreating: true).write(in: path)
            return true
        }
        try marker.check(supported: formatVersion, path: path)
        if marker.isCreating {
            guard createIfMissing else {
                throw StoreError(
                    .notAStore, "The store was never completely created: create it again.",
                    ["path": path, "found": "an interrupted creation"])
            }
            return true
        }
        try checkLogs(path, names)
        return false
    }

    private static func checkIsEmpty(_ path: String, _ names: [String], createIfMissing: Bool) throws {
        if names.contains(StoreFileName.currentName) {
            throw StoreError(
                .notAStore, "The directory is another program's LevelDB database: choose another directory.",
                ["path": path, "found": "a LevelDB database of another program"])
        }
        let foreign = names.filter { $0 != StoreMarker.temporaryFileName }
        if !foreign.isEmpty {
            let shown = foreign.prefix(3).joined(separator: ", ") + (foreign.count > 3 ? ", …" : "")
            throw StoreError(
                .notAStore, "The directory holds other files: choose an empty one, or that of a store.",
                ["path": path, "found": "\(foreign.count) other files: \(shown)"])
        }
        if !createIfMissing {
            throw StoreError(
                .notAStore, "The directory is empty: check its spelling, or create the store.",
                ["path": path, "found": "an empty directory"])
        }
    }

    private static func checkLogs(_ path: String, _ names: [String]) throws {
        let source = try Manifest.read(in: path)
        guard let manifest = Manifest(source.manifest), !manifest.isDamaged else {
            throw damageError(path, source.manifestName)
        }
        for log in manifest.liveLogs(among: names) {
            if case .damaged = try LogFile.lastBlockEnd("\(path)/\(log)") { throw damageError(path, log) }
        }
    }

    private static func damageError(_ path: String, _ file: String) -> StoreError {
        StoreError(
            .corruption,
            "A log of the store is damaged: restore a backup, or run 'stratus repair-losing-damaged-data'.",
            ["path": path, "candidateFiles": file])
    }
}
