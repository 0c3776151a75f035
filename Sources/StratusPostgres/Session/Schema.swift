// The tables of a store: what they are, how they are created, and whether a role may use them.
//
// Receipts, the host's lease, its beats and contents have tables of their own: in the table of entries they would be a
// part of every snapshot of records, and neighbours of records conflict.
//
// Invariants:
//   1. Tables are created in one transaction, under a lock, so two hosts that open an empty database at once get one
//      store.
//   2. A store is where `stratus_host` is: that table is created last and has the number of the layout of tables.

internal import StratusStore

/// The tables that a store needs, as SQL.
enum Schema {
    /// The layout of the tables. The layout of entries has its own number, in an entry.
    static let version: Int32 = 3

    static let tableNames = [
        "stratus_entries", "stratus_receipts", "stratus_host", "stratus_beats", "stratus_contents",
    ]

    /// The statements that create the tables, in their order. They run in one transaction.
    ///
    /// YugabyteDB hashes a primary key unless it is ascending, and PostgreSQL has no such word there.
    static func tables(isPostgreSQL: Bool) -> [String] {
        let ascending = isPostgreSQL ? "" : " ASC"
        return [
            // Room in each page lets the new version of a row stay in its page. It then needs no entry of the index,
            // and does not conflict with readers of that page.
            "CREATE TABLE stratus_entries (k bytea, v bytea, PRIMARY KEY (k\(ascending))) WITH (fillfactor = 75)",
            """
            CREATE TABLE stratus_contents (name bytea, part integer, data bytea NOT NULL,
                PRIMARY KEY (name\(ascending), part\(ascending)))
            """,
        ] + otherTables + (isPostgreSQL ? storageSettings : []) + [hostTable]
    }

    private static let otherTables = [
        """
        CREATE TABLE stratus_receipts (id bytea PRIMARY KEY, written_by smallint NOT NULL,
            asked integer NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT clock_timestamp())
        """,
        // For upkeep, which removes old receipts.
        "CREATE INDEX ON stratus_receipts (at)",
        """
        CREATE TABLE stratus_beats (holder bytea PRIMARY KEY, beat bigint NOT NULL, name text NOT NULL DEFAULT '',
            pid integer NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT clock_timestamp()) WITH (fillfactor = 50)
        """,
    ]

    /// How PostgreSQL stores the rows.
    private static let storageSettings = [
        "ALTER TABLE stratus_contents ALTER COLUMN data SET STORAGE EXTERNAL",
        """
        ALTER TABLE stratus_entries
            SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05)
        """,
    ]

    private static let hostTable = """
        CREATE TABLE stratus_host (id smallint PRIMARY KEY CHECK (id = 1), schema_version integer NOT NULL,
            generation bigint NOT NULL, holder bytea, name text NOT NULL DEFAULT '', pid integer NOT NULL DEFAULT 0)
        """

    /// What changes tables of an older layout into those of this one. The entries stay as they are.
    private static func upgrades(from found: Int32) -> [String] {
        let second = [
            "ALTER TABLE stratus_entries ALTER COLUMN v DROP NOT NULL",
            "ALTER TABLE stratus_entries SET (fillfactor = 75)",
        ]
        let third = [
            """
            ALTER TABLE stratus_beats ADD COLUMN name text NOT NULL DEFAULT '',
                ADD COLUMN pid integer NOT NULL DEFAULT 0,
                ADD COLUMN at timestamptz NOT NULL DEFAULT clock_timestamp()
            """
        ]
        return (found < 2 ? second : []) + third
            + ["UPDATE stratus_host SET schema_version = \(version) WHERE id = 1"]
    }

    static let firstHostRow =
        "INSERT INTO stratus_host (id, schema_version, generation) VALUES (1, \(version), 0)"

    /// What stands in a database.
    enum State: Equatable {
        case absent
        /// The tables are there. Names the first that the role may not read, and not write.
        case present(version: Int32, unreadable: String?, unwritable: String?)

        var isOlder: Bool { if case .present(let version, _, _) = self { version < Schema.version } else { false } }
    }

