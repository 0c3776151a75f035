// Removes the files of contents that no record holds: those whose last record has gone, from memory, at any
// time; and by a sweep over all files those that a crash or an abandoned request has left behind.
//
// Safe against everything that goes on meanwhile; `AssetLeases` says why. The ledger is asked in a transaction, not in a
// snapshot: that sees commits in flight, and fails where a failed write has left unknown what was committed.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Where a sweep goes on.
package struct AssetSweepPosition: Hashable, Sendable {
    fileprivate var ownerDirectory: String
    fileprivate var folder: String
}

/// How far a session has come with its sweep of what earlier ones left, or of what it lost sight of itself.
enum AssetSessionSweep: Hashable, Sendable {
    case notBegun
    case at(AssetSweepPosition)
    case isRunning
    case isDone
}

/// What a collection has done.
package struct AssetSweepReport: Hashable, Sendable {
    package var filesSeen = 0
    package var filesRemoved = 0
    /// Names that are not those of contents; they are left alone.
    package var foreignNames = 0
    /// Where to go on; nil when the sweep has seen everything.
    package var position: AssetSweepPosition?

    package init() {}
}

/// Collects contents that no record holds.
package struct AssetCollector: Sendable {
    /// Contents asked for in one transaction.
    static let batchCount = 256

    private let engine: RecordEngine
    private let store: AssetStore

    package init(engine: RecordEngine, store: AssetStore) {
        self.engine = engine
        self.store = store
    }

    /// Removes what lost its last record, or was uploaded for nothing, in this session. Costs nothing when there is
    /// nothing to do.
    ///
    /// Returns how many files were removed. Throws the store's errors, with the contents left for a sweep.
    @discardableResult
    package func collectOrphans() throws -> Int {
        store.leases.queueExpired()
        var count = 0
        while true {
            let keys = store.leases.takeOrphans(limit: Self.batchCount)
            if keys.isEmpty { return count }
            count += try collect(keys)
        }
    }

    /// Removes what `collectOrphans` does, and goes on with a sweep that each session makes once, for what a crash has
    /// left before, and anew when more contents were orphaned than it can remember. Copies that were released go too. To
    /// be called again and again in the background; where there is nothing to do it costs nothing.
    ///
    /// Returns how many contents were removed.
    @discardableResult
    package func collect(shouldContinue: () -> Bool = { true }) throws -> Int {
        removeReleasedCopies()
        let count = try collectOrphans()
        guard let position = beginSweep() else { return count }
        do {
            let report = try sweep(from: position) { _ in shouldContinue() }
            store.sweep.withLock { $0 = report.position.map { .at($0) } ?? .isDone }
            return count + report.filesRemoved
        } catch {
            store.sweep.withLock { $0 = position.map { .at($0) } ?? .notBegun }
            throw error
        }
    }

    /// Where the sweep is to go on, nil for its beginning; nothing where there is none to be made.
    private func beginSweep() -> AssetSweepPosition?? {
        store.sweep.withLock { state in
            if state == .isRunning { return nil }
            // What was lost sight of may lie anywhere, also behind where a sweep has been.
            let isAnew = store.leases.takeOverflow()
            switch state {
            case .isDone where !isAnew: return nil
            case .at(let position) where !isAnew:
                state = .isRunning
                return .some(position)
            default:
                state = .isRunning
                return .some(nil)
            }
        }
    }

    /// Looks at every file once, owner by owner, and removes those that no record holds.
    ///
    /// `shouldContinue` is asked before each directory; when it answers false the report says where to go on.
    package func sweep(
        from position: AssetSweepPosition? = nil, shouldContinue: (AssetSweepReport) -> Bool = { _ in true }
    ) throws -> AssetSweepReport {
        var report = AssetSweepReport()
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

    /// Removes what earlier sessions left half way: contents that never got their place, and copies that were handed
    /// out. Called when the store is opened, before anything is taken in.
    package func removeLeftovers() throws {
        for name in try store.names(in: store.directory.incoming) {
            removeFile(store.directory.incoming + "/" + name)
        }
        for session in try store.names(in: store.directory.copies) {
            let path = store.directory.copies + "/" + session
            guard path != store.directory.sessionCopies else { continue }
            removeCopies(of: path)
        }
    }

    /// Removes the copies that were released long enough ago; those that their receivers took away are gone already.
    package func removeReleasedCopies() {
        for path in store.releasedCopies.takeDue() { removeFile(path) }
    }

    /// Removes every copy this session has handed out.
    package func removeCopies() { removeCopies(of: store.directory.sessionCopies) }

    /// Removes every content of an owner who is gone, with its ledger. The owner's records must be out of reach before,
    /// and no new ones may come. An interrupted call is made again. `didLook` is told for how many files that is done.
    package func forgetOwner(_ owner: UserName, didLook: (_ fileCount: Int) throws -> Void = { _ in }) throws {
        let limit = engine.options.limits.purgeBatchCount
        while true {
            let keys = try engine.read { reader in
                var keys: [[UInt8]] = []
                try reader.store.scan(GlobalKeys.assets(of: owner).keyRange, .forward, limit: limit) { key, _ in
                    keys.append([UInt8](copying: key))
                    return .next
                }
                return keys
            }
            if keys.isEmpty { break }
            try engine.transact { transaction in
                for key in keys { try transaction.delete(key) }
            }
        }
        for folder in try store.names(in: store.directory.owner(owner)) {
            var report = AssetSweepReport()
            try sweep(owner, folder, &report)
            try didLook(report.filesSeen)
            // Fails where something is left, which is in use then.
            try? store.files.removeDirectory(store.directory.owner(owner) + "/" + folder)
        }
        try? store.files.removeDirectory(store.directory.owner(owner))
        store.forgetDirectories(below: store.directory.owner(owner))
    }

    /// How many contents of an owner there are files of.
    func fileCount(of owner: UserName) throws -> Int {
        let directory = store.directory.owner(owner)
        return try store.names(in: directory).reduce(0) { sum, folder in
            let names = try store.names(in: "\(directory)/\(folder)")
            return sum + names.count { AssetDirectory.digest(ofFile: $0, in: folder) != nil }
        }
    }

    private func sweep(_ owner: UserName, _ folder: String, _ report: inout AssetSweepReport) throws {
        var keys: [AssetKey] = []
        for name in try store.names(in: store.directory.owner(owner) + "/" + folder) {
            guard let digest = AssetDirectory.digest(ofFile: name, in: folder) else {
                report.foreignNames += 1
                continue
            }
            report.filesSeen += 1
            keys.append(AssetKey(owner: owner, digest: digest))
            if keys.count == Self.batchCount {
                report.filesRemoved += try collect(keys)
                keys.removeAll(keepingCapacity: true)
            }
        }
        if !keys.isEmpty { report.filesRemoved += try collect(keys) }
    }

    /// Removes those of some contents that nobody holds. Marks first, then asks, then removes what is still marked.
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

    /// A leftover that cannot be removed now is tried again at the next opening.
    private func removeFile(_ path: String) { try? store.files.removeFile(path) }
}

// Copies that were handed out and that no object of a client's stands for any more. A client may still know the path of
// one, so that it lies there for a while longer; what no client was told the path of goes at once.
//
// What waits here is not bounded by a number: each entry is for a file, which takes more room than its entry.

/// The copies of one session that wait to be removed.
final class ReleasedCopies: Sendable {
    private struct Copy {
        let path: String
        let isDueAtUptimeSeconds: Double
    }

    private let clock: any CloudClock
    /// Nil where copies stay until the next session begins.
    private let waitSeconds: Double?
    /// In the order in which they are due, but for the order of threads.
    private let waiting = Locked<[Copy]>([])
    /// Those that nobody knows of.
    private let unseen = Locked<[String]>([])

    init(clock: any CloudClock, waitSeconds: Double?) {
        self.clock = clock
        self.waitSeconds = waitSeconds
    }

    func add(_ paths: [String], unseen unseenPaths: [String]) {
        if !unseenPaths.isEmpty { unseen.withLock { $0 += unseenPaths } }
        guard let waitSeconds, !paths.isEmpty else { return }
        let due = clock.uptimeSeconds + waitSeconds
        waiting.withLock { waiting in
            for path in paths { waiting.append(Copy(path: path, isDueAtUptimeSeconds: due)) }
        }
    }

    /// Those that have waited long enough, or need not, which wait no longer.
    func takeDue() -> [String] {
        let now = clock.uptimeSeconds
        let unseen = unseen.withLock { unseen in
            defer { unseen = [] }
            return unseen
        }
        let due = waiting.withLock { waiting in
            let due = waiting.prefix { $0.isDueAtUptimeSeconds <= now }.map(\.path)
            waiting.removeFirst(due.count)
            return due
        }
        return unseen + due
    }
}
