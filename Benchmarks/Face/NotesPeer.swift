// SQLite through GRDB as a careful app developer writes it instead of CloudKit: the record is a `Codable` structure
// that GRDB reads and writes by its property names, calls are asynchronous, statements are cached, arguments unchecked.
// Dates are numbers, because the texts that GRDB writes otherwise take longer to read. The settings are those of
// `SQLitePeer`, and the table is its own: without rowids, by zone and name, with indexes of parents, types and changes.
//
// With `hasFieldIndexes` there is one more index for each of the four fields. Stratus has four for these records, too:
// the values of title, size and mode, and the words of the title, six entries a record. It indexes no bytes; the peer's
// index of the digest, one entry a record, stands for the words.
//
// It does less than the face: it checks no tag, no parent and no schema, and keeps no history.

import Foundation
import GRDB
import StratusModel
import StratusWorkloads
import Synchronization

/// A record as an app declares it.
struct NoteRow: Codable, Sendable {
    var zone: Int
    var name: String
    var type: String
    var parent: String?
    var change: Int
    var created: Date
    var modified: Date
    var user: String
    var title: String
    var size: Int64
    var mode: Int64
    var digest: Data
}

extension NoteRow {
    /// A record of a data set, as it is after a change.
    init(_ name: RecordName, _ content: RecordContent, parent: RecordName? = nil, change: Int) {
        self.init(
            zone: NotesPeer.zone, name: name.text, type: content.type.text, parent: parent?.text, change: change,
            created: DataClock.stamp.date, modified: DataClock.stamp.date, user: DataClock.stamp.user.text,
            title: content.title, size: content.size, mode: content.mode, digest: Data(content.digest))
    }
}

extension NoteRow: FetchableRecord, PersistableRecord {
    static let databaseTableName = "notes"

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
        .timeIntervalSinceReferenceDate
    }

    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
        .timeIntervalSinceReferenceDate
    }
}

/// The records in SQLite.
final class NotesPeer: Sendable {
    static let title = "GRDB Codable"
    /// The only zone.
    static let zone = 1
    /// The records of a page of a first sync: as many as Stratus's largest.
    static let pageCount = 1_000

    private let pool: DatabasePool
    private let lastChange: Atomic<Int>

    init(path: String, hasFieldIndexes: Bool) throws {
        let pool = try SQLitePeer.openPool(path: path, cacheByteCount: SQLitePeer.sharedCacheByteCount)
        let last = try pool.writeWithoutTransaction { database in
            try database.execute(sql: Self.schema + (hasFieldIndexes ? Self.fieldIndexes : ""))
            try Self.checkPlans(database, hasFieldIndexes: hasFieldIndexes)
            return try Int.fetchOne(database, sql: "SELECT max(change) FROM notes")
        }
        self.pool = pool
        lastChange = Atomic(last ?? 0)
    }

    func close() throws { try pool.close() }

    /// The number of a change that comes after all others.
    func nextChange() -> Int { lastChange.add(1, ordering: .relaxed).newValue }

    /// The number of the last change.
    var change: Int { lastChange.load(ordering: .relaxed) }

    /// Gathers the planner's statistics, and moves the log into the file, from which readers read faster.
    func settle() throws {
        try pool.writeWithoutTransaction { try $0.execute(sql: "ANALYZE") }
        try SQLitePeer.settle(pool)
    }

    // MARK: Statements

    private static let schema = """
        CREATE TABLE IF NOT EXISTS notes (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            parent TEXT,
            change INTEGER NOT NULL,
            created REAL NOT NULL,
            modified REAL NOT NULL,
            user TEXT NOT NULL,
            title TEXT NOT NULL, size INTEGER NOT NULL, mode INTEGER NOT NULL, digest BLOB NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS notesByParent ON notes (zone, parent);
        CREATE INDEX IF NOT EXISTS notesByType ON notes (zone, type);
        CREATE INDEX IF NOT EXISTS notesByChange ON notes (zone, change);
        """

    private static let fieldIndexes = """

        CREATE INDEX IF NOT EXISTS notesByTitle ON notes (zone, type, title);
        CREATE INDEX IF NOT EXISTS notesBySize ON notes (zone, type, size);
        CREATE INDEX IF NOT EXISTS notesByMode ON notes (zone, type, mode);
        CREATE INDEX IF NOT EXISTS notesByDigest ON notes (zone, type, digest);
        """