    /// Looks for the tables in the schema that the connection uses. Throws `.notPermitted` if the role may not use the
    /// schema that the address names, or none if it names none.
    static func look(on connection: PostgresConnection, until deadline: MonotonicTime) throws -> State {
        let found = try connection.run([hostTableExists], until: deadline)[0]
        guard try found.truth(0, 0) else {
            try requireUsage(of: connection.info.schema, on: connection, until: deadline)
            return .absent
        }
        let rights = try connection.run([privileges], until: deadline)[0]
        var unreadable: String?
        var unwritable: String?
        for row in 0..<rights.rowCount {
            let name = try rights.text(row, 0)
            // A table that is missing has no privileges: they are null.
            guard try rights.bytes(row, 1) != nil else { throw incomplete(name) }
            if try !rights.truth(row, 1) { unreadable = unreadable ?? name }
            if try !rights.truth(row, 2) { unwritable = unwritable ?? name }
        }
        if unreadable != nil { return .present(version: version, unreadable: unreadable, unwritable: unwritable) }
        let row = try connection.run([number], until: deadline)[0]
        guard row.rowCount == 1 else { throw incomplete("stratus_host") }
        return .present(version: try row.integer(0, 0), unreadable: nil, unwritable: unwritable)
    }

    /// The server leaves a schema that a role may not use out of its search path, as if nothing were there.
    private static func requireUsage(
        of schema: String?, on connection: PostgresConnection, until deadline: MonotonicTime
    ) throws {
        guard let schema else {
            let isNone = SetUp.Query(name: "look for a schema", sql: "SELECT current_schema() IS NULL")
            guard try connection.run([isNone], until: deadline)[0].truth(0, 0) else { return }
            throw StoreError(
                .notPermitted,
                "The role may use no schema of its search path: grant it USAGE on one, or name one by stratus_schema.")
        }
        let isRefused = SetUp.Query(
            name: "look for the schema's privilege",
            sql: """
                SELECT EXISTS (SELECT 1 FROM pg_namespace
                    WHERE nspname = '\(schema)' AND NOT has_schema_privilege(oid, 'USAGE'))
                """)
        guard try connection.run([isRefused], until: deadline)[0].truth(0, 0) else { return }
        throw StoreError(
            .notPermitted,
            "The role may not use the schema: as the schema's owner run stratus init --store URL --host-role NAME.",
            ["schema": schema])
    }

    /// Creates the schema that the address names, and the tables, if there is no store. Gives a role what a host needs.
    /// Tables of an older layout stay as they are. Returns whether the store is new. After an error the connection is
    /// of no use.
    static func create(
        on connection: PostgresConnection, grantingTo role: String?, until deadline: MonotonicTime
    ) throws -> Bool {
        try beginCreation(on: connection, until: deadline)
        if let schema = connection.info.schema {
            let exists = SetUp.Query(
                name: "look for the schema", sql: "SELECT to_regnamespace('\(schema)') IS NOT NULL")
            if try !connection.run([exists], until: deadline)[0].truth(0, 0) {
                let create = SetUp.Query(name: "create the schema", sql: "CREATE SCHEMA \"\(schema)\"")
                _ = try connection.run([create], until: deadline)
            }
        }
        try requireUsage(of: connection.info.schema, on: connection, until: deadline)
        let isNew = try !connection.run([hostTableExists], until: deadline)[0].truth(0, 0)
        if isNew {
            let tables = tables(isPostgreSQL: connection.isPostgreSQL)
            let steps = (tables + [firstHostRow]).map { SetUp.Query(name: "create the tables", sql: $0) }
            _ = try connection.run(steps, until: deadline)
        }
        if let role {
            var parameters = StatementParameters()
            parameters.add(role)
            // The server quotes the name.
            try connection.send(text: grantTexts, named: "quote the role", parameters)
            let texts = try connection.answers(until: deadline)[0]
            let grants = try [0, 1].map { SetUp.Query(name: "grant", sql: try texts.text(0, $0)) }
            _ = try connection.run(grants, until: deadline)
        }
        _ = try connection.run([commit], until: deadline)
        return isNew
    }

