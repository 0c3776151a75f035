// The same job in tables of one's own on the same server, as a careful user would write it. What makes it fast is here:
//
//   - One row for each record, with a column for each field; its place and its last change are rows of tables of their
//     own, so that a walk up and a feed touch small rows only. All keys begin with the zone.
//   - The indexes that answer the same queries as ours: by each field of a type, by parent, by change.
//   - A save is one transaction: it takes the next numbers of its zone by updating the zone's row, whose lock is held
//     until COMMIT, and upserts the rows of all records by one statement for each table. It is pipelined, so it is one
//     trip; `isPipelined` false waits after each statement instead, as most programs do.
//   - Recursive common table expressions for both directions of the hierarchy, evaluated no further than their limits.
//     Statements are prepared once for each connection; limits stand in their text, so the planner knows them,
//     and `random_page_cost` is that of a disk without heads. A plan that scans a table is refused.
//   - READ COMMITTED, and `synchronous_commit` as the server has it.
//
// It does less than the engine: no account, quota, schema and change tag is checked, no cycle, no missing parent and no
// second share, and it keeps no history, so a guest's feed cannot tell what has left a share.

import Foundation
import StratusModel
import StratusWorkloads

/// The records of one run in tables.
final class TablesPeer: Sendable {
    static let pageCount = 200
    static let mainZone: Int64 = 1
    private let url: String
    let schema: String

    init(url: String) throws {
        self.url = url
        schema = "tables_\(UInt64.random(in: 0 ... .max))"
        let session = try SQLSession(url: url)
        try session.run("CREATE SCHEMA \(schema)")
        try session.run("SET search_path TO \(schema)")
        try session.run(Self.tables)
    }

    func session() throws -> SQLSession {
        let session = try SQLSession(url: url, schema: schema)
        try session.run("SET random_page_cost TO 1.1")
        return session
    }

    func remove() throws {
        let session = try SQLSession(url: url)
        try session.run("SET client_min_messages TO warning")
        try session.run("DROP SCHEMA \(schema) CASCADE")
    }

    private static let tables = """
        CREATE TABLE zones (id bigint PRIMARY KEY, sequence bigint NOT NULL) WITH (fillfactor = 50);
        CREATE TABLE records (
            zone bigint, name text, type text NOT NULL, created float8 NOT NULL, modified float8 NOT NULL,
            creator text NOT NULL, modifier text NOT NULL, title text, size bigint, mode bigint, digest bytea,
            PRIMARY KEY (zone, name));
        CREATE INDEX ON records (zone, type, title);
        CREATE INDEX ON records (zone, type, size);
        CREATE INDEX ON records (zone, type, mode);
        CREATE TABLE parents (zone bigint, name text, parent text, share text, PRIMARY KEY (zone, name));
        CREATE INDEX ON parents (zone, parent);
        CREATE TABLE changes (
            zone bigint, change bigint, name text NOT NULL, is_deleted boolean NOT NULL, PRIMARY KEY (zone, change),
            UNIQUE (zone, name));
        CREATE TABLE acceptances (guest text, zone bigint, root text, share text NOT NULL,
            PRIMARY KEY (guest, zone, root));
        """

    /// Lets the planner know the tables, and leaves no work of the load to later measurements.
    func settle() throws {
        let session = try session()
        try session.run("VACUUM (ANALYZE) records")
        try session.run("VACUUM (ANALYZE) parents")
        try session.run("VACUUM (ANALYZE) changes")
    }

    func createZone(_ zone: Int64, _ session: SQLSession) throws {
        try session.run("INSERT INTO zones VALUES (\(zone), 0)")
    }

    /// Bytes of all tables with their indexes.
    func byteCount() throws -> Int64 {
        let sql = """
            SELECT sum(pg_total_relation_size(oid))::int8 FROM pg_class
            WHERE relnamespace = '\(schema)'::regnamespace AND relkind = 'r'
            """
        return try session().rows(SQLStatement(name: "size", sql: sql)).integer(0, 0)
    }
}

/// A record to save.
struct TablesRow: Sendable {
    let name: RecordName
    let content: RecordContent
    let parent: RecordName?
}

extension SQLStatement {
    static let begin = SQLStatement(name: "begin", sql: "BEGIN")
    static let commit = SQLStatement(name: "commit", sql: "COMMIT")

    /// Takes the next numbers of a zone.
    static let number = SQLStatement(
        name: "number", sql: "UPDATE zones SET sequence = sequence + $2::int8 WHERE id = $1::int8 RETURNING sequence")

    static let saveRecords = SQLStatement(
        name: "save_records",
        sql: """
            INSERT INTO records (
                zone, name, type, created, modified, creator, modifier, title, size, mode, digest)
            SELECT $1::int8, n, t, $8::float8, $8::float8, $9::text, $9::text, title, size, mode, digest
            FROM unnest($2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[], $7::bytea[])
                AS i (n, t, title, size, mode, digest)
            ON CONFLICT (zone, name) DO UPDATE SET
                type = excluded.type, modified = excluded.modified, modifier = excluded.modifier,
                title = excluded.title, size = excluded.size, mode = excluded.mode, digest = excluded.digest
            """)

