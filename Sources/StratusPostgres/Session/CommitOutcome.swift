// What became of a commit, and how it is found out when the server's answer does not say.
//
// How it works: each commit with writes inserts a receipt, a row with a random identity. If its answer is lost, the
// desk inserts the same row itself, on another connection. The server lets this wait until the lost transaction has
// ended, if it still works. If the row is there, the commit happened. If it was not, it is there now, and the lost
// transaction can never commit: its own receipt is in the way. Both answers come from a commit that is later in the
// server's log, so the lost one is as durable as this one. A lost session that waits in the server, for a client that
// it does not know to be gone, is ended there before the question.
//
// Invariants:
//   1. A commit counts as done only if the server has answered COMMIT and no warning came with it: the server warns
//      when it stops waiting for a standby. Codes decide, and texts never do.
//   2. Absence proves nothing when the receipt may have been removed. Receipts are kept for an hour, by the server's
//      clock, and a question asked later than half of that ends with `.commitUnknown`.

internal import StratusStore

/// What the answer to a commit says.
enum CommitOutcome {
    case committed
    /// Nothing was written.
    case refused(ServerError)
    /// Nothing was written, and the reason is lost.
    case rolledBack
    case unknown(ServerError?)

    /// The outcome of a segment that ends with COMMIT, after at least one other statement.
    init(_ segment: some BidirectionalCollection<PostgresConnection.Outcome>, _ notices: [ServerNotice]) {
        guard let first = segment.first, let commit = segment.last else {
            self = .unknown(nil)
            return
        }
        switch (commit, first) {
        case (.answer(let result), _):
            let isWarned = notices.contains { $0.severity == .warning }
            self = result.commandTag != "COMMIT" ? .rolledBack : isWarned ? .unknown(nil) : .committed
        case (.failure(let error), .failure):
            // The error of the sync, after which nobody knows which statement had run.
            self = .unknown(error)
        case (.failure(let error), _): self = Self.after(error)
        case (.skipped, _):
            let error = segment.lazy.compactMap { outcome -> ServerError? in
                if case .failure(let error) = outcome { error } else { nil }
            }.first
            self = error.map(Self.after) ?? .unknown(nil)
        }
    }

    private static func after(_ error: ServerError) -> CommitOutcome {
        error.errorClass == .unknownOutcome || error.endsConnection ? .unknown(error) : .refused(error)
    }
}

/// Finds out what became of commits, and removes old receipts.
final class ReceiptDesk: Sendable {
    /// How long receipts are kept, by the server's clock.
    static let keptSeconds = 3_600
    /// When absence proves nothing any longer.
    private static let trustedMilliseconds: Int64 = 1_800_000
    /// How long a server that does not answer is asked.
    private static let silenceSeconds = 600.0
    private static let requestSeconds = 10.0
    private static let lendingSeconds = 2.0
    private static let longestPauseSeconds = 1.0

    private let pool: ConnectionPool<PostgresConnection>
    private let options: PostgresOptions
    private let closing: ClosingSignal
    private let route: Locked<ServerRoute>
    private let lost: LostSessions
    /// A connection for a host that was overtaken, whose pool opens none: it may still ask.
    private let openUnfenced: @Sendable (_ deadline: MonotonicTime) throws(ServerError) -> PostgresConnection

    init(
        _ pool: ConnectionPool<PostgresConnection>, _ options: PostgresOptions, _ closing: ClosingSignal,
        _ route: Locked<ServerRoute>, _ lost: LostSessions,
        openUnfenced: @escaping @Sendable (_ deadline: MonotonicTime) throws(ServerError) -> PostgresConnection
    ) {
        self.pool = pool
        self.options = options
        self.closing = closing
        self.route = route
        self.lost = lost
        self.openUnfenced = openUnfenced
    }

    /// A commit whose answer was lost.
    struct Question {
        let receipt: [UInt8]
        /// When its transaction began, by the server's clock, in milliseconds.
        let begunAt: Int64
        /// The server's session that ran it.
        let session: ServerSession?
    }

    /// Whether a transaction is committed. It waits until the server answers, without regard to callers' deadlines. If
    /// the answer is no, it can never be committed.
    ///
    /// Throws `.commitUnknown` if the store closes, no server answers for ten minutes, or half an hour has passed.
    func settle(_ question: Question, willAsk: () -> Void) throws -> Bool {
        let last = MonotonicTime.now + Double(Self.trustedMilliseconds) / 1_000
        var end = MonotonicTime.now + Self.silenceSeconds
        var attempt = 0
        while true {
            do {
                willAsk()
                let (writtenBy, time) = try ask(question)
                if writtenBy == Self.transaction {
                    try awaitReaders()
                    return true
                }
                guard time - question.begunAt <= Self.trustedMilliseconds else { throw Self.unknown(nil) }
                return false
            } catch let error as ServerError {
                // It has answered, so it may do better.
                if error.origin == .server, !error.endsConnection { end = min(last, .now + Self.silenceSeconds) }
                attempt += 1
                try pause(attempt, until: end, after: error.storeError())
            } catch let error as StoreError where error.code != .commitUnknown {
                attempt += 1
                try pause(attempt, until: end, after: error)
            }
        }
    }