    private static let byName = "SELECT * FROM notes WHERE zone = ? AND name = ?"
    private static let afterChange = "SELECT * FROM notes WHERE zone = ? AND change > ? ORDER BY change LIMIT ?"
    private static let afterName = "SELECT * FROM notes WHERE zone = ? AND name > ? ORDER BY name LIMIT ?"
    private static let ofSizes = "SELECT * FROM notes WHERE zone = ? AND type = ? AND size BETWEEN ? AND ? LIMIT ?"

    /// Every question goes down an index of its own, and none sorts.
    private static func checkPlans(_ database: Database, hasFieldIndexes: Bool) throws {
        var statements: [(sql: String, arguments: StatementArguments, wanted: String)] = [
            (byName, [zone, "name"], "PRIMARY KEY (zone=? AND name=?)"),
            (afterChange, [zone, 1, 1], "notesByChange (zone=? AND change>?)"),
            (afterName, [zone, "name", 1], "PRIMARY KEY (zone=? AND name>?)"),
        ]
        if hasFieldIndexes {
            statements.append(
                (ofSizes, [zone, "File", 1, 2, 1], "notesBySize (zone=? AND type=? AND size>? AND size<?)"))
        }
        for (sql, arguments, wanted) in statements {
            let rows = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments)
            let steps = rows.map { row -> String in row["detail"] }
            guard steps.count == 1, steps[0].hasSuffix(wanted) else {
                throw PeerError("SQLite does not answer as described: \(steps)")
            }
        }
    }

    // MARK: Writing

    /// Saves new records by one durable commit.
    func insert(_ notes: [NoteRow]) async throws {
        try await pool.write { database in
            for note in notes { try note.insert(database) }
        }
    }

    /// Saves existing records by one durable commit: all columns, or some.
    func update(_ notes: [NoteRow], columns: [String]? = nil) async throws {
        try await pool.write { database in
            for note in notes {
                if let columns { try note.update(database, columns: columns) } else { try note.update(database) }
            }
        }
    }

    /// Fetches a record, changes a field and saves it: a read and a write, because people change things in between.
    func edit(_ name: String) async throws -> Int {
        guard var note = try await notes(named: [name]).first else { throw PeerError("A record is missing.") }
        note.mode += 1
        note.change = nextChange()
        try await update([note], columns: ["mode", "change", "modified"])
        return 1
    }

    // MARK: Reading

    /// The records with these names, as far as there are any.
    func notes(named names: [String]) async throws -> [NoteRow] {
        try await pool.read { database in
            let statement = try database.cachedStatement(sql: Self.byName)
            return try names.compactMap { name in
                statement.setUncheckedArguments([Self.zone, name])
                return try NoteRow.fetchOne(statement)
            }
        }
    }

    /// The records that changed after a change, in the order of changes.
    func notes(changedAfter change: Int, limit: Int) async throws -> [NoteRow] {
        try await pool.read { try Self.notes($0, Self.afterChange, [Self.zone, change, limit]) }
    }

    /// The records of a type whose sizes are in a range.
    func notes(ofType type: String, sizes: ClosedRange<Int64>, limit: Int) async throws -> [NoteRow] {
        try await pool.read { database in
            try Self.notes(database, Self.ofSizes, [Self.zone, type, sizes.lowerBound, sizes.upperBound, limit])
        }
    }

    /// Reads all records, page by page, in the order in which they are stored. Returns how many there are.
    func readAll() async throws -> Int {
        var (last, count) = ("", 0)
        while true {
            let name = last
            let page = try await pool.read { try Self.notes($0, Self.afterName, [Self.zone, name, Self.pageCount]) }
            count += page.count
            guard let next = page.last?.name else { return count }
            last = next
        }
    }

    private static func notes(
        _ database: Database, _ sql: String, _ arguments: StatementArguments
    ) throws -> [NoteRow] {
        let statement = try database.cachedStatement(sql: sql)
        statement.setUncheckedArguments(arguments)
        return try NoteRow.fetchAll(statement)
    }
}
