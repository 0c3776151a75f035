// The write lane: runs transactions one after another and commits many at a time.
//
// Invariants:
//   1. Bodies run one at a time, under the lane's lock, on the newest state: the published snapshot, the group in
//      flight, and the forming group. So they are serialisable in the order in which they ran.
//   2. A version names exactly the groups published so far, whole. Readers see one version or the next, nothing
//      between.
//   3. No result is returned before everything its body may have read is durable: read-only bodies and refusals wait
//      for the newest group that was forming or in flight, like the writes in it.
//   4. After any failed write nothing is acknowledged until the store has been reopened. LevelDB itself may continue
//      after a short append, and a write whose sync failed may exist after reopening, or not: the group, and everything
//      that was validated on it, ends with `commitUnknown`.
//
// The steps of a transaction:
//   1. Lock the lane. Wait, or flush, while the forming group is full; refuse when the lane is closed or has failed.
//   2. Run the body. Its writes go straight into the forming group; if it throws, they are undone to the mark.
//   3. If no flush is running, become the flusher of the forming group. If one is running, the first transaction of the
//      forming group becomes its flusher when that flush ends. All others unlock the lane and wait for the group's
//      outcome outside it: many threads that wake at once must not delay bodies.
//   4. The flusher first lets the transactions that have arrived at the lane take their turn, so that they need no
//      flush of their own. It waits until they have, the group is full, or as long as the last flush took, and then for
//      the lane. A new group replaces the forming one. The flusher unlocks the lane, fills one write batch, writes it
//      (one sync, which `EngineDatabase.write` waits for), lets the directory confirm it, and takes a snapshot.
//      Meanwhile bodies run and write to the next group.
//   5. The flusher locks the lane, increments the version, removes cached objects of the written keys, runs the publish
//      actions in commit order and publishes the snapshot, both under the readers' lock, calls the watchers of what
//      the group has changed, and clears the group's writes: the new snapshot has them.
//   6. All transactions of the group return, and the next group's flusher continues.
//
// Rejected: a separate thread for flushes. With a single writer, the usual case of a load, it costs two thread switches
// a commit, and it must be started, stopped and kept from outliving its store. Also rejected: LevelDB's own grouping of
// concurrent writers. It joins batches only after the callers' checks, which would have to be made against a state that
// is not yet decided.

package import StratusStore
internal import Synchronization

/// What a store must contain that replaces one that was closed.
package struct StoreContinuation: Sendable, Hashable {
    /// LevelDB's sequence number of the last acknowledged write.
    package let sequence: UInt64
    /// The newest version that readers have seen.
    package let version: StoreVersion
}

final class WriteLane: @unchecked Sendable {  // because the monitor guards all state but the flusher's own
    private let database: EngineDatabase
    private let directory: StoreDirectory
    private let gate: ReadGate
    private let options: LevelDBOptions
    let watchers = WatchList()

    /// A limit, because a flush that had to wait for LevelDB's compaction may have taken seconds.
    private static let maximumGatheringNanoseconds: UInt64 = 10_000_000

    private let monitor = Monitor()
    /// Transactions that have arrived at the lane, and those of them that have had their turn or were refused.
    private let arrivedCount = Atomic<Int>(0)
    private var turnCount = 0
    /// How long the last flush took.
    private var flushNanoseconds: UInt64 = 0
    /// Broadcast when the forming group is replaced or the lane stops accepting transactions.
    private let roomChanged = Condition()
    /// Broadcast when a flush has ended.
    private let flushEnded = Condition()

    private var published: PublishedSnapshot
    private var forming = LaneGroup()
    private var inFlight: LaneGroup?
    private var spareWrites = PendingWrites()
    private let fresh: FreshRanges
    private var isClosed = false
    /// The first write error, after which the lane accepts no transactions.
    private var failure: FailedWrite?
    /// LevelDB's sequence number of the last write of published groups.
    private var acknowledgedSequence: UInt64
    /// Used by the flusher alone. There is one at a time.
    private var batch = EngineWriteBatch()

    init(
        _ database: EngineDatabase, _ directory: StoreDirectory, _ first: PublishedSnapshot, _ gate: ReadGate,
        _ options: LevelDBOptions
    ) {
        self.database = database
        self.directory = directory
        self.published = first
        self.acknowledgedSequence = directory.logs.lastSequence
        self.gate = gate
        self.options = options
        self.fresh = FreshRanges(byteCount: options.freshByteCount)
    }