    static let saveParents = SQLStatement(
        name: "save_parents",
        sql: """
            INSERT INTO parents (zone, name, parent)
            SELECT $1::int8, n, p FROM unnest($2::text[], $3::text[]) AS i (n, p)
            ON CONFLICT (zone, name) DO UPDATE SET parent = excluded.parent
                WHERE parents.parent IS DISTINCT FROM excluded.parent
            """)

    /// The zone's row has the last of the new numbers already.
    static let saveChanges = SQLStatement(
        name: "save_changes",
        sql: """
            INSERT INTO changes (zone, change, name, is_deleted)
            SELECT $1::int8, z.sequence - cardinality($2::text[]) + i.number, i.name, false
            FROM zones AS z, unnest($2::text[]) WITH ORDINALITY AS i (name, number) WHERE z.id = $1::int8
            ON CONFLICT (zone, name) DO UPDATE SET change = excluded.change, is_deleted = false
            """)

    private static let columns = """
        r.name, r.type, p.parent, p.share, r.created, r.modified, r.creator, r.modifier, r.title, r.size, r.mode,
        r.digest
        """

    /// A page of the owner's feed.
    static let changes = SQLStatement(
        name: "changes",
        sql: """
            SELECT c.change, c.is_deleted, \(columns)
            FROM changes AS c
                LEFT JOIN records AS r ON r.zone = c.zone AND r.name = c.name
                LEFT JOIN parents AS p ON p.zone = c.zone AND p.name = c.name
            WHERE c.zone = $1::int8 AND c.change > $2::int8 ORDER BY c.change LIMIT \(TablesPeer.pageCount)
            """)

    /// A page of a guest's feed: the changes of records at or below a root that they have accepted.
    static let guestChanges = SQLStatement(
        name: "guest_changes",
        sql: """
            SELECT c.change, c.is_deleted, \(columns)
            FROM changes AS c
                JOIN LATERAL (
                    WITH RECURSIVE chain (name, parent) AS (
                        SELECT a.name, a.parent FROM parents AS a WHERE a.zone = c.zone AND a.name = c.name
                        UNION ALL
                        SELECT a.name, a.parent FROM chain JOIN parents AS a
                            ON a.zone = $1::int8 AND a.name = chain.parent
                    )
                    SELECT chain.name FROM chain JOIN acceptances AS g
                        ON g.guest = $3::text AND g.zone = $1::int8 AND g.root = chain.name LIMIT 1
                ) AS seen ON true
                LEFT JOIN records AS r ON r.zone = c.zone AND r.name = c.name
                LEFT JOIN parents AS p ON p.zone = c.zone AND p.name = c.name
            WHERE c.zone = $1::int8 AND c.change > $2::int8 ORDER BY c.change LIMIT \(TablesPeer.pageCount)
            """)

    /// The first page of a guest: what is at or below the roots that they have accepted, parents first.
    static let guestStart = SQLStatement(
        name: "guest_start",
        sql: """
            WITH RECURSIVE below (name) AS (
                SELECT root FROM acceptances WHERE guest = $2::text AND zone = $1::int8
                UNION ALL
                SELECT c.name FROM below JOIN parents AS c ON c.zone = $1::int8 AND c.parent = below.name
            )
            SELECT 0::int8, false, \(columns)
            FROM (SELECT name FROM below LIMIT \(TablesPeer.pageCount)) AS b
                JOIN records AS r ON r.zone = $1::int8 AND r.name = b.name
                JOIN parents AS p ON p.zone = $1::int8 AND p.name = b.name
            """)

    private static let chain = """
        WITH RECURSIVE chain (name, parent, share) AS (
            SELECT a.name, a.parent, a.share FROM parents AS a WHERE a.zone = $1::int8 AND a.name = %
            UNION ALL
            SELECT a.name, a.parent, a.share FROM chain JOIN parents AS a
                ON a.zone = $1::int8 AND a.name = chain.parent
            WHERE chain.share IS NULL
        )
        SELECT name, share FROM chain WHERE share IS NOT NULL LIMIT 1
        """

    /// The share of a record.
    static let share = SQLStatement(name: "share", sql: chain.replacingOccurrences(of: "%", with: "$2::text"))

    /// The shares of many records.
    static let shares = SQLStatement(
        name: "shares",
        sql: """
            SELECT s.name, s.share FROM unnest($2::text[]) AS q (name)
            LEFT JOIN LATERAL (\(chain.replacingOccurrences(of: "%", with: "q.name"))) AS s ON true
            """)
}

