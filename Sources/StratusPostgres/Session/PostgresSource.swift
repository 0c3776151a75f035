// Where the sessions of a store on a server come from: its pool, its lease, and what they have in common.
//
// Invariant: while the store closes, calls that were accepted before have a few seconds to end; then pauses end them.

internal import StratusStore

/// Makes sessions.
final class PostgresSource: WireSource {
    /// What this target alone knows of.
    struct Counts: Sendable {
        /// Trips besides those of fetches and commits.
        var extraTrips = 0
        /// Commits whose answer was lost and was found out.
        var unknownOutcomes = 0
    }

    let options: PostgresOptions
    let check: FormatCheck?
    let closing: ClosingSignal
    let desk: ReceiptDesk
    let lost: LostSessions
    /// Nil for a program that only reads.
    let lease: HostLease?
    /// Whether a host reads only while its beats are confirmed.
    private let confirmsReads: Bool
    private let info: ConnectionInfo
    private let pool: ConnectionPool<PostgresConnection>
    private let counts = Locked(Counts())

    init(
        _ info: ConnectionInfo, _ pool: ConnectionPool<PostgresConnection>, _ options: PostgresOptions,
        lost: LostSessions, check: FormatCheck?, lease: HostLease?, confirmsReads: Bool, library: Libpq
    ) {
        self.lost = lost
        self.info = info
        self.confirmsReads = confirmsReads
        self.options = options
        self.check = check
        self.pool = pool
        self.lease = lease
        closing = ClosingSignal()
        desk = ReceiptDesk(pool, options, closing, info.route, lost) { deadline throws(ServerError) in
            let connection = try PostgresConnection.open(info, as: .reader, until: deadline, library: library)
            connection.lost = lost
            return connection
        }
    }

    var timeline: ServerTimeline? { info.route.value.newest }
    var currentCounts: Counts { counts.value }
    var connectionsOpened: Int { pool.openedCount }

    func note(_ change: (inout Counts) -> Void) { counts.withLock { change(&$0) } }

    func beginReading(_ scope: ReadScope, for caller: WireCaller) throws -> any WireSession {
        try checkReading()
        return PostgresReadSession(self, try lend(to: caller), scope, for: caller)
    }

    /// Throws if what a host reads may be old.
    func checkReading() throws {
        if confirmsReads { try lease?.checkIsConfirmed() } else { try lease?.checkIsHeld() }
    }

    func beginWriting(lane: StoreLane?, for caller: WireCaller) throws -> any WireSession {
        try beginTransaction(lane: lane, for: caller)
    }

    func beginTransaction(lane: StoreLane?, for caller: WireCaller) throws -> PostgresWriteSession {
        try requireHosting().checkMayWrite()
        let lock = lane.map { AdvisoryLock.number(schema: info.schema, lane: $0.name) }
        return PostgresWriteSession(self, try lend(to: caller), lock: lock, for: caller)
    }

    /// Throws if the store was opened for reading only.
    @discardableResult
    func requireHosting() throws -> HostLease {
        guard let lease else {
            throw StoreError(.invalidRequest, "The store was opened for reading only: open it as a host.")
        }
        return lease
    }

    func now() -> Double { Double(MonotonicTime.now.nanoseconds) / Double(MonotonicTime.nanosecondsPerSecond) }

    /// Conflicts end within milliseconds, and a server that is away takes longer.
    func pause(attempt: Int) throws {
        let longest = min(0.25, 0.002 * Double(1 << min(attempt, 16)))
        try closing.pause(seconds: longest * options.randomFraction())
    }

    /// The time until which a request to the server may take, from now.
    var requestDeadline: MonotonicTime { .now + options.wire.deadlineSeconds }

    /// The same for a caller, who waits no longer than the call's own deadline. A body that was at work for
    /// long still gets an answer.
    func requestDeadline(for caller: WireCaller) -> MonotonicTime {
        .now + min(options.wire.deadlineSeconds, max(caller.deadline - now(), Self.leastRequestSeconds))
    }

    private static let leastRequestSeconds = 2.0

    private func lend(to caller: WireCaller) throws -> PostgresConnection {
        try pool.lend(until: .now + (caller.deadline - now()), isNested: caller.isNested)
    }

    func giveBack(_ connection: PostgresConnection) { pool.giveBack(connection) }

    /// Whether a session that failed with this error may be tried again.
    func failure(_ error: ServerError) -> WireFailure {
        if error.state?.description == "25P03" {
            options.onEvent(
                StoreError(
                    .unavailable,
                    "A transaction's body took longer than 30 seconds between two reads: split it into smaller ones."))
        }
        let storeError = error.storeError()
        return switch error.errorClass {
        case .again: .conflict(storeError)
        case .reconnect, .wait, .unknownOutcome: .lost(storeError)
        // A group's members then run alone, and need less memory each.
        case .againSmaller, .code: .fatal(storeError)
        }
    }
}

/// Lets threads that pause know that the store closes.
final class ClosingSignal: @unchecked Sendable {  // because the monitor guards all state
    /// How long accepted calls may go on.
    static let graceSeconds = 5.0

    private let monitor = Monitor()
    private let changed = Condition()
    private var end: MonotonicTime?

    /// Waits. Throws `.closed` when the store closes and no time is left.
    func pause(seconds: Double) throws {
        let wake = MonotonicTime.now + seconds
        try monitor.withLock {
            while wake > .now, !hasEnded { _ = changed.wait(monitor, until: end.map { min($0, wake) } ?? wake) }
            if hasEnded { throw StoreError(.closed, "The store was closed: open it again.") }
        }
    }

    func begin() {
        monitor.withLock {
            if end == nil { end = .now + Self.graceSeconds }
            changed.broadcast()
        }
    }

    private var hasEnded: Bool { end.map { $0 <= .now } ?? false }
}
