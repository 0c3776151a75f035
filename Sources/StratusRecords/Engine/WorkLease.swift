// Which process does background work, where several processes may write the store.
//
// How it works: an entry for each kind of work names the process that does it and has a count. Every transaction of the
// work reads the entry. If it names nobody, the transaction writes its process's name; if it names another process, the
// transaction fails. The count is raised while the work goes on, in its transactions or by itself, and the name is
// removed at the end of a round. A process that finds another one's count standing still, by its own monotonic clock,
// takes the work over. No clocks are compared.
//
// Invariants:
//   1. A process that was paused and overtaken commits nothing of its work, even if the other one has finished: the
//      entry that its transaction reads has lost its name.
//   2. Where only this process writes there are no such entries.
//   3. The entry is announced at the beginning of a transaction and read at its end, so it costs no trip where the
//      transaction reads anything else.

import FoundationEssentials
package import StratusLayout
import StratusStore

/// A round of background work by this process, on one thread.
final class WorkLease: @unchecked Sendable {  // because one thread at a time uses it: the one that runs the round
    /// The round that the thread works for. Transactions of its engine are the work's.
    @TaskLocal private static var current: WorkLease?

    /// A process renews its entry so many times before others may take it over.
    private static let renewalCount = 3.0

    private let engine: RecordEngine
    private let work: BackgroundWork
    /// Whether another process has the work, as the last transaction has shown.
    private(set) var isLost = false
    /// Whether the running attempt of a transaction has seen that. The attempt may fail and another one succeed.
    private var isRefused = false
    /// When this round has last written its name; nil if it has not.
    private var written: MonotonicTime?
    /// Whether the running transaction is the last one of the round.
    private var isEnding = false
    /// What the running transaction does to the name.
    private var change: Change?

    private enum Change {
        case named, unnamed
    }

    init(_ work: BackgroundWork, of engine: RecordEngine) {
        self.work = work
        self.engine = engine
    }

    func asCurrent<Result>(_ body: () throws -> Result) rethrows -> Result {
        try Self.$current.withValue(self, operation: body)
    }

    /// The round that the thread works for on an engine.
    static func current(of engine: RecordEngine) -> WorkLease? {
        guard let current, current.engine === engine else { return nil }
        return current
    }

    var key: [UInt8] { GlobalKeys.work(work) }

    private var isDue: Bool {
        guard let written else { return true }
        return written + engine.options.limits.workLeaseSeconds / Self.renewalCount <= .now
    }

    // MARK: In a transaction, whose body may run twice

    func begin() {
        isEnding = false
        isRefused = false
    }

    /// The running transaction ends the round, if it commits.
    func end() { isEnding = true }

    /// Checks that the work is this process's, and writes the entry if that is due. A body that has written nothing
    /// takes no lease.
    ///
    /// Throws `held` if another process does the work, or has done it since this round began to write.
    func finish(in writer: any StoreTransaction, hasWritten: Bool) throws {
        let found = try writer.withValue(forKey: key) { try WorkEntry(decoding: $0) }
        guard mayGoOn(found) else {
            isRefused = true
            throw StoreError(.held, "Another host does this work now.", ["work": "\(work)"])
        }
        change = nil
        let count = (found?.count ?? 0) &+ 1
        let isNamed = found?.holder == engine.process
        if isEnding {
            guard found?.holder != nil else { return }
            try writer.set(key, to: WorkEntry(holder: nil, count: count).encoded())
            change = .unnamed
        } else if isNamed ? isDue : hasWritten {
            try writer.set(key, to: WorkEntry(holder: engine.process, count: count).encoded())
            change = .named
        }
    }

    private func mayGoOn(_ found: WorkEntry?) -> Bool {
        if found?.holder == engine.process { return true }
        guard written == nil else { return false }
        return found.map { $0.holder == nil || engine.workObservations.isOver($0, of: work) } ?? true
    }

    func didFail() { isLost = isLost || isRefused }

    func didCommit() {
        isLost = false
        switch change {
        case .named: written = .now
        case .unnamed: written = nil
        case nil: break
        }
    }

    // MARK: Between transactions

    /// Shows others that the work goes on. Returns false if another process has it.
    func keep() -> Bool {
        if written != nil, !isLost, isDue {
            // A store that fails shows it in the next step of the work.
            _ = try? engine.transact { _ in }
        }
        return !isLost
    }

    /// Removes the name. If that fails, others wait until the count has stood still.
    func release() {
        guard written != nil, !isLost else { return }
        _ = try? engine.transact { _ in end() }
    }
}

/// The entries of other processes that this one has seen, and since when.
final class WorkObservations: Sendable {
    private let seconds: Double
    private let seen = Locked<[BackgroundWork: (entry: WorkEntry, since: MonotonicTime)]>([:])

    init(seconds: Double) {
        self.seconds = seconds
    }

    /// Whether an entry has stood still for so long that its process counts as gone. Notes an entry that is new.
    func isOver(_ entry: WorkEntry, of work: BackgroundWork) -> Bool {
        seen.withLock { seen in
            guard let known = seen[work], known.entry == entry else {
                seen[work] = (entry, .now)
                return false
            }
            return known.since + seconds <= .now
        }
    }
}

extension RecordEngine {
    /// Runs a round of background work: every transaction within `body`, on this thread, is a part of it. Returns nil
    /// if another process does the work, or if `body` throws because another one has taken it over; what was committed
    /// before stays. Where the options say that only this process works, it runs `body` and does nothing else.
    ///
    /// Throws what `body` throws.
    @discardableResult
    package func working<Result>(on work: BackgroundWork, _ body: () throws -> Result) throws -> Result? {
        guard options.sharesWork, store.isShared else { return try body() }
        let lease = WorkLease(work, of: self)
        return try lease.asCurrent {
            defer { lease.release() }
            do {
                return try body()
            } catch {
                // The floors above may have turned the error into another one.
                if lease.isLost { return nil }
                throw error
            }
        }
    }

    /// Whether the work of this thread may go on. Call it often in long work that writes rarely, so that other
    /// processes see that it goes on.
    package func mayWork() -> Bool { WorkLease.current(of: self)?.keep() ?? true }

    /// Ends a round with the running transaction, which saves one of its own. Where there is no round it does nothing.
    package func willEndWork() { WorkLease.current(of: self)?.end() }
}
