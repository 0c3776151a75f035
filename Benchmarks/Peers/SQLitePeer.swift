// SQLite through GRDB, as a careful user would set it up for this job. Everything that makes it fast is in this file:
//
//   -  WAL; `synchronous = FULL`, because our commits are on disk when they return; automatic checkpoints far enough
//     apart that a page which is written by several commits is copied once. Before readers are compared the whole log
//     is moved into the file, so that every read is from mapped memory.
//   - One table without rowids whose primary key is (zone, name), so that fetching a record is one descent; indexes on
//     (zone, parent), (zone, type) and (zone, change). The index on parents holds the names too, because those are the
//     primary key, so that going down a tree never touches the table.
//   - Recursive common table expressions for both directions of the hierarchy; `UNION ALL`, because a tree has no
//     duplicates to look for.
//   -  The page cache may take as much as our block cache, kept records and ancestor cache together; the file is mapped
//     into memory.
//   - Statements are prepared once for each connection and used again, arguments unchecked, rows raw; reads of one
//     measurement run inside one transaction, as ours do.
//
// What was tried and is not here, because it gained nothing or cost elsewhere: an index that covers the walk up, (zone,
// name, parent, share), which the planner does not take and which nearly halves the loading; pages of 8 and of 16 KiB,
// within the noise of 4 KiB for loading, fetching and walking. `--page-size` tries the latter again. An exclusive lock
// would spare the shared memory of the log, and readers beside a writer with it.
//
// It does less than the engine: it checks no parent, no cycle and no share, and keeps no history.

import Foundation
import GRDB
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

/// The same records in SQLite.
final class SQLitePeer: Sendable {
    let pool: DatabasePool
    static let mainZone = 1
    /// As much as all caches of ours together.
    static let sharedCacheByteCount =
        LevelDBOptions().blockCacheByteCount + LevelDBOptions().keptByteCount + LevelDBOptions().freshByteCount
        + RecordEngineOptions().ancestorCacheByteCount