extension TablesPeer {
    /// One durable commit. Returns the number of its last change.
    @discardableResult
    static func save(
        _ rows: [TablesRow], zone: Int64 = mainZone, isPipelined: Bool = true, _ session: SQLSession
    ) throws -> Int64 {
        let names = rows.map { $0.name.text as String? }
        var numbers = SQLParameters()
        numbers.add(zone)
        numbers.add(Int64(rows.count))
        var records = SQLParameters()
        records.add(zone)
        records.add(names)
        records.add(rows.map { $0.content.type.text })
        records.add(rows.map { $0.content.title })
        records.add(rows.map { $0.content.size })
        records.add(rows.map { $0.content.mode })
        records.add(rows.map { $0.content.digest })
        records.add(DataClock.stamp.date.timeIntervalSinceReferenceDate)
        records.add(DataClock.stamp.user.text)
        var parents = SQLParameters()
        parents.add(zone)
        parents.add(names)
        parents.add(rows.map { $0.parent?.text })
        var changes = SQLParameters()
        changes.add(zone)
        changes.add(names)
        let steps: [(SQLStatement, SQLParameters)] = [
            (.begin, SQLParameters()), (.number, numbers), (.saveRecords, records), (.saveParents, parents),
            (.saveChanges, changes), (.commit, SQLParameters()),
        ]
        var answers: [SQLRows] = []
        for (statement, parameters) in steps {
            try session.send(statement, parameters)
            if !isPipelined { answers += try session.flush() }
        }
        if isPipelined { answers = try session.flush() }
        guard let sequence = answers.first, sequence.count == 1 else { throw PeerError("A zone is missing.") }
        return sequence.integer(0, 0)
    }

    /// Notes that a record is the root of a share that a guest has accepted.
    static func share(_ root: RecordName, with guest: String, _ session: SQLSession) throws {
        let share = "share of \(root.text)"
        try session.run(
            """
            UPDATE parents SET share = '\(share)' WHERE zone = \(mainZone) AND name = '\(root.text)';
            INSERT INTO acceptances VALUES ('\(guest)', \(mainZone), '\(root.text)', '\(share)')
            """)
    }

    /// A page of the owner's feed, or of a guest's, after a change. Returns how many records it has.
    static func changes(after change: Int64, by guest: String? = nil, _ session: SQLSession) throws -> Int {
        var parameters = SQLParameters()
        parameters.add(mainZone)
        parameters.add(change)
        if let guest { parameters.add(guest) }
        return try records(session.rows(guest == nil ? .changes : .guestChanges, parameters)).count
    }

    /// The first page of a guest's feed.
    static func start(of guest: String, _ session: SQLSession) throws -> Int {
        var parameters = SQLParameters()
        parameters.add(mainZone)
        parameters.add(guest)
        return try records(session.rows(.guestStart, parameters)).count
    }

    /// How many of the records are in a share.
    static func shareCount(of names: [RecordName], _ session: SQLSession) throws -> Int {
        var parameters = SQLParameters()
        parameters.add(mainZone)
        if names.count == 1 { parameters.add(names[0].text) } else { parameters.add(names.map { $0.text }) }
        let rows = try session.rows(names.count == 1 ? .share : .shares, parameters)
        return (0..<rows.count).count { row in
            guard let root = rows.optionalText(row, 0), let share = rows.optionalText(row, 1) else { return false }
            return !root.isEmpty && !share.isEmpty
        }
    }

    /// Every column taken out: what a caller gets to keep.
    private static func records(_ rows: SQLRows) -> [TablesRecord] {
        (0..<rows.count).map { TablesRecord(rows, $0) }
    }

    /// Fails if a statement would look at a whole table: anybody would add an index.
    static func checkPlans(_ session: SQLSession) throws {
        let name = "'\(RecordName(seed: 1, index: 1).text)'"
        let calls: [(SQLStatement, String)] = [
            (.changes, "1, 2"), (.guestChanges, "1, 2, 'guest'"), (.guestStart, "1, 'guest'"), (.share, "1, \(name)"),
            (.shares, "1, ARRAY[\(name)]"),
        ]
        for (statement, arguments) in calls {
            let called = SQLStatement(name: "plan_\(statement.name)", sql: statement.sql)
            try session.run("PREPARE \(called.name) AS \(called.sql)")
            let plan = try session.text("EXPLAIN EXECUTE \(called.name) (\(arguments))")
            for table in ["records", "parents", "changes"] where plan.contains("Seq Scan on \(table)") {
                throw PeerError("PostgreSQL looks at a whole table for \(statement.name):\n\(plan)")
            }
        }
    }
}

/// A record as a reader of the tables gives it to somebody.
private struct TablesRecord {
    let change: Int64
    let isDeleted: Bool
    let name: String
    let type: String
    let parent: String?
    let share: String?
    let created: Double
    let modified: Double
    let creator: String
    let modifier: String
    let title: String
    let size: Int64
    let mode: Int64
    let digest: Data

    init(_ rows: SQLRows, _ row: Int) {
        (change, isDeleted) = (rows.integer(row, 0), rows.truth(row, 1))
        (name, type) = (rows.text(row, 2), rows.text(row, 3))
        (parent, share) = (rows.optionalText(row, 4), rows.optionalText(row, 5))
        (created, modified) = (rows.number(row, 6), rows.number(row, 7))
        (creator, modifier) = (rows.text(row, 8), rows.text(row, 9))
        (title, size, mode, digest) = (
            rows.text(row, 10), rows.integer(row, 11), rows.integer(row, 12), rows.data(row, 13)
        )
    }
}
