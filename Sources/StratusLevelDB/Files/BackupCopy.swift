// Copies the files of a store that may be open and written meanwhile, by this process or another, without cooperation.
//
// Invariants:
//   1. Only tables that the MANIFEST names are linked. LevelDB never writes to a table again once the MANIFEST names
//      it. Any other table may still be written, and its number reused, which through a shared link would destroy the
//      *live* store. CURRENT, MANIFEST and logs, to which LevelDB appends, are copied, never linked.
//   2. Logs are copied newest first. When the newest exists, the older ones are complete; otherwise half of a log could
//      be copied, the log grow, and a newer one be copied after it: commits would be lost in the middle. A log's copy
//      ends where the log ended when it was opened, so that the copy as a whole is a prefix of the commits.
//   3. The copy counts only if CURRENT and MANIFEST are unchanged afterwards: LevelDB removes tables and logs only
//      after it has written a change to the MANIFEST, to which it only ever appends, so the same file of the same
//      length is unchanged. Otherwise the attempt is repeated, keeping the tables it has and reading on in the
//      MANIFEST.
//   4. The copy has its own directory. If it must be durable, every file and name in it is synced once it counts.
//
// The source's LOCK is never opened: see `StoreHolder`.

internal import Glibc
internal import StratusStore

/// What a copy consists of.
package struct LevelDBBackupReport: Sendable {
    /// Entries read when the copy was verified.
    package var entryCount = 0
    package var linkedTableCount = 0
    package var copiedTableCount = 0
    package var logCount = 0
    /// How many times the store was read until nothing changed meanwhile.
    package var attemptCount = 0
    /// Unfinished directories of other backups to the same destination: they still run, or `sweepUnfinishedCopies` has
    /// not removed them.
    package var unfinishedPaths: [String] = []
}

struct BackupCopy {
    /// Under full load the MANIFEST changes every few megabytes. An attempt takes milliseconds.
    private static let maximumAttemptCount = 1_000
    /// The attempts that must find the same fault in unchanged files before it is reported as corruption.
    private static let faultyAttemptCount = 20

    private let source: String
    private let target: String
    private var report = LevelDBBackupReport()

    /// CURRENT and the MANIFEST at the last attempt.
    private var current: (bytes: [UInt8], manifestName: String) = ([], "")
    private var manifest = Manifest()
    private var manifestIdentity: FileIdentity?
    private var unchangedAttemptCount = 0