    func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        arrivedCount.add(1, ordering: .relaxed)
        options.testHooks.didArrive?()
        let (result, group) = try monitor.withLock {
            let result = try turn(body)
            let group = newestGroup
            if let group { flushUnlessAnotherWill(group) }
            return (result, group)
        }
        try group?.outcome.wait().get()
        return try result.get()
    }

    /// Waits until accepted transactions are durable, and refuses new ones.
    func close() {
        monitor.withLock {
            isClosed = true
            roomChanged.broadcast()
            while inFlight != nil || !forming.writes.isEmpty { flushEnded.wait(monitor) }
        }
    }

    /// The error of later transactions, after a write has failed.
    var failureError: StoreError? { monitor.withLock { failure?.refusal } }

    /// Whether something was committed since the store was opened, and no write has failed: after one, the log is what
    /// recovery reads.
    var hasCommitted: Bool {
        monitor.withLock { failure == nil && acknowledgedSequence != directory.logs.lastSequence }
    }

    /// The last acknowledged write and version.
    var continuation: StoreContinuation {
        monitor.withLock { StoreContinuation(sequence: acknowledgedSequence, version: published.version) }
    }

    /// Throws `.closed`, and `.unavailable` if a write has failed.
    func checkMayWrite() throws { try monitor.withLock { try checkTakesTransactions() } }

    /// The same under the lane's lock.
    private func checkTakesTransactions() throws {
        if isClosed { throw gate.closingError }
        if let failure { throw failure.refusal }
    }

    /// Learns whether LevelDB's background work has failed by an empty write, which returns its error. The lane then
    /// stops as after any failed write.
    ///
    /// Throws `.closed`, and `.unavailable` if a write has failed before.
    func backgroundError() throws -> EngineError? {
        monitor.lock()
        defer { monitor.unlock() }
        while inFlight != nil { flushEnded.wait(monitor) }
        try checkTakesTransactions()
        let group = forming
        flushForming()
        guard case .failure(let error) = group.outcome.wait() else { return nil }
        return EngineError(text: error.cause ?? "")
    }

    // MARK: Steps 1 and 2

    private func turn<Success>(
        _ body: (any StoreTransaction) throws -> Success
    ) throws -> Result<Success, any Error> {
        defer {
            turnCount += 1
            if let awaited = forming.awaitedTurnCount, turnCount >= awaited || !hasRoom {
                forming.flusherMayGoOn.signal()
            }
        }
        try waitForRoom()
        return run(body)
    }

    private var hasRoom: Bool { forming.writes.byteCount < options.groupByteCount }

    private func waitForRoom() throws {
        while true {
            try checkTakesTransactions()
            if hasRoom { return }
            if inFlight == nil { flushForming() } else { roomChanged.wait(monitor) }
        }
    }

    private func run<Success>(_ body: (any StoreTransaction) throws -> Success) -> Result<Success, any Error> {
        let reader: SnapshotReader
        do { reader = try gate.enter() } catch { return .failure(error) }
        defer { gate.leave(reader) }
        let transaction = LaneTransaction(reader, forming: forming, inFlight: inFlight, fresh: fresh)
        let mark = forming.writes.mark
        do {
            if options.testHooks.runsBodiesTwice {
                _ = try? body(transaction)
                forming.writes.undo(to: mark)
                transaction.reset()
            }
            let value = try body(transaction)
            if forming.writes.entryCount > mark.entryCount { forming.transactionCount += 1 }
            fresh.note(forming.writes, since: mark)
            publishLater(transaction.publishActions)
            return .success(value)
        } catch {
            forming.writes.undo(to: mark)
            return .failure(error)
        }
    }

    /// The actions of a body that wrote nothing run when what it has read is published.
    private func publishLater(_ actions: [@Sendable (StoreVersion) -> Void]) {
        if let group = newestGroup {
            group.publishActions.append(contentsOf: actions)
        } else {
            gate.run(actions, at: published.version)
        }
    }

    /// The newest group that a body can have read from.
    private var newestGroup: LaneGroup? {
        forming.writes.isEmpty ? inFlight : forming
    }

    // MARK: Steps 3 to 6

    /// Flushes the forming group when no other flush runs, unless another transaction of the group is its flusher.
    private func flushUnlessAnotherWill(_ group: LaneGroup) {
        guard group === forming, !group.hasFlusher else { return }
        group.hasFlusher = true
        while inFlight != nil && group === forming { group.flusherMayGoOn.wait(monitor) }
        gatherArrivedTransactions(group)
        if group === forming { flushForming() }
    }

    /// Lets the transactions that have arrived take their turn: otherwise they would wait for this flush and another
    /// one. Also ends if the group is flushed by another transaction. Without a sync a flush takes less time than
    /// waiting.
    private func gatherArrivedTransactions(_ group: LaneGroup) {
        let awaited = arrivedCount.load(ordering: .relaxed)
        let isWorthWaiting = { [self] in group === forming && turnCount < awaited && hasRoom }
        guard options.syncsCommits, isWorthWaiting() else { return }
        var end = MonotonicTime.now
        end.nanoseconds +=
            options.testHooks.gathersWithoutBound ? .max / 4 : min(flushNanoseconds, Self.maximumGatheringNanoseconds)
        group.awaitedTurnCount = awaited
        options.testHooks.willGather?()
        while isWorthWaiting(), group.flusherMayGoOn.wait(monitor, until: end) {}
        group.awaitedTurnCount = nil
    }

    private func flushForming() {
        let group = forming
        forming = LaneGroup()
        swap(&forming.writes, &spareWrites)
        inFlight = group
        roomChanged.broadcast()
        let version = published.version + 1

        monitor.unlock()
        let began = MonotonicTime.now
        let failure = write(group)
        let nanoseconds = MonotonicTime.now.nanoseconds - began.nanoseconds
        let next = failure == nil ? PublishedSnapshot(version: version, engine: EngineSnapshot(database)) : nil
        monitor.lock()

        flushNanoseconds = nanoseconds
        inFlight = nil
        if let next {
            acknowledgedSequence += UInt64(batch.count)
            publish(group, next)
        } else if let failure {
            fail(group, failure)
        }
        forming.flusherMayGoOn.signal()
        flushEnded.broadcast()
    }

    /// Returns nil if the group is on disk as the options ask.
    private func write(_ group: LaneGroup) -> FailedWrite? {
        batch.fill(with: group.writes)
        var failure: FailedWrite?
        do {
            try options.testHooks.willWriteGroup?(group.transactionCount)
            try database.write(batch, synced: options.syncsCommits)
            guard options.syncsCommits else { return nil }
            if !options.testHooks.leavesLogsUnnoted { try directory.acknowledged.note(database.writtenLog) }
        } catch {
            failure = FailedWrite(error)
        }
        // If the directory is gone, writes fail too, with a less useful error.
        return directory.lock.displacement().map { FailedWrite(displacement: $0) } ?? failure
    }

    private func publish(_ group: LaneGroup, _ next: PublishedSnapshot) {
        published = next
        unsafe gate.kept.publish(version: next.version) { forget in
            unsafe group.writes.forEachNewest { unsafe forget($0.key) }
        }
        gate.publish(
            next, transactionCount: group.transactionCount, isSynced: options.syncsCommits,
            actions: group.publishActions)
        watchers.note { range in
            unsafe range.withEngineBytes { lower, upper in
                unsafe group.writes.holdsEntry(from: lower, upTo: upper)
            }
        }
        swap(&spareWrites, &group.writes)
        spareWrites.clear()
        end(group, .success(()))
    }

    private func fail(_ group: LaneGroup, _ failure: FailedWrite) {
        if !options.testHooks.goesOnAfterFailedWrites { self.failure = failure }
        if let displacement = failure.displacement { gate.refuse(displacement) }
        options.didFailWrite?(failure.refusal)
        end(group, .failure(failure.outcome))
        let validatedOnIt = forming
        forming = LaneGroup()
        end(validatedOnIt, .failure(failure.outcome))
        roomChanged.broadcast()
    }

    private func end(_ group: LaneGroup, _ outcome: Result<Void, StoreError>) {
        group.publishActions = []
        group.flusherMayGoOn.signal()
        group.outcome.set(outcome)
    }
}

