// Serialisable transactions on a server.
//
// How it works: the first flush takes the lock of the lane, in a segment of its own, and then begins the transaction: a
// snapshot that is taken before the lock would be old when the lock is granted. The last flush writes, inserts the
// receipt and commits, in one segment, so that an error before COMMIT makes the server skip it; then it gives the lock
// back.
//
// Invariants:
//   1. A commit returns only after the server has answered COMMIT without a warning, or the receipt was found.
//   2. A flush with COMMIT is never cancelled. After its first byte any loss is an unknown outcome, which `ReceiptDesk`
//      finds out.
//   3. The lock only saves conflicts. Where it is not granted in time the transaction runs without it.
//   4. The first answer has the host's row. A host that was overtaken writes nothing.

internal import StratusStore

/// A transaction.
final class PostgresWriteSession: PostgresSession {
    /// The lock of the lane; nil without a lane.
    private let lock: Int64?
    private var holdsLock = false
    /// The server's time when the transaction began, in milliseconds.
    private var begunAt: Int64 = 0

    private let caller: WireCaller

    init(_ source: PostgresSource, _ connection: PostgresConnection, lock: Int64?, for caller: WireCaller) {
        self.lock = lock
        self.caller = caller
        super.init(source, connection)
    }

    override var requestDeadline: MonotonicTime { source.requestDeadline(for: caller) }

    override func sendBegin(on connection: PostgresConnection) throws(ServerError) {
        if let lock {
            try connection.send(.lock, Self.parameters(lock))
            try connection.sync()
        }
        try connection.send(.beginWrite)
        try connection.send(.lease)
    }

    override func readBegin(_ outcomes: inout ArraySlice<Outcome>) throws {
        if lock != nil, let outcome = outcomes.popFirst() {
            switch outcome {
            case .answer: holdsLock = true
            case .failure(let error) where error.errorClass == .again: break
            case .failure(let error): throw fail(error)
            case .skipped: throw fail(ServerError.misplacedAnswer("a lock without an answer"))
            }
        }
        let row = try takeHostRow(&outcomes)
        try source.lease?.check(row.lease)
        // The connection may be the first one to another server.
        try source.lease?.checkMayWrite()
        begunAt = row.time
    }

    override func commit(_ writes: WrittenEntries) throws {
        if !hasBegun {
            // The lease and the format are read before anything is written.
            source.note { $0.extraTrips += 1 }
            _ = try request(ReadPlan())
        }
        if writes.isEmpty { try commitReads() } else { try commitWrites(writes) }
    }

    override func willGiveBack(_ connection: PostgresConnection) {
        guard holdsLock, let lock else { return }
        holdsLock = false
        connection.finishInBackground(.unlock, Self.parameters(lock))
    }

    /// The server says whether what was read is valid. A lost answer is a lost connection: nothing was written.
    private func commitReads() throws {
        let connection = try activeConnection()
        let outcomes = try attempt { () throws(ServerError) -> [Outcome] in
            try connection.send(.commit)
            try connection.sync()
            try sendUnlock(on: connection)
            return try connection.flush(.patient(source.requestDeadline(for: caller)))
        }
        let commit = try results(of: outcomes.prefix(1))[0]
        guard commit.commandTag == Self.commitTag else { throw fail(Self.rolledBack) }
        finish(unlocked: outcomes.dropFirst())
    }

    /// Empties the tables of entries and contents, and commits. It waits for the transactions and snapshots that run.
    func commitRemoval() throws {
        _ = try request(ReadPlan())
        try commitWrites(WrittenEntries(), removingAll: true)
    }

    private func commitWrites(_ writes: WrittenEntries, removingAll: Bool = false) throws {
        let connection = try activeConnection()
        let receipt = source.options.randomIdentity()
        var isSent = false
        let outcomes: [Outcome]
        do throws(ServerError) {
            if removingAll { try connection.send(text: Self.removal, named: "empty the store") }
            try writes.send(on: connection)
            var parameters = StatementParameters()
            parameters.add(receipt)
            try connection.send(.receipt, parameters)
            isSent = true
            try connection.send(.commit)
            try connection.sync()
            try sendUnlock(on: connection)
            outcomes = try connection.flush(commitLimit)
        } catch {
            guard isSent else { throw fail(error) }
            return try settle(receipt, after: error)
        }
        let unlocking = holdsLock ? 1 : 0
        // After a COMMIT that was refused the lock was released, and before it not.
        if case .answer? = outcomes.suffix(unlocking).last { holdsLock = false }
        switch CommitOutcome(outcomes.dropLast(unlocking), connection.lastNotices) {
        case .committed: finish(unlocked: outcomes.suffix(unlocking))
        case .refused(let error): throw fail(error)
        case .rolledBack: throw fail(Self.rolledBack)
        case .unknown(let error): try settle(receipt, after: error)
        }
    }

    /// Finds out what became of the commit, on another connection: this one may still be at work.
    private func settle(_ receipt: [UInt8], after error: ServerError?) throws {
        let question = ReceiptDesk.Question(receipt: receipt, begunAt: begunAt, session: connection?.session)
        closeLostConnection()
        source.note { $0.unknownOutcomes += 1 }
        let isCommitted = try source.desk.settle(question) { source.note { $0.extraTrips += 1 } }
        guard isCommitted else {
            throw fail(.lost((error ?? .lost("The commit ended with a warning.")).storeError()))
        }
    }

    private func closeLostConnection() {
        holdsLock = false
        connection?.close()
        end()
    }

    private func sendUnlock(on connection: PostgresConnection) throws(ServerError) {
        guard holdsLock, let lock else { return }
        try connection.send(.unlock, Self.parameters(lock))
        try connection.sync()
    }

    /// Gives the connection back after a commit. One that has kept its lock would keep others from the lane.
    private func finish(unlocked outcomes: some Sequence<Outcome>) {
        for outcome in outcomes {
            if case .answer = outcome { continue }
            connection?.close()
        }
        holdsLock = false
        end()
    }

    private var commitLimit: FlushLimit {
        let onEvent = source.options.onEvent
        return .patient(.now + source.options.testHooks.commitPatienceSeconds()) {
            onEvent(
                StoreError(
                    .unavailable,
                    "A commit has waited for ten seconds: see whether PostgreSQL waits for a standby, or for its disk.")
            )
        }
    }

    private static let removal = "TRUNCATE stratus_entries, stratus_contents"
    private static let commitTag = "COMMIT"

    private static var rolledBack: WireFailure {
        .conflict(StoreError(.unavailable, "Other transactions changed the same records: try again."))
    }

    private static func parameters(_ number: Int64) -> StatementParameters {
        var parameters = StatementParameters()
        parameters.add(number)
        return parameters
    }
}
