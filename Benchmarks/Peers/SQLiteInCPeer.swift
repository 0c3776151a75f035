// SQLite without a library above it: the connection of Benchmarks/CSQLite, which C code would use the same way. What it
// reads stays in one page of memory, which is used again: it creates no object for a record.
//
// Unsafe: the connection and the page live from `init` to `close`; bytes are copied into and out of the page.

import CSQLite
import Foundation
import StratusModel
import StratusWorkloads
import Synchronization

/// A connection, with the rows that it has read. One thread at a time uses it.
@safe final class SQLiteInCPeer: @unchecked Sendable {  // because one thread at a time uses it
    private var connection: OpaquePointer?
    private var rows = unsafe csqlite_page()
    private let zone: Int64
    /// The name of a single record that is asked for.
    private let asked: Rows

    init(path: String, pageByteCount: Int = 4_096) throws {
        asked = try Rows(names: [])
        var failure: UnsafePointer<CChar>?
        unsafe connection = unsafe csqlite_open(
            path, Int64(SQLitePeer.sharedCacheByteCount), 4 << 30, Int32(pageByteCount), &failure)
        if let failure = unsafe failure { throw PeerError(unsafe String(cString: failure)) }
        zone = unsafe csqlite_zone(connection, "main")
        guard zone >= 0 else { throw PeerError("SQLite in C has no zone.") }
    }

    /// Every question goes down an index. Those by size have theirs after `makeSizeIndex`.
    func checkPlans(withSizes: Bool) throws {
        var scanned: UnsafePointer<CChar>?
        try check(unsafe csqlite_check_plans(connection, withSizes ? 1 : 0, &scanned))
        if let scanned = unsafe scanned { throw PeerError("SQLite in C scans: \(unsafe String(cString: scanned))") }
    }

    deinit { close() }

    func close() {
        unsafe csqlite_close(connection)
        unsafe connection = nil
        unsafe csqlite_page_free(&rows)
    }

    /// One durable commit.
    func save(_ records: Rows) throws { try check(unsafe csqlite_save(connection, zone, &records.page)) }

    /// Calls `body` inside one transaction that reads.
    func read<Result>(_ body: () throws -> Result) throws -> Result {
        try check(unsafe csqlite_begin(connection))
        do {
            let result = try body()
            try check(unsafe csqlite_end(connection))
            return result
        } catch {
            unsafe _ = csqlite_end(connection)
            throw error
        }
    }

    /// The number of records under these names, each read whole.
    func fetch(_ names: Rows) throws -> Int {
        try reading { unsafe csqlite_fetch(connection, zone, &names.page, &rows) }
    }

    /// Reads the record under this name whole. The statement has a snapshot of its own, so it needs no transaction.
    func fetch(_ name: RecordName) throws {
        try asked.replace(with: name)
        guard try fetch(asked) == 1 else { throw PeerError("A record is missing in SQLite in C.") }
    }

    /// Reads the records that changed after `change`. Returns how many there are, and the last one's change.
    func changes(after change: Int64, limit: Int) throws -> (count: Int, last: Int64) {
        let count = try reading { unsafe csqlite_changes(connection, zone, change, Int32(limit), &rows) }
        return unsafe (count, count == 0 ? change : rows.records[count - 1].change)
    }

    /// Reads the records of a type whose size is in a range.
    func sizes(_ type: String, _ range: ClosedRange<Int64>, limit: Int) throws -> Int {
        try reading {
            unsafe csqlite_sizes(
                connection, zone, csqlite_type(connection, type), range.lowerBound, range.upperBound, Int32(limit),
                &rows)
        }
    }

    /// Reads the records of a type with the largest sizes.
    func largest(_ type: String, limit: Int) throws -> Int {
        try reading { unsafe csqlite_largest(connection, zone, csqlite_type(connection, type), Int32(limit), &rows) }
    }

    /// How many of the records have a share at or above them.
    func sharedCount(_ names: Rows) throws -> Int {
        var count = 0
        try check(unsafe csqlite_shared(connection, zone, &names.page, &count))
        return count
    }

    /// The number of records below the one record of `names`.
    func countBelow(_ names: Rows) throws -> Int {
        var count = 0
        try check(unsafe csqlite_below(connection, zone, &names.page, &count))
        return count
    }