    /// Copies the store in `source` into the empty directory `target`, durably with `syncs`. `progress` gets the number
    /// of tables done, and of all: each counts when it is there, and with `syncs` again when it is durable.
    static func make(
        of source: String, in target: String, syncs: Bool = true,
        progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBBackupReport {
        var copy = BackupCopy(source: source, target: target)
        do {
            while try copy.attempt({ progress($0, syncs ? 2 * $1 : $1) }) == false {
                if copy.report.attemptCount == maximumAttemptCount {
                    throw StoreError(
                        .unavailable, "The store changed faster than it could be copied: try again when it is calmer.",
                        ["path": source, "attempts": "\(maximumAttemptCount)"])
                }
            }
            guard syncs else { return copy.report }
            let tableCount = copy.manifest.tables.count
            var doneCount = tableCount
            for name in try SystemFiles.names(in: target) {
                try SystemFiles.sync("\(target)/\(name)")
                if case .table = StoreFileName(name) { doneCount += 1 }
                progress(doneCount, 2 * tableCount)
            }
            try SystemFiles.syncDirectory(target)
            return copy.report
        } catch {
            // Files disappear from a store that is being emptied.
            if (try? StoreMarker.read(in: source))?.isEmptying == true { throw Emptying.error(source) }
            throw (error as? SystemError)?.storeError ?? error
        }
    }

    private init(source: String, target: String) {
        self.source = source
        self.target = target
    }

    /// Returns whether the copy is consistent.
    private mutating func attempt(_ progress: (Int, Int) -> Void) throws -> Bool {
        report.attemptCount += 1
        guard try readOn() else { return false }
        guard manifest.end == .whole else {
            // LevelDB may be appending. If it stays like this, it is damage.
            try checkIsChanging(
                "The MANIFEST of the store is damaged: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                current.manifestName)
            return false
        }
        progress(0, manifest.tables.count)
        // Read before `names`: a log exists before it is noted, so it is in that list.
        let acknowledged = AcknowledgedLogs.numbers(among: try SystemFiles.names(in: source)).filter(manifest.isLive)
        let names = try SystemFiles.names(in: source)
        guard try takeTables(names, progress), try takeLogs(names), try isUnchanged() else { return false }
        for log in acknowledged { try SystemFiles.create("\(target)/\(StoreFileName.acknowledgedName(log))", []) }
        try SystemFiles.create("\(target)/\(current.manifestName)", manifest.bytes)
        try SystemFiles.create("\(target)/\(StoreFileName.currentName)", current.bytes)
        return true
    }

    /// Reads CURRENT, and what the MANIFEST has got since the last attempt. Returns false if CURRENT names a MANIFEST
    /// that is gone.
    private mutating func readOn() throws -> Bool {
        unchangedAttemptCount += 1
        let found = try Manifest.readCurrent(in: source)
        let identity = try SystemFiles.status("\(source)/\(found.manifestName)")?.identity
        if found != current || identity != manifestIdentity { manifest = Manifest() }
        (current, manifestIdentity) = (found, identity)
        guard identity != nil else {
            try checkIsChanging("The MANIFEST that CURRENT names is missing: restore a backup.", found.manifestName)
            return false
        }
        let more = try SystemFiles.read("\(source)/\(found.manifestName)", from: manifest.bytes.count)
        if !more.isEmpty { unchangedAttemptCount = 0 }
        guard manifest.extend(more) else {
            throw StoreError.damagedFile(
                "The MANIFEST of the store is damaged: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                found.manifestName, of: source)
        }
        return true
    }

    private func isUnchanged() throws -> Bool {
        let status = try SystemFiles.status("\(source)/\(current.manifestName)")
        let found = try Manifest.readCurrent(in: source).bytes
        return status?.identity == manifestIdentity && status?.byteCount == manifest.bytes.count
            && found == current.bytes
    }

    /// Throws if the store has not changed for many attempts, so that its fault is permanent.
    private func checkIsChanging(_ message: StaticString, _ file: String) throws {
        if unchangedAttemptCount > Self.faultyAttemptCount { throw StoreError.damagedFile(message, file, of: source) }
    }

    /// Links or copies the tables. Returns false if one is gone.
    private mutating func takeTables(_ names: [String], _ progress: (Int, Int) -> Void) throws -> Bool {
        var tableNames: [UInt64: String] = [:]
        for name in names {
            if case .table(let number) = StoreFileName(name) { tableNames[number] = name }
        }
        var wanted: Set<String> = []
        for number in manifest.tables.keys {
            guard let name = tableNames[number] else {
                try checkIsChanging("A table of the store is missing: restore a backup.", "\(number).ldb")
                return false
            }
            wanted.insert(name)
        }
        let present = Set(try SystemFiles.names(in: target))
        for name in present where !wanted.contains(name) {
            if case .table = StoreFileName(name) { try SystemFiles.remove("\(target)/\(name)") }
        }
        for (index, name) in wanted.subtracting(present).sorted().enumerated() {
            do {
                progress(index, wanted.count)
                try take(name)
            } catch {
                if error.number == ENOENT { return false }
                throw error
            }
        }
        progress(wanted.count, wanted.count)
        return true
    }

    private mutating func take(_ name: String) throws(SystemError) {
        do {
            try SystemFiles.link("\(source)/\(name)", to: "\(target)/\(name)")
            report.linkedTableCount += 1
        } catch let error where [EXDEV, EPERM, EMLINK, ENOTSUP].contains(error.number) {
            try SystemFiles.copy("\(source)/\(name)", to: "\(target)/\(name)")
            report.copiedTableCount += 1
        }
    }

    /// Copies the logs. Returns false if one is gone.
    private mutating func takeLogs(_ names: [String]) throws -> Bool {
        for name in try SystemFiles.names(in: target) {
            if case .log = StoreFileName(name) { try SystemFiles.remove("\(target)/\(name)") }
        }
        let logs = manifest.liveLogs(among: names)
        for (_, name) in logs {
            do {
                try SystemFiles.copy("\(source)/\(name)", to: "\(target)/\(name)")
            } catch {
                if error.number == ENOENT { return false }
                throw error
            }
        }
        report.logCount = logs.count
        return true
    }
}
