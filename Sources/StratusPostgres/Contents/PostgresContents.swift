// Large contents on a server: rows of a table of their own, so that no snapshot of records and no conflict has them.
//
// Invariants:
//   1. Every call is one statement that commits by itself, in READ COMMITTED, on a connection of the pool: one trip.
//   2. Every call may be repeated. So a call whose connection is lost runs again on another one, until its time is up.
//   3. A call inside of a read or a transaction of the store gets a connection while all others are lent to such calls.
//   4. Memory holds the parts of one call, and what the client library makes of them.

internal import StratusStore

/// Contents in the table `stratus_contents`.
final class PostgresContents: StoreContents {
    let partByteCount = 256 << 10
    private let pool: ConnectionPool<PostgresConnection>
    private let source: PostgresSource
    /// Whether the calling thread has a connection of the store already.
    private let isNested: @Sendable () -> Bool

    init(
        _ pool: ConnectionPool<PostgresConnection>, _ source: PostgresSource, isNested: @escaping @Sendable () -> Bool
    ) {
        self.pool = pool
        self.source = source
        self.isNested = isNested
    }

    func append(_ parts: [[UInt8]], from index: Int, to name: [UInt8]) throws {
        try source.requireHosting()
        var parameters = StatementParameters()
        parameters.add(name)
        parameters.add(Int32(clamping: index))
        parameters.add(array: parts)
        _ = try run(.append, parameters)
    }

    func part(_ index: Int, of name: [UInt8]) throws -> [UInt8]? {
        var parameters = StatementParameters()
        parameters.add(name)
        parameters.add(Int32(clamping: index))
        let result = try run(.part, parameters)
        return result.rowCount > 0 ? try result.bytes(0, 0) : nil
    }

    func names(after name: [UInt8]?, limit: Int) throws -> [[UInt8]] {
        var parameters = StatementParameters()
        // No content has an empty name.
        parameters.add(name ?? [])
        parameters.add(Int64(clamping: limit))
        let result = try run(.names, parameters)
        return try (0..<result.rowCount).compactMap { try result.bytes($0, 0) }
    }

    func remove(_ name: [UInt8], limit: Int) throws -> Bool {
        try source.requireHosting()
        var parameters = StatementParameters()
        parameters.add(name)
        parameters.add(Int64(clamping: limit))
        let result = try run(.remove, parameters)
        guard let count = Int(result.commandTag.dropFirst("DELETE ".count)) else {
            throw ServerError.misplacedAnswer("a removal without a count").storeError()
        }
        return count < limit
    }

    func milliseconds() throws -> UInt64 { UInt64(clamping: try run(.time).integer(0, 0, as: Int64.self)) }

    /// Runs a statement. After a lost connection, runs it again.
    private func run(
        _ statement: ContentStatement, _ parameters: StatementParameters = StatementParameters()
    ) throws -> QueryResult {
        let end = source.requestDeadline
        var attempt = 0
        while true {
            let connection = try pool.lend(until: end, isNested: isNested())
            do {
                defer { pool.giveBack(connection) }
                source.note { $0.extraTrips += 1 }
                return try Self.run(statement, parameters, on: connection, until: end)
            } catch let error as ServerError {
                guard error.isWorthRetrying, end > .now else { throw error.storeError() }
                attempt += 1
                try source.pause(attempt: attempt)
            }
        }
    }

    private static func run(
        _ statement: ContentStatement, _ parameters: StatementParameters, on connection: PostgresConnection,
        until end: MonotonicTime
    ) throws -> QueryResult {
        try connection.send(text: statement.sql, named: statement.rawValue, parameters)
        try connection.sync()
        switch try connection.flush(.until(end)).first {
        case .answer(let result):
            // No standby may have what was written. Statements can be repeated.
            guard !connection.wasWarned else { throw ServerError.unconfirmed }
            return result
        case .failure(let error):
            // A code after which the connection is of no use, while libpq could go on.
            if error.errorClass == .reconnect { connection.close() }
            throw error
        case .skipped, nil: throw ServerError.misplacedAnswer("contents without an answer")
        }
    }
}

/// The statements of contents. They run rarely, and move much, so connections do not prepare them.
private enum ContentStatement: String {
    case append = "append parts"
    case part = "read a part"
    case names = "list contents"
    case remove = "remove parts"
    case time = "read the time"

    var sql: String {
        switch self {
        case .append:
            """
            INSERT INTO stratus_contents (name, part, data)
                SELECT $1::bytea, $2::int4 + n::int4 - 1, d FROM unnest($3::bytea[]) WITH ORDINALITY AS p (d, n)
                ON CONFLICT (name, part) DO UPDATE SET data = excluded.data
            """
        case .part: "SELECT data FROM stratus_contents WHERE name = $1::bytea AND part = $2::int4"
        // One look into the index for each name, however many parts it has.
        case .names:
            """
            WITH RECURSIVE found AS (
                (SELECT name FROM stratus_contents WHERE name > $1::bytea ORDER BY name LIMIT 1)
                UNION ALL
                SELECT (SELECT c.name FROM stratus_contents c WHERE c.name > found.name ORDER BY c.name LIMIT 1)
                FROM found WHERE found.name IS NOT NULL)
            SELECT name FROM found WHERE name IS NOT NULL LIMIT $2::int8
            """
        case .remove:
            """
            DELETE FROM stratus_contents WHERE name = $1::bytea AND part IN
                (SELECT part FROM stratus_contents WHERE name = $1::bytea ORDER BY part LIMIT $2::int8)
            """
        case .time: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8"
        }
    }
}
