// Copies the files of a store that may be open and written meanwhile, by this process or another, without its help.
//
// Invariants:
//   1. Only tables that the MANIFEST names are linked. LevelDB never writes to a table again once the MANIFEST names it;
//      any other table may be written still, and its number given out again, which through a shared link would destroy
//      the *live* store. CURRENT, MANIFEST and logs, to which LevelDB appends, are copied, never linked.
//   2. Logs are copied newest first. When the newest exists, the older ones are complete; the other way round a log
//      could be copied half, grow, and be followed by a copied newer one: commits lost in the middle. A log's copy ends
//      where the log ended when it was opened, so that the copy as a whole is a prefix of the commits.
//   3. The copy counts only if CURRENT and MANIFEST are the same bytes afterwards: LevelDB removes tables and logs only
//      after it has written a change to the MANIFEST. Otherwise the attempt is repeated, keeping the tables it has.
//   4. The copy is made in a directory of its own, and every file and name in it is synced.
//
// The source's LOCK is never opened: see `StoreHolder`.

internal import Glibc
internal import StratusStore

struct BackupCopy {
    /// Under a full load of writes the MANIFEST changes every few megabytes; an attempt takes milliseconds.
    private static let maximumAttemptCount = 100

    private(set) var linkedTableCount = 0
    private(set) var copiedTableCount = 0
    private(set) var logCount = 0
    private(set) var attemptCount = 0

    /// Copies the store in `source` into the empty directory `target`.
    static func make(of source: String, in target: String) throws -> BackupCopy {
        var copy = BackupCopy()
        do {
            while try !copy.attempt(source, target) {
                if copy.attemptCount == maximumAttemptCount {
                    throw StoreError(
                        .unavailable, "The store changed faster than it could be copied: try again when it is calmer.",
                        ["path": source, "attempts": "\(maximumAttemptCount)"])
                }
            }
            return copy
        } catch let error as SystemError {
            throw error.storeError
        }
    }

    /// Returns whether the copy is consistent.
    private mutating func attempt(_ source: String, _ target: String) throws -> Bool {
        attemptCount += 1
        let before = try Manifest.read(in: source)
        guard let manifest = Manifest(before.manifest), manifest.end == .whole else {
            // LevelDB may be in the middle of appending to it; damage is told apart by looking again.
            if try Manifest.read(in: source) == before, attemptCount > 3 {
                throw StoreError(
                    .corruption, "The MANIFEST of the store is damaged: restore a backup, or repair the store.",
                    ["path": source, "candidateFiles": before.manifestName])
            }
            return false
        }
        let names = try FileSystem.names(in: source)
        guard try takeTables(manifest, names, source, target), try takeLogs(manifest, names, source, target) else {
            return false
        }
        guard try Manifest.read(in: source) == before else { return false }
        try FileSystem.create("\(target)/\(before.manifestName)", before.manifest)
        try FileSystem.create("\(target)/\(StoreFileName.currentName)", before.current)
        try FileSystem.syncDirectory(target)
        return true
    }

    /// Returns false when a table has gone.
    private mutating func takeTables(
        _ manifest: Manifest, _ names: [String], _ source: String, _ target: String
    ) throws -> Bool {
        var wanted: Set<String> = []
        for number in manifest.tables.keys {
            guard let name = names.first(where: { StoreFileName($0) == .table(number) }) else {
                return try mustExist(number, manifest, source)
            }
            wanted.insert(name)
        }
        let present = Set(try FileSystem.names(in: target))
        for name in present where !wanted.contains(name) {
            if case .table = StoreFileName(name) { try FileSystem.remove("\(target)/\(name)") }
        }
        for name in wanted.subtracting(present).sorted() {
            do {
                try take(name, source, target)
            } catch {
                if error.number == ENOENT { return false }
                throw error
            }
        }
        return true
    }

    /// A named table that is not there has been compacted away, or is lost: an unchanged MANIFEST tells.
    private func mustExist(_ number: UInt64, _ manifest: Manifest, _ source: String) throws -> Bool {
        if attemptCount > 3, let now = Manifest(try Manifest.read(in: source).manifest), now.tables[number] != nil,
            !(try FileSystem.names(in: source).contains { StoreFileName($0) == .table(number) })
        {
            throw StoreError(
                .corruption, "A table of the store is missing: restore a backup, or repair the store.",
                ["path": source, "candidateFiles": "\(number).ldb"])
        }
        return false
    }

    private mutating func take(_ name: String, _ source: String, _ target: String) throws(SystemError) {
        do {
            try FileSystem.link("\(source)/\(name)", to: "\(target)/\(name)")
            linkedTableCount += 1
        } catch  where [EXDEV, EPERM, EMLINK, ENOTSUP].contains(error.number) {
            try FileSystem.copy("\(source)/\(name)", to: "\(target)/\(name)")
            copiedTableCount += 1
        }
    }

    /// Returns false when a log has gone.
    private mutating func takeLogs(
        _ manifest: Manifest, _ names: [String], _ source: String, _ target: String
    ) throws -> Bool {
        for name in try FileSystem.names(in: target) {
            if case .log = StoreFileName(name) { try FileSystem.remove("\(target)/\(name)") }
        }
        let logs = manifest.liveLogs(among: names)
        for name in logs {
            do {
                try FileSystem.copy("\(source)/\(name)", to: "\(target)/\(name)")
            } catch {
                if error.number == ENOENT { return false }
                throw error
            }
        }
        logCount = logs.count
        return true
    }
}