    /// Changes tables of an older layout, which only their owner may. The caller has the store for itself: hosts stop
    /// at another layout. It waits until no other transaction reads the tables, and those that come later wait for it;
    /// after `lock_timeout` it fails.
    static func upgrade(on connection: PostgresConnection, until deadline: MonotonicTime) throws {
        do {
            try beginCreation(on: connection, until: deadline)
            let found = try connection.run([number], until: deadline)[0].integer(0, 0, as: Int32.self)
            let steps = found < version ? upgrades(from: found) : []
            _ = try connection.run(
                steps.map { SetUp.Query(name: "change the tables", sql: $0) } + [commit], until: deadline)
        } catch let error as ServerError where error.state == SQLState("55P03") {
            throw StoreError(
                .unavailable,
                "The tables have an older layout and are in use: open the store again when long reads and backups have ended.",
                cause: error.message)
        } catch let error as ServerError where error.errorClass == .code(.notPermitted) {
            throw StoreError(
                .olderFormat,
                "The tables have an older layout: as their owner run stratus init --store URL --host-role NAME.",
                cause: error.message)
        }
    }

    /// Throws `.newerFormat` for the tables of a newer version.
    static func check(_ version: Int32) throws {
        guard version > Self.version else { return }
        throw StoreError(
            .newerFormat, "A newer version of this software has created or changed the tables: update this program.",
            ["version": "\(version)", "supported": "\(Self.version)"])
    }

    private static let hostTableExists = SetUp.Query(
        name: "look for the store", sql: "SELECT to_regclass('stratus_host') IS NOT NULL")

    private static let number = SetUp.Query(
        name: "read the layout's number", sql: "SELECT schema_version FROM stratus_host WHERE id = 1")

    private static let begin = SetUp.Query(name: "begin", sql: "BEGIN")
    private static let commit = SetUp.Query(name: "commit", sql: "COMMIT")

    /// Begins a transaction that creates or changes tables, when no other one does.
    private static func beginCreation(on connection: PostgresConnection, until deadline: MonotonicTime) throws {
        let lock = creationLock(of: connection.info.schema)
        _ = try connection.run([begin, waitLong, lock, waitBriefly], until: deadline)
    }

    /// Another creator may take long. Locks of tables are not waited for so long: others would wait behind.
    private static let waitLong = SetUp.Query(name: "wait for others who create", sql: "SET LOCAL lock_timeout = 0")
    private static let waitBriefly = SetUp.Query(
        name: "wait no longer", sql: "SET LOCAL lock_timeout = '\(SetUp.lockTimeout)'")

    /// Takes a lock of the schema's name, because the schema may not be there yet. Creators of other stores do not
    /// wait, unless the hashes of the names collide.
    private static func creationLock(of schema: String?) -> SetUp.Query {
        let name = schema.map { "'\($0)'" } ?? "current_schema()"
        return SetUp.Query(
            name: "lock the creation",
            sql: "SELECT pg_advisory_xact_lock(\(SetUp.fenceClass + 1), hashtext(\(name)))")
    }

    private static var privileges: SetUp.Query {
        let names = tableNames.map { "'\($0)'" }.joined(separator: ", ")
        return SetUp.Query(
            name: "read the privileges",
            sql: """
                SELECT name, has_table_privilege(id, 'SELECT'),
                    has_table_privilege(id, 'INSERT') AND has_table_privilege(id, 'UPDATE')
                        AND has_table_privilege(id, 'DELETE')
                    FROM (SELECT name, to_regclass(name)::oid AS id FROM unnest(ARRAY[\(names)]) AS n(name)) AS t
                """)
    }

    /// TRUNCATE is for emptying a store.
    private static var grantTexts: String {
        """
        SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON \(tableNames.joined(separator: ", ")) TO %I',
            $1::text), format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), $1::text)
        """
    }

    private static func incomplete(_ table: String) -> StoreError {
        StoreError(
            .notAStore, "The tables of the store are not complete: restore them from a backup.", ["table": table])
    }
}

extension PostgresConnection {
    /// Runs texts in one segment. Throws the first error.
    func run(_ queries: [SetUp.Query], until deadline: MonotonicTime) throws -> [QueryResult] {
        for query in queries { try send(text: query.sql, named: query.name) }
        return try answers(until: deadline)
    }

    /// Ends the segment, and returns the results of its statements. Throws the first error.
    func answers(until deadline: MonotonicTime) throws -> [QueryResult] {
        try sync()
        return try flush(.until(deadline)).map { outcome in
            switch outcome {
            case .answer(let result): return result
            case .failure(let error): throw error
            case .skipped: throw ServerError.misplacedAnswer("a statement without an answer")
            }
        }
    }
}
