// Removes the files of contents that no record holds: at any time those that lost their last record in this
// session, which are kept in memory; and by a sweep over all files those that a crash or an abandoned request has left.
//
// Where contents are in the store, entries say which ones to remove (`StoredContents`), and the sweep looks for names
// without an entry.
//
// It is safe during all other requests; `AssetLeases` says why. It reads the ledger in a transaction, not in a
// snapshot: a transaction sees commits in flight, and fails if the outcome of a failed write is unknown.

import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

/// The position from which a sweep continues.
package struct AssetSweepPosition: Hashable, Sendable {
    fileprivate var ownerDirectory = ""
    fileprivate var folder = ""
    /// The last name that was seen, where contents are in the store.
    fileprivate var name: [UInt8]?
}

/// The state of a session's sweep.
enum AssetSessionSweep: Hashable, Sendable {
    /// It must begin, or continue at a position.
    case isDue(from: AssetSweepPosition?)
    case isRunning
    case isDone
}

/// The result of a sweep.
package struct AssetSweepReport: Hashable, Sendable {
    package var filesSeen = 0
    package var filesRemoved = 0
    /// Names that are not those of contents. They stay.
    package var foreignNames = 0
    /// Where to continue; nil after the last file.
    package var position: AssetSweepPosition?
}

/// Collects contents that no record holds.
package struct AssetCollector: Sendable {
    /// Contents checked in one transaction.
    static let batchCount = 256

    let engine: RecordEngine
    let store: AssetStore

    /// Removes the contents that lost their last record, or were uploaded and not used, in this session. Costs nothing
    /// if there are none.
    ///
    /// Returns how many files were removed. Throws the store's errors; then a sweep finds the remaining contents.
    @discardableResult
    package func collectOrphans() throws -> Int {
        if let stored = store.stored {
            stored.removeEndedLeases()
            try stored.removeExpiredLeases()
            return try stored.removeWaiting()
        }
        store.leases.queueExpired()
        var count = 0
        while true {
            let keys = store.leases.takeOrphans(limit: Self.batchCount)
            if keys.isEmpty { return count }
            count += try collect(keys)
        }
    }

    /// Removes what `collectOrphans` removes, and released copies, and continues the sweep. Each session sweeps once,
    /// for what an earlier crash has left, and again if more contents were orphaned than it can remember. Call it
    /// repeatedly in the background; it costs nothing if there is nothing to do.
    ///
    /// Returns how many contents were removed.
    @discardableResult
    package func collect(shouldContinue: () -> Bool = { true }) throws -> Int {
        removeReleasedCopies()
        let count = try collectOrphans()
        let before = store.sweep.withLock { state in
            // Forgotten orphans may be anywhere, also before the position of a sweep.
            if state != .isRunning, store.leases.takeOverflow() { state = .isDue(from: nil) }
            defer { if state != .isDone { state = .isRunning } }
            return state
        }
        guard case .isDue(let position) = before else { return count }
        do {
            let report = try sweep(from: position) { _ in shouldContinue() }
            store.sweep.withLock { $0 = report.position.map { .isDue(from: $0) } ?? .isDone }
            return count + report.filesRemoved
        } catch {
            store.sweep.withLock { $0 = before }
            throw error
        }
    }

    /// Removes the copies that no object of a client refers to any longer.
    package func removeReleasedCopies() { for path in store.releasedCopies.takeDue() { removeFile(path) } }

    /// Checks every file once, owner by owner, and removes those that no record holds.
    ///
    /// `shouldContinue` is called before each directory; after it returns false the report says where to continue.
    package func sweep(
        from position: AssetSweepPosition? = nil, shouldContinue: (AssetSweepReport) -> Bool = { _ in true }
    ) throws -> AssetSweepReport {
        var report = AssetSweepReport()
        if let stored = store.stored {
            try sweep(stored, from: position?.name, &report, shouldContinue)
            return report
        }
        for ownerDirectory in try store.names(in: store.directory.content)
        where ownerDirectory >= (position?.ownerDirectory ?? "") {
            guard let owner = AssetDirectory.owner(ofDirectory: ownerDirectory) else {
                report.foreignNames += 1
                continue
            }
            for folder in try store.names(in: store.directory.owner(owner)) {
                if let position, position.ownerDirectory == ownerDirectory, folder < position.folder { continue }
                guard shouldContinue(report) else {
                    report.position = AssetSweepPosition(ownerDirectory: ownerDirectory, folder: folder)
                    return report
                }
                try sweep(owner, folder, &report)
            }
        }
        return report
    }

    /// Checks the names of all contents in the store. `report` says where to continue.
    private func sweep(
        _ stored: StoredContents, from name: [UInt8]?, _ report: inout AssetSweepReport,
        _ shouldContinue: (AssetSweepReport) -> Bool
    ) throws {
        var last = name
        try stored.visitNames(in: .everything, after: name) { page in
            guard shouldContinue(report) else {
                report.position = AssetSweepPosition(name: last ?? [])
                return .stop
            }
            var uploads: [ContentKeyParts] = []
            for name in page {
                if let upload = try? GlobalKeys.readContentKey(name.span) {
                    uploads.append(upload)
                } else if (try? GlobalKeys.readOperationKey(name.span)) == nil {
                    report.foreignNames += 1
                }
            }
            report.filesSeen += uploads.count
            try stored.noteUnnamed(uploads)
            last = page.last
            return .next
        }
        report.filesRemoved += try collectOrphans()
    }

    /// Removes what earlier sessions left: contents that never got their place, and copies for clients. Called when the
    /// store is opened, before any file is stored.
    package func removeLeftovers() throws {
        // Those in the store are found by their entries.
        for name in try store.names(in: store.directory.incoming) {
            removeFile(store.directory.incoming + "/" + name)
        }
        for session in try store.names(in: store.directory.copies) {
            let path = store.directory.copies + "/" + session
            guard path != store.directory.sessionCopies else { continue }
            removeCopies(of: path)
        }
    }

    /// Removes every copy that this session has returned.
    package func removeCopies() { removeCopies(of: store.directory.sessionCopies) }

    /// Removes every content of a deleted owner, with its ledger. The owner's records must be out of reach before, and
    /// no new ones may come. Call it again if it was interrupted. `didLook` gets the number of files after each folder.
    package func forgetOwner(_ owner: UserName, didLook: (_ fileCount: Int) throws -> Void = { _ in }) throws {
        let limit = engine.options.limits.purgeBatchCount
        while true {
            let keys = try engine.read { try $0.store.keys(in: GlobalKeys.assets(of: owner), limit: limit) }
            if keys.isEmpty { break }
            try engine.transact { transaction in
                for key in keys { try transaction.delete(key) }
            }
        }
        if let stored = store.stored {
            try stored.removeLeases(of: owner)
            try stored.visitNames(in: GlobalKeys.contents(of: owner)) { page in
                try stored.noteUnnamed(try page.map { try GlobalKeys.readContentKey($0.span) })
                try didLook(page.count)
                return .next
            }
            _ = try stored.removeWaiting(in: GlobalKeys.contents(of: owner))
            return
        }
        for folder in try store.names(in: store.directory.owner(owner)) {
            var report = AssetSweepReport()
            try sweep(owner, folder, &report)
            try didLook(report.filesSeen)
            // Fails if a file is left, which is then in use.
            try? store.files.removeDirectory(store.directory.owner(owner) + "/" + folder)
        }
        try? store.files.removeDirectory(store.directory.owner(owner))
        store.forgetDirectories(below: store.directory.owner(owner))
    }

    /// The number of an owner's contents that have files.
    func fileCount(of owner: UserName) throws -> Int {
        if let stored = store.stored {
            var count = 0
            try stored.visitNames(in: GlobalKeys.contents(of: owner)) { page in
                count += page.count
                return .next
            }
            return count
        }
        return try store.names(in: store.directory.owner(owner)).reduce(0) { sum, folder in
            try sum + store.contents(of: owner, in: folder).keys.count
        }
    }

    private func sweep(_ owner: UserName, _ folder: String, _ report: inout AssetSweepReport) throws {
        let (keys, foreignNames) = try store.contents(of: owner, in: folder)
        report.foreignNames += foreignNames.count
        report.filesSeen += keys.count
        for start in stride(from: 0, to: keys.count, by: Self.batchCount) {
            report.filesRemoved += try collect(Array(keys[start...].prefix(Self.batchCount)))
        }
    }

    /// Removes those of the contents that no record holds: marks them, reads the ledger, then removes what is still
    /// marked.
    private func collect(_ keys: [AssetKey]) throws -> Int {
        let (mark, marked) = store.leases.mark(keys)
        defer { store.leases.unmark(marked, mark) }
        guard !marked.isEmpty else { return 0 }
        let unused = try engine.transact { transaction in
            try marked.filter { try AssetLedger.entry(of: $0, in: transaction) == nil }
        }
        let hold = store.leases.newestHold
        if unused.count < marked.count { store.leases.noteUsed(Set(marked).subtracting(unused)) }
        var count = 0
        for key in unused {
            let path = store.directory.file(of: key)
            let files = store.files
            let isRemoved = store.leases.ifMarked(key, mark, unusedSince: hold) {
                do throws(FileFailure) { try files.removeFile(path) } catch { return false }
                return true
            }
            if isRemoved == true { count += 1 }
        }
        return count
    }

    private func removeCopies(of session: String) {
        for name in (try? store.names(in: session)) ?? [] { removeFile(session + "/" + name) }
        try? store.files.removeDirectory(session)
        store.forgetDirectories(below: session)
    }

    /// Ignores failures: the next opening tries again.
    private func removeFile(_ path: String) { try? store.files.removeFile(path) }
}