    init(path: String, cacheByteCount: Int, pageByteCount: Int = 4_096) throws {
        pool = try Self.openPool(path: path, cacheByteCount: cacheByteCount, pageByteCount: pageByteCount)
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: Self.schema)
            try Self.checkPlans(database)
        }
    }

    /// Opens a database with the settings that the head of the file lists.
    static func openPool(path: String, cacheByteCount: Int, pageByteCount: Int = 4_096) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.maximumReaderCount = 2
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA page_size = \(pageByteCount);
                    PRAGMA cache_size = -\(cacheByteCount >> 10);
                    PRAGMA mmap_size = \(4 << 30);
                    PRAGMA temp_store = MEMORY;
                    PRAGMA wal_autocheckpoint = 10000;
                    """)
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { database in
            // GRDB opens a pool with NORMAL.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
            let synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous")
            guard mode == "wal", synchronous == 2 else { throw PeerError("SQLite is not set up as described.") }
        }
        return pool
    }

    func close() throws { try pool.close() }

    /// Every question goes down an index: a plan that looks at all records would be a peer that anybody makes faster.
    private static func checkPlans(_ database: Database) throws {
        for sql in [fetch, shareOfRecord, subtree] {
            for row in try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql, arguments: [mainZone, "name"]) {
                let step: String = row["detail"]
                guard !["SCAN records", "SCAN above", "SCAN child"].contains(where: step.hasPrefix) else {
                    throw PeerError("SQLite looks at all records: \(step)")
                }
            }
        }
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS records (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            parent TEXT,
            share TEXT,
            change INTEGER NOT NULL,
            created REAL NOT NULL,
            modified REAL NOT NULL,
            user TEXT NOT NULL,
            title TEXT, size INTEGER, mode INTEGER, digest BLOB,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS recordsByParent ON records (zone, parent);
        CREATE INDEX IF NOT EXISTS recordsByType ON records (zone, type);
        CREATE INDEX IF NOT EXISTS recordsByChange ON records (zone, change);
        """

    private static let save = """
        INSERT INTO records
            (zone, name, type, parent, share, change, created, modified, user, title, size, mode, digest)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (zone, name) DO UPDATE SET
            type = excluded.type, parent = excluded.parent, share = excluded.share, change = excluded.change,
            modified = excluded.modified, user = excluded.user, title = excluded.title, size = excluded.size,
            mode = excluded.mode, digest = excluded.digest
        """

    private static let fetch = """
        SELECT type, parent, share, change, created, modified, user, title, size, mode, digest
        FROM records WHERE zone = ?1 AND name = ?2
        """

    /// The nearest share root at or above a record.
    private static let shareOfRecord = """
        WITH RECURSIVE chain (name, parent, share) AS (
            SELECT name, parent, share FROM records WHERE zone = ?1 AND name = ?2
            UNION ALL
            SELECT above.name, above.parent, above.share
            FROM chain JOIN records AS above ON above.zone = ?1 AND above.name = chain.parent
            WHERE chain.share IS NULL
        )
        SELECT name, share FROM chain WHERE share IS NOT NULL LIMIT 1
        """

    /// Every record below another, parents before their children.
    private static let subtree = """
        WITH RECURSIVE below (name) AS (
            SELECT name FROM records WHERE zone = ?1 AND parent = ?2
            UNION ALL
            SELECT child.name FROM below JOIN records AS child ON child.zone = ?1 AND child.parent = below.name
        )
        SELECT name FROM below
        """

    /// A row of the table, its arguments ready to be bound.
    static func arguments(_ record: StratusModel.Record, _ content: RecordContent, change: Int) -> StatementArguments {
        [
            mainZone, record.name.text, record.type.text, record.parent?.text, record.share?.text, change,
            DataClock.stamp.date.timeIntervalSinceReferenceDate, DataClock.stamp.date.timeIntervalSinceReferenceDate,
            DataClock.stamp.user.text, content.title, content.size, content.mode, databaseValue(content.digest),
        ]
    }

    /// One durable commit.
    func save(_ rows: [StatementArguments]) throws {
        try pool.write { database in
            let statement = try database.cachedStatement(sql: Self.save)
            for row in rows {
                statement.setUncheckedArguments(row)
                try statement.execute()
            }
        }
    }

    /// One durable commit.
    func delete(_ names: [RecordName]) throws {
        try pool.write { database in
            let statement = try database.cachedStatement(sql: "DELETE FROM records WHERE zone = ?1 AND name = ?2")
            for name in names {
                statement.setUncheckedArguments([Self.mainZone, name.text])
                try statement.execute()
            }
        }
    }

    /// Calls `body` inside one transaction that reads.
    func read<Result>(_ body: (Snapshot) throws -> Result) throws -> Result {
        try pool.read { try body(Snapshot(database: $0)) }
    }

    /// Moves the whole log into the database file and starts a new log: no work is left over for others' time, and
    /// every read is from the mapped file.
    func settle() throws { try Self.settle(pool) }

    static func settle(_ pool: DatabasePool) throws {
        _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }

    private static func databaseValue(_ bytes: [UInt8]) -> DatabaseValue {
        Data(bytes).databaseValue
    }

    /// What can be asked of one snapshot.
    struct Snapshot {
        let database: Database

        /// The root and the share of the record, or nil.
        func share(of names: [RecordName], zone: Int = mainZone) throws -> Int {
            let statement = try database.cachedStatement(sql: SQLitePeer.shareOfRecord)
            var found = 0
            for name in names {
                statement.setUncheckedArguments([zone, name.text])
                let rows = try Row.fetchCursor(statement)
                if let row = try rows.next() {
                    let root: String = row[0]
                    let share: String = row[1]
                    found += root.isEmpty || share.isEmpty ? 0 : 1
                }
            }
            return found
        }

        /// Fetches records by name, every column taken out of its row. Returns how many there are.
        func fetch(_ names: [RecordName], zone: Int = mainZone) throws -> Int {
            let statement = try database.cachedStatement(sql: SQLitePeer.fetch)
            var found = 0
            for name in names {
                statement.setUncheckedArguments([zone, name.text])
                let rows = try Row.fetchCursor(statement)
                // A row is its cursor's statement, which is reset when the cursor goes.
                try withExtendedLifetime(rows) {
                    guard let row = try rows.next() else { return }
                    found += Self.decode(row)
                }
            }
            return found
        }

        /// The records of all rows, made as a page of ours is: what a caller gets to keep.
        static func records(_ rows: RowCursor) throws -> [SQLiteRecord] {
            var records: [SQLiteRecord] = []
            while let row = try rows.next() { records.append(SQLiteRecord(row)) }
            return records
        }

        static func decode(_ row: Row) -> Int {
            let content: (String, String?, String?, Int) = (row[0], row[1], row[2], row[3])
            let stamp: (Double, Double, String) = (row[4], row[5], row[6])
            let fields: (String, Int64, Int64, Data) = (row[7], row[8], row[9], row[10])
            return content.0.isEmpty || stamp.2.isEmpty || fields.3.isEmpty ? 0 : 1
        }

        /// The number of records below another, each with its name read.
        func subtreeCount(below name: RecordName, zone: Int = mainZone) throws -> Int {
            let statement = try database.cachedStatement(sql: SQLitePeer.subtree)
            statement.setUncheckedArguments([zone, name.text])
            let rows = try Row.fetchCursor(statement)
            var count = 0
            while let row = try rows.next() {
                let name: String = row[0]
                count += name.isEmpty ? 0 : 1
            }
            return count
        }
    }
}

/// A record as a reader of SQLite gives it to somebody.
struct SQLiteRecord {
    /// The columns that are read, in the order in which they are taken.
    static let columns = "name, type, parent, share, change, created, modified, user, title, size, mode, digest"

    let name: String
    let type: String
    let parent: String?
    let share: String?
    let change: Int
    let created: Double
    let modified: Double
    let user: String
    let title: String
    let size: Int64
    let mode: Int64
    let digest: Data

    init(_ row: Row) {
        (name, type, parent, share) = (row[0], row[1], row[2], row[3])
        (change, created, modified, user) = (row[4], row[5], row[6], row[7])
        (title, size, mode, digest) = (row[8], row[9], row[10], row[11])
    }
}

/// A peer that is not as it should be.
struct PeerError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
