// All SQL that runs while a store is open. A connection prepares the statements when it is opened.
//
// Invariants:
//   1. A statement that writes several rows gets them in the order of their keys. Two transactions may still wait for
//      each other, and the server then ends one, which runs again.
//   2. Reads are index scans for every plan that a generic plan can be (tested): another scan would lock the table.
//   3. A row without a value is no entry. Such rows keep entries of different writers on different pages of the index.
//   4. A name or a text never becomes a part of SQL. Only a schema's name does, which `ConnectionInfo` has checked.

/// A prepared statement. The raw value is its name on the server.
enum Statement: String, CaseIterable, Sendable {
    /// The read and write transactions of requests.
    case beginWrite = "begin_write"
    /// A snapshot for a page.
    case beginPage = "begin_page"
    /// A snapshot in the serial order of transactions, which no conflict ends.
    case beginWhole = "begin_whole"
    /// The host's generation and name, the server's time in milliseconds, and the layout of the tables.
    case lease
    /// The entries of several keys, in no order.
    case get
    /// The first entries of a range.
    case up
    /// The last entries of a range, backwards.
    case down
    /// Writes entries: their keys, their values.
    case put
    /// Inserts entries whose keys are absent, in half of the time that `put` takes. Fails if one is there.
    case insert
    case delete
    /// Inserts more than a page of rows before a key, so that no page of the index has entries from both sides.
    case divide
    /// Removes what `divide` has written.
    case unite
    /// Notes that the transaction with this identity happened, if it does.
    case receipt
    /// Asks whether a transaction happened, and makes sure that it cannot happen any longer if it has not.
    case settle
    case commit
    case rollback
    /// Takes and releases the lock of a lane.
    case lock
    case unlock

    /// The server's time in milliseconds.
    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::int8"

    var sql: String {
        switch self {
        case .beginWrite: "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE"
        case .beginPage: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        case .beginWhole: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE"
        case .lease: "SELECT generation, name, pid, \(Self.now), schema_version FROM stratus_host WHERE id = 1"
        case .get: "SELECT k, v FROM stratus_entries WHERE k = ANY($1::bytea[]) AND v IS NOT NULL"
        case .up: "SELECT k, v FROM stratus_entries WHERE k >= $1 AND k < $2 AND v IS NOT NULL ORDER BY k LIMIT $3"
        case .down:
            "SELECT k, v FROM stratus_entries WHERE k >= $1 AND k < $2 AND v IS NOT NULL ORDER BY k DESC LIMIT $3"
        case .put:
            "INSERT INTO stratus_entries (k, v) SELECT * FROM unnest($1::bytea[], $2::bytea[]) "
                + "ON CONFLICT (k) DO UPDATE SET v = excluded.v"
        case .insert: "INSERT INTO stratus_entries (k, v) SELECT * FROM unnest($1::bytea[], $2::bytea[])"
        case .delete: "DELETE FROM stratus_entries WHERE k = ANY($1::bytea[])"
        case .divide:
            // A row takes 220 bytes of the index, and a page has 8,152. Longer keys would also fill the inner pages.
            "INSERT INTO stratus_entries (k) SELECT $1::bytea || set_byte('\\x0000', 1, n) || decode(repeat('00', 190), 'hex') "
                + "FROM generate_series(0, 39) AS n ON CONFLICT DO NOTHING"
        case .unite:
            "DELETE FROM stratus_entries WHERE k >= $1::bytea || '\\x00' AND k < $1::bytea || '\\x01' AND v IS NULL"
        case .receipt: "INSERT INTO stratus_receipts (id, written_by) VALUES ($1, 1)"
        case .settle:
            "INSERT INTO stratus_receipts (id, written_by) VALUES ($1, 0) "
                + "ON CONFLICT (id) DO UPDATE SET asked = stratus_receipts.asked + 1 RETURNING written_by, \(Self.now)"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .lock: "SELECT pg_advisory_lock($1::int8)"
        case .unlock: "SELECT pg_advisory_unlock($1::int8)"
        }
    }

