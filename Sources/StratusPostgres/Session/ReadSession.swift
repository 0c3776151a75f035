// Snapshots on a server, and what all sessions do: send a plan and read its answer.
//
// Invariants:
//   1. The first flush begins the snapshot, and reads the host's row and the format with the plan.
//   2. A session that has failed only ends. A connection whose state is not known is closed; the others finish in the
//      background, so ending is no trip.

internal import StratusStore

/// A session on a connection of the pool.
class PostgresSession: WireSession {
    typealias Outcome = PostgresConnection.Outcome

    final let source: PostgresSource
    /// Nil when the session has ended.
    final private(set) var connection: PostgresConnection?
    final private(set) var failure: WireFailure?
    final private(set) var hasBegun = false
    /// Whether the connection may have more to do than what an earlier session has left.
    final private var hasSent = false

    init(_ source: PostgresSource, _ connection: PostgresConnection) {
        self.source = source
        self.connection = connection
    }

    final func fetch(_ plan: ReadPlan) throws -> FetchedReads {
        if source.options.testHooks.failsNextFetch?() == true {
            throw fail(.conflict(StoreError(.conflict, "A planned fault: somebody else was first.")))
        }
        return try request(plan)
    }

    /// Sends a plan, which may be empty, and reads its answer. Begins the session with it.
    final func request(_ plan: ReadPlan) throws -> FetchedReads {
        let connection = try activeConnection()
        let isFirst = !hasBegun
        hasSent = true
        let statements = PlannedStatements(plan, extraKey: isFirst ? source.check?.key : nil)
        let lost = isFirst ? source.lost.take() : []
        var outcomes: ArraySlice<Outcome>
        do {
            outcomes = ArraySlice(
                try attempt { () throws(ServerError) -> [Outcome] in
                    if !lost.isEmpty { try LostSessions.sendEnd(of: lost, on: connection) }
                    if isFirst { try sendBegin(on: connection) }
                    try statements.send(on: connection)
                    try connection.sync()
                    return try connection.flush(isFirst ? beginLimit : .until(requestDeadline))
                })
        } catch {
            source.lost.add(lost)
            throw error
        }
        hasBegun = true
        do {
            if !lost.isEmpty, let outcome = outcomes.popFirst() { try source.lost.noteEnds(of: lost, outcome) }
            if isFirst { try readBegin(&outcomes) }
            let answer = try statements.answer(from: try results(of: outcomes))
            if isFirst { try source.check?.verify(answer.extra) }
            return answer.reads
        } catch {
            throw fail(WireFailure(error))
        }
    }

    func commit(_ writes: WrittenEntries) throws {
        preconditionFailure("A snapshot is not committed.")
    }

    final func abandon() {
        guard let connection else { return }
        self.connection = nil
        if hasSent, !connection.isBroken {
            switch connection.transactionStatus {
            case .idle: break
            case .inTransaction, .inFailedTransaction: connection.finishInBackground(.rollback)
            // An answer is missing that nobody waits for.
            case .active, .unknown: connection.close()
            }
            willGiveBack(connection)
        }
        source.giveBack(connection)
    }

    // MARK: What kinds of sessions do differently

    /// Sends what begins the session, without a last sync.
    func sendBegin(on connection: PostgresConnection) throws(ServerError) {}

    /// Takes the outcomes of that.
    func readBegin(_ outcomes: inout ArraySlice<Outcome>) throws {}

    /// How long a flush may take, from now.
    var requestDeadline: MonotonicTime { source.requestDeadline }

    /// How long the first flush may take.
    var beginLimit: FlushLimit { .until(requestDeadline) }

    /// Sends what a connection needs before others use it. It finishes in the background.
    func willGiveBack(_ connection: PostgresConnection) {}

    // MARK: Failing

    final func activeConnection() throws -> PostgresConnection {
        guard let connection, failure == nil else { preconditionFailure("A session that has failed only ends.") }
        return connection
    }

    /// Remembers the first failure.
    final func fail(_ failure: WireFailure) -> WireFailure {
        if self.failure == nil { self.failure = failure }
        return failure
    }

    final func fail(_ error: ServerError) -> WireFailure {
        // A code after which the connection is of no use, while libpq could go on.
        if error.errorClass == .reconnect { connection?.close() }
        return fail(source.failure(error))
    }

    final func attempt<Result>(_ body: () throws(ServerError) -> Result) throws -> Result {
        do throws(ServerError) {
            return try body()
        } catch {
            throw fail(error)
        }
    }

    /// The results, if no statement has failed.
    final func results(of outcomes: some Sequence<Outcome>) throws -> [QueryResult] {
        var results: [QueryResult] = []
        for outcome in outcomes {
            switch outcome {
            case .answer(let result): results.append(result)
            case .failure(let error): throw fail(error)
            case .skipped: throw fail(ServerError.misplacedAnswer("a statement without an answer"))
            }
        }
        return results
    }

    /// Takes the outcomes of BEGIN, of `more` statements after it, and of the host's row, which it returns.
    final func takeHostRow(_ outcomes: inout ArraySlice<Outcome>, more: Int = 0) throws -> HostRow {
        let results = try results(of: outcomes.prefix(2 + more))
        outcomes = outcomes.dropFirst(2 + more)
        guard let row = results.last, row.rowCount == 1 else {
            throw StoreError(
                .notAStore, "The tables of the store are not complete. Create them with stratus init --store URL.")
        }
        try Schema.check(try row.integer(0, 4))
        var lease = LeaseLook(generation: try row.integer(0, 0))
        lease.name = try row.text(0, 1)
        lease.processID = try row.integer(0, 2)
        return HostRow(lease: lease, time: try row.integer(0, 3))
    }

    /// Ends a session that has nothing to undo.
    final func end() {
        guard let connection else { return }
        self.connection = nil
        source.giveBack(connection)
    }
}

/// What every transaction reads of the host's row.
struct HostRow {
    /// Who may write, without the holder's own identity.
    let lease: LeaseLook
    /// The server's time in milliseconds.
    let time: Int64
}

/// A snapshot.
final class PostgresReadSession: PostgresSession {
    /// A snapshot of everything waits until no transaction runs that could make it wrong.
    private static let wholeStoreSeconds = 600.0

    private let scope: ReadScope
    private let caller: WireCaller

    init(_ source: PostgresSource, _ connection: PostgresConnection, _ scope: ReadScope, for caller: WireCaller) {
        self.scope = scope
        self.caller = caller
        super.init(source, connection)
    }

    override func sendBegin(on connection: PostgresConnection) throws(ServerError) {
        switch scope {
        case .page: try connection.send(.beginPage)
        case .wholeStore:
            try connection.send(.beginWhole)
            // Its caller may work for long between two reads.
            try connection.send(text: "SET LOCAL idle_in_transaction_session_timeout = 0", named: "settings")
        }
        try connection.send(.lease)
    }

    override func readBegin(_ outcomes: inout ArraySlice<Outcome>) throws {
        _ = try takeHostRow(&outcomes, more: scope == .page ? 0 : 1)
        // After the answer: this thread may have been paused since the session began.
        try source.checkReading()
    }

    override var beginLimit: FlushLimit {
        // The caller may have waited for a connection.
        guard scope == .wholeStore else { return .until(source.requestDeadline(for: caller)) }
        let onEvent = source.options.onEvent
        return .patient(.now + Self.wholeStoreSeconds) {
            onEvent(StoreError(.unavailable, "A snapshot of the whole store waits for running transactions to end."))
        }
    }
}