/// The copies of one session that wait to be removed, because no object of a client refers to them any longer. A client
/// may still know the path of one, so it stays for a while; a copy whose path no client knows is removed at once.
///
/// The number of entries has no limit: each is for a file, which uses more space than its entry.
final class ReleasedCopies: Sendable {
    private let clock: any CloudClock
    /// Nil if copies stay until the next session begins.
    private let waitSeconds: Double?
    private let copies = Locked<[(path: String, dueAtUptimeSeconds: Double)]>([])

    init(clock: any CloudClock, waitSeconds: Double?) {
        self.clock = clock
        self.waitSeconds = waitSeconds
    }

    /// Adds copies that must wait, and copies whose paths no client knows.
    func add(_ paths: [String], unseen: [String]) {
        let due = waitSeconds.map { clock.uptimeSeconds + $0 }
        copies.withLock { copies in
            copies += unseen.map { ($0, -.infinity) }
            if let due { copies += paths.map { ($0, due) } }
        }
    }

    /// Removes and returns the copies that have waited long enough, or need not wait.
    func takeDue() -> [String] {
        let now = clock.uptimeSeconds
        return copies.withLock { copies in
            let due = copies.filter { $0.dueAtUptimeSeconds <= now }.map(\.path)
            copies.removeAll { $0.dueAtUptimeSeconds <= now }
            return due
        }
    }
}