    var parameterCount: Int {
        switch self {
        case .beginWrite, .beginPage, .beginWhole, .lease, .commit, .rollback: 0
        case .get, .delete, .divide, .unite, .receipt, .settle, .lock, .unlock: 1
        case .put, .insert: 2
        case .up, .down: 3
        }
    }
}

/// What a step of a pipeline does, for errors.
enum StatementLabel: Hashable, Sendable, CustomStringConvertible {
    case run(Statement)
    case prepare(Statement)
    /// A text that is not prepared, by a name that says what it is for.
    case text(String)

    var description: String {
        switch self {
        case .run(let statement): statement.rawValue
        case .prepare(let statement): "prepare \(statement.rawValue)"
        case .text(let name): name
        }
    }
}

/// What a new connection asks and sets, before its statements are prepared.
enum SetUp {
    /// A statement that runs once.
    struct Query: Sendable {
        let name: String
        let sql: String
    }

    /// The columns of `identity`.
    enum Column: Int {
        case processID, version, isInRecovery, isReadOnly, isPostgreSQL
    }

    /// YugabyteDB puts its own version behind PostgreSQL's, CockroachDB does not name PostgreSQL.
    static let identity = Query(
        name: "identity",
        sql: """
            SELECT pg_backend_pid()::int8, current_setting('server_version_num')::int8, pg_is_in_recovery(),
                current_setting('transaction_read_only') = 'on',
                version() LIKE 'PostgreSQL %' AND version() NOT LIKE '%-YB-%'
            """)

    /// The server's system and the number of its timeline. Standbys, and other servers, refuse it.
    static let timeline = Query(
        name: "timeline",
        sql: """
            SELECT (SELECT system_identifier FROM pg_control_system()),
                ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int8
            """)

    /// The name of the session.
    static let session = Query(
        name: "session", sql: "SELECT \(ServerSession.nameSQL) FROM pg_stat_activity WHERE pid = pg_backend_pid()")

    /// Leaves out what the server does not know.
    static let settings = Query(
        name: "settings",
        sql: """
            SELECT set_config(n, v, false) FROM unnest($1::text[], $2::text[]) AS s(n, v)
                WHERE current_setting(n, true) IS NOT NULL
            """)

    /// Fences a writing connection: a host that takes the store over waits until no connection of the old one has it.
    static let fence = Query(
        name: "fence", sql: "SELECT pg_advisory_lock_shared($1::int4, \(fenceNumber))")

    /// The generation that this connection writes for. Read after the fence.
    static let generation = Query(name: "generation", sql: "SELECT generation FROM stratus_host WHERE id = 1")

    /// The first number of the fence's lock. Lanes use locks of one number, which are others.
    static let fenceClass: Int32 = 0x5354_5241

    /// The second number, in SQL: the table's own, because roles may reach one store by different search paths.
    static let fenceNumber = "'stratus_host'::regclass::oid::int4"

    /// How long a statement waits for a lock.
    static let lockTimeout = "5s"

    /// The settings of every connection. Small tables would be scanned as a whole, and locked so; an adapted plan might
    /// be such a scan. `synchronous_commit` is the database's own.
    static func parameters(schema: String?) -> StatementParameters {
        var settings = [
            ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("jit", "off"),
            ("plan_cache_mode", "force_generic_plan"), ("lock_timeout", lockTimeout),
            ("idle_in_transaction_session_timeout", "30s"), ("statement_timeout", "0"),
            ("transaction_timeout", "0"),
            ("client_connection_check_interval", "10s"), ("timezone", "UTC"), ("client_min_messages", "warning"),
            ("default_transaction_isolation", "read committed"), ("default_transaction_read_only", "off"),
        ]
        if let schema { settings.append(("search_path", schema)) }
        var parameters = StatementParameters()
        parameters.add(array: settings.map(\.0))
        parameters.add(array: settings.map(\.1))
        return parameters
    }
}

/// Numbers of advisory locks.
enum AdvisoryLock {
    /// The lock of a lane: FNV-1a of the schema's and the lane's name. Two lanes with one number only wait for each
    /// other.
    static func number(schema: String?, lane: [UInt8]) -> Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in [UInt8]((schema ?? "").utf8) + [0] + lane {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return Int64(bitPattern: hash)
    }
}
