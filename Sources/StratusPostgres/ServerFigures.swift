// What a server's catalogue says of a store: the sizes of its tables, and the oldest transaction, which keeps the
// server from removing old versions of rows.
//
// Invariant: any role of a store may ask. Sizes need no privilege on a table; of other roles' transactions a role
// without `pg_read_all_stats` sees nothing, so these are counted and not dated.

internal import StratusStore

/// The sizes of a store's tables, and its oldest transaction.
package struct ServerFigures: Sendable {
    /// A table and its indexes.
    package struct Table: Sendable {
        package let name: String
        /// The server's estimate; nil if it has none yet.
        package let rowCount: Int?
        package let byteCount: Int
        package let indexByteCount: Int
    }

    package let tables: [Table]
    /// For how long the oldest transaction in the database has run; nil if the role sees none.
    package let oldestTransactionSeconds: Double?
    /// Connections to the database whose transactions the role may not see.
    package let hiddenConnectionCount: Int

    static func read(from connection: PostgresConnection, until deadline: MonotonicTime) throws -> ServerFigures {
        var parameters = StatementParameters()
        parameters.add(array: Schema.tableNames)
        try connection.send(text: sizes, named: "measure the tables", parameters)
        try connection.send(text: transactions, named: "find the oldest transaction")
        let results = try connection.answers(until: deadline)
        guard results.count == 2, results[1].rowCount == 1 else {
            throw ServerError.misplacedAnswer("figures without an answer")
        }
        let tables = try (0..<results[0].rowCount).map { row in
            let rowCount = try results[0].integer(row, 1, as: Int64.self)
            return Table(
                name: try results[0].text(row, 0), rowCount: rowCount < 0 ? nil : Int(clamping: rowCount),
                byteCount: Int(clamping: try results[0].integer(row, 2, as: Int64.self)),
                indexByteCount: Int(clamping: try results[0].integer(row, 3, as: Int64.self)))
        }
        let milliseconds = try results[1].integer(0, 0, as: Int64.self)
        return ServerFigures(
            tables: tables, oldestTransactionSeconds: milliseconds < 0 ? nil : Double(milliseconds) / 1_000,
            hiddenConnectionCount: Int(clamping: try results[1].integer(0, 1, as: Int64.self)))
    }

    /// In the order of the names. A table that another program has removed has no size.
    private static let sizes = """
        SELECT name, coalesce((SELECT reltuples::int8 FROM pg_class WHERE oid = to_regclass(name)), -1),
            coalesce(pg_table_size(to_regclass(name)), 0), coalesce(pg_indexes_size(to_regclass(name)), 0)
        FROM unnest($1::text[]) WITH ORDINALITY AS tables (name, place) ORDER BY place
        """

    private static let transactions = """
        SELECT coalesce((max(extract(epoch FROM clock_timestamp() - xact_start)) * 1000)::int8, -1),
            count(*) FILTER (WHERE query = '<insufficient privilege>')
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        """
}