    func makeSizeIndex() throws {
        try check(unsafe csqlite_index_sizes(connection))
        try checkPlans(withSizes: true)
        try settle()
    }

    /// Moves the whole log into the database file.
    func settle() throws { try check(unsafe csqlite_checkpoint(connection)) }

    /// The schema and the statements, for the results page.
    static var text: String {
        var lines = [unsafe String(cString: csqlite_schema())]
        var index: Int32 = 0
        while let statement = unsafe csqlite_statement_text(index) {
            lines.append(unsafe String(cString: statement) + ";")
            index += 1
        }
        return lines.joined(separator: "\n")
    }

    private func reading(_ body: () -> Int32) throws -> Int {
        unsafe csqlite_page_clear(&rows)
        try check(body())
        return unsafe rows.count
    }

    private func check(_ status: Int32) throws {
        guard status == 0 else {
            throw PeerError(
                "SQLite in C: \(status), \(unsafe connection.map { unsafe String(cString: csqlite_message($0)) } ?? "")"
            )
        }
    }

    /// Records or names that are passed to a connection. Where many are measured, they are put together beforehand.
    @safe final class Rows {
        fileprivate var page = unsafe csqlite_page()

        init(names: [RecordName]) throws {
            for name in names { try append(name) }
        }

        init(_ records: [(record: StratusModel.Record, content: RecordContent, change: Int)]) throws {
            let date = DataClock.stamp.date.timeIntervalSinceReferenceDate
            for (record, content, change) in records {
                try append { row, rows in
                    try rows.copy(record.name.text, &row.name)
                    try rows.copy(record.type.text, &row.type)
                    try rows.copy(record.parent?.text, &row.parent)
                    try rows.copy(record.share?.text, &row.share)
                    try rows.copy(DataClock.stamp.user.text, &row.user)
                    try rows.copy(content.title, &row.title)
                    try rows.copy(content.digest, &row.digest)
                    (row.change, row.size, row.mode) = (Int64(change), content.size, content.mode)
                    (row.created, row.modified) = (date, date)
                }
            }
        }

        deinit { unsafe csqlite_page_free(&page) }

        /// Its memory is used again.
        fileprivate func replace(with name: RecordName) throws {
            unsafe csqlite_page_clear(&page)
            try append(name)
        }

        private func append(_ name: RecordName) throws {
            try append { row, rows in try rows.copy(name.text, &row.name) }
        }

        private func append(_ body: (inout csqlite_record, Rows) throws -> Void) throws {
            guard let row = unsafe csqlite_page_append(&page) else { throw PeerError("SQLite in C has no memory.") }
            // Copying bytes may move the bytes of the page, but not its records.
            try unsafe body(&row.pointee, self)
        }

        private func copy(_ text: String?, _ to: inout csqlite_bytes) throws {
            try copy(text.map { Array($0.utf8) }, &to)
        }

        private func copy(_ bytes: [UInt8]?, _ to: inout csqlite_bytes) throws {
            let isCopied =
                if let bytes {
                    unsafe bytes.withUnsafeBytes {
                        unsafe csqlite_page_copy(&page, &to, $0.baseAddress, Int32($0.count))
                    }
                } else {
                    unsafe csqlite_page_copy(&page, &to, nil, 0)
                }
            guard isCopied == 1 else { throw PeerError("SQLite in C has no memory.") }
        }
    }
}

/// Connections to one file, one for each thread. Readers wait for nobody. SQLite has one writer, so commits take turns
/// by a lock: the next thread continues as soon as a commit has ended, while SQLite's busy handler would sleep and look
/// again.
final class SQLiteInCConnections: Sendable {
    private let connections: [SQLiteInCPeer]
    private let writing = Mutex(())

    init(path: String, count: Int) throws {
        connections = try (0..<count).map { _ in try SQLiteInCPeer(path: path) }
    }

    func close() {
        for connection in connections { connection.close() }
    }

    /// One durable commit of one record. Others do not wait while its row is put together.
    func save(_ item: NumberSource.Item, by thread: Int) throws {
        let row = try SQLiteInCPeer.Rows([(item.record, item.content, item.number)])
        try writing.withLock { _ in try connections[thread].save(row) }
    }

    func fetch(_ name: RecordName, by thread: Int) throws { try connections[thread].fetch(name) }
}