    /// Waits until no host reads from a server that was replaced: it does not have the commit.
    private func awaitReaders() throws {
        while let end = route.value.readElsewhereUntil { try closing.pause(seconds: end.secondsLeft) }
    }

    private func pause(_ attempt: Int, until end: MonotonicTime, after error: StoreError) throws {
        guard end > .now else { throw Self.unknown(error) }
        let longest = min(Self.longestPauseSeconds, 0.01 * Double(1 << min(attempt, 10)))
        do { try closing.pause(seconds: longest * options.randomFraction()) } catch is StoreError {
            throw Self.unknown(error)
        }
    }

    /// The writer of a receipt: this desk is 0.
    private static let transaction: Int16 = 1

    private func ask(_ question: Question) throws -> (writtenBy: Int16, time: Int64) {
        let lent: PostgresConnection?
        do { lent = try pool.lend(until: .now + Self.lendingSeconds, isNested: true) } catch let error as StoreError
            where error.code == .held
        { lent = nil }
        let connection = try lent ?? openUnfenced(.now + Self.requestSeconds)
        defer { if lent == nil { connection.close() } else { pool.giveBack(connection) } }
        return try ask(question, on: connection)
    }

    private func ask(
        _ question: Question, on connection: PostgresConnection
    ) throws -> (writtenBy: Int16, time: Int64) {
        // Those that wait for their client: one of them may hold the row, also one of an earlier question.
        if let session = question.session { lost.add(session) }
        let sessions = lost.take()
        var outcomes: ArraySlice<PostgresConnection.Outcome>
        do {
            var parameters = StatementParameters()
            parameters.add(question.receipt)
            try LostSessions.sendEnd(of: sessions, on: connection)
            // A transaction that works, or waits for a standby, is asked about again. The setting is the segment's.
            try connection.send(text: "SELECT set_config('lock_timeout', '500ms', true)", named: "settings")
            try connection.send(.settle, parameters)
            try connection.sync()
            outcomes = ArraySlice(try connection.flush(.until(.now + Self.requestSeconds)))
        } catch {
            lost.add(sessions)
            throw error
        }
        if let outcome = outcomes.popFirst() { try lost.noteEnds(of: sessions, outcome) }
        if case .failure(let error) = outcomes.popFirst() { throw error }
        switch outcomes.first {
        case .answer(let result):
            // This commit is not sure either: the next one will be.
            guard !connection.wasWarned else { throw ServerError.unconfirmed }
            return (try result.integer(0, 0), try result.integer(0, 1))
        case .failure(let error): throw error
        case .skipped, nil: throw ServerError.misplacedAnswer("a receipt without an answer")
        }
    }

    /// The time of the statement, because no index helps with a time that changes while it runs.
    static let removalSQL = """
        DELETE FROM stratus_receipts WHERE id IN (SELECT id FROM stratus_receipts
            WHERE (SELECT pg_try_advisory_xact_lock(\(SetUp.fenceClass + 2), \(SetUp.fenceNumber)))
                AND at < statement_timestamp() - make_interval(secs => $1::int8) LIMIT $2)
        """

    /// Removes receipts that no caller can ask for any longer. Returns how many, at most `limit`; none while another
    /// host removes some.
    static func removeOld(
        on connection: PostgresConnection, limit: Int = 10_000, until deadline: MonotonicTime
    ) throws -> Int {
        var parameters = StatementParameters()
        parameters.add(Int64(keptSeconds))
        parameters.add(Int64(limit))
        try connection.send(text: removalSQL, named: "remove receipts", parameters)
        try connection.sync()
        switch try connection.flush(.until(deadline)).first {
        case .answer(let result): return Int(result.commandTag.dropFirst("DELETE ".count)) ?? 0
        case .failure(let error): throw error
        case .skipped, nil: throw ServerError.misplacedAnswer("a removal without an answer")
        }
    }

    private static func unknown(_ error: StoreError?) -> StoreError {
        StoreError(
            .commitUnknown, "The commit may have happened or not: read before you repeat it.", error?.fields ?? [:],
            cause: error.map { "\($0)" })
    }
}

/// Removes old receipts on the thread of the host's lease, in steps that leave its beats on time.
struct ReceiptUpkeep {
    private static let least = 500
    private static let stepSeconds = 1.0

    private let limit = Locked(20_000)
    let onEvent: @Sendable (StoreError) -> Void

    /// Removes some receipts. Returns whether there are more. A step that takes too long is tried with fewer.
    func run(on connection: PostgresConnection) throws -> Bool {
        let count = limit.value
        do {
            return try ReceiptDesk.removeOld(on: connection, limit: count, until: .now + Self.stepSeconds) == count
        } catch let error as ServerError where Self.wasTooSlow(error) && count > Self.least {
            limit.withLock { $0 = max(Self.least, count / 4) }
            return true
        } catch let error as ServerError {
            onEvent(
                StoreError(
                    .unavailable,
                    "Receipts of old commits were not removed, and take space: end transactions that have been open for long.",
                    cause: error.message))
            throw error
        }
    }

    /// Whether the step was cancelled at its deadline, or given up.
    private static func wasTooSlow(_ error: ServerError) -> Bool {
        error.origin == .deadline || error.state == SQLState("57014")
    }
}