/// Why a group, and everything after it, was not acknowledged.
private struct FailedWrite {
    let reason: StoreError.Code
    let cause: String
    /// Set if other processes may no longer see that the store is open.
    var displacement: StoreError?

    init(_ error: any Error) {
        if let error = error as? StoreError {
            (reason, cause) = (error.code, error.cause ?? error.message)
        } else {
            let failure = error as? EngineError ?? EngineError(text: "\(error)")
            (reason, cause) = (failure.storeCode, failure.text)
        }
    }

    init(displacement: StoreError) {
        (reason, cause) = (displacement.code, displacement.description)
        self.displacement = displacement
    }

    /// The error of the group's transactions.
    var outcome: StoreError {
        StoreError(
            .commitUnknown,
            "A write failed, so this commit may or may not be stored: reopen the store, then read the records.",
            ["reason": reason.rawValue], cause: cause)
    }

    /// The error of later transactions.
    var refusal: StoreError {
        displacement
            ?? StoreError(
                .unavailable,
                "A write failed earlier, so the store takes no transactions: fix the cause, then recover it.",
                ["reason": reason.rawValue], cause: cause)
    }
}

/// Transactions that are committed together: one batch, one sync, one outcome. The lane's lock guards it. While it is
/// in flight, its writes do not change.
final class LaneGroup {
    var writes = PendingWrites()
    var transactionCount = 0
    var publishActions: [@Sendable (StoreVersion) -> Void] = []
    /// Whether a transaction of the group will flush it.
    var hasFlusher = false
    /// The flusher waits until so many transactions have had their turn at the lane; nil if it waits for none.
    var awaitedTurnCount: Int?
    /// Signalled when no flush runs, when the group is no longer forming, or when the awaited transactions have had
    /// their turn.
    let flusherMayGoOn = Condition()
    /// Whether the group is durable and published, or has failed.
    let outcome = LaneOutcome()
}

/// The outcome of a group. It has its own lock, so that waiting for it does not take the lane's.
final class LaneOutcome: @unchecked Sendable {  // because the monitor guards the value
    private let monitor = Monitor()
    private let isKnown = Condition()
    private var value: Result<Void, StoreError>?

    /// Sets the outcome. Call it once.
    func set(_ outcome: Result<Void, StoreError>) {
        monitor.withLock { value = outcome }
        isKnown.broadcast()
    }

    func wait() -> Result<Void, StoreError> {
        monitor.withLock {
            while true {
                if let value { return value }
                isKnown.wait(monitor)
            }
        }
    }
}
