// What the server still does for connections that this host has lost.
//
// A proxy, or a network that drops packets, can end the host's side of a connection and leave the server's side open.
// The server's session then keeps its transaction and the lock of its lane: other writers wait for it or conflict. So
// the next session that begins ends the lost ones, in a segment of its own flush, which costs no trip.
//
// Invariant: only a session that waits for its client when the server looks is ended. One that commits may wait for a
// standby, and ended there it would show others what a failover may still lose. A commit that arrives at that very
// moment may be ended so all the same.

internal import StratusStore

/// A server's session.
struct ServerSession: Hashable, Sendable {
    let processID: Int32
    /// The time of its start and its process, as in PostgreSQL's log. Empty where the server does not say it.
    var name: String

    static let nameSQL = "to_hex(trunc(extract(epoch FROM backend_start))::int8) || '.' || to_hex(pid)"
}

/// Remembers sessions until the server has ended them.
final class LostSessions: Sendable {
    private let names = Locked<Set<String>>([])

    func add(_ session: ServerSession) {
        if !session.name.isEmpty { names.withLock { _ = $0.insert(session.name) } }
    }

    /// Takes all, for a flush that ends them. The caller adds them again if it fails.
    func take() -> [String] {
        names.withLock { names in
            defer { names = [] }
            return Array(names)
        }
    }

    func add(_ others: some Sequence<String>) { names.withLock { $0.formUnion(others) } }

    /// Adds a segment that ends sessions. Its answer, for `noteEnds`, names those that are still at work.
    static func sendEnd(of names: [String], on connection: PostgresConnection) throws(ServerError) {
        var parameters = StatementParameters()
        parameters.add(array: names)
        // Materialised, and a CASE: the server may otherwise call the function before it looks at the name.
        try connection.send(
            text: """
                WITH lost AS MATERIALIZED (
                    SELECT pid, wait_event_type, \(ServerSession.nameSQL) AS name FROM pg_stat_activity
                        WHERE \(ServerSession.nameSQL) = ANY($1::text[]))
                SELECT name FROM lost
                    WHERE (CASE WHEN wait_event_type = 'Client' THEN pg_terminate_backend(pid) END) IS NOT TRUE
                """, named: "end lost sessions", parameters)
        try connection.sync()
    }

    /// Adds those of `names` again that are not ended: those that are at work, and all if the statement had no time. A
    /// role that may not end sessions has none ended, and is not asked again.
    func noteEnds(of names: [String], _ outcome: StatementOutcome<QueryResult>) throws {
        switch outcome {
        case .answer(let result): add(try (0..<result.rowCount).map { try result.text($0, 0) })
        case .failure(let error): if error.isWorthRetrying { add(names) }
        case .skipped: add(names)
        }
    }
}
