// A session with a PostgreSQL server, by libpq as a program in C uses it: prepared statements, binary parameters and
// results, and pipelines, so that statements that do not need each other's answers share a trip.
//
// Unsafe: the connection lives from `init` to `deinit`; libpq copies parameters during the call that gets them; a
// result is read while its owner lives, which frees it.

import CPostgreSQL
import Foundation

/// A connection. One thread at a time uses it.
@safe final class SQLSession: @unchecked Sendable {  // because one thread at a time uses it
    private let connection: OpaquePointer
    private var prepared: Set<String> = []
    private var waitingCount = 0
    /// How often it has waited for answers.
    private(set) var trips = 0

    init(url: String, schema: String? = nil) throws {
        guard let connection = unsafe PQconnectdb(url) else { throw PeerError("libpq has no memory.") }
        unsafe self.connection = unsafe connection
        guard unsafe PQstatus(connection) == CONNECTION_OK else { throw PeerError("No connection: \(lastMessage)") }
        if let schema { try run("SET search_path TO \(schema)") }
        guard unsafe PQenterPipelineMode(connection) == 1 else { throw PeerError("libpq has no pipelines.") }
    }

    deinit { unsafe PQfinish(connection) }

    /// Runs statements that are not prepared, before anything else or between flushes.
    func run(_ sql: String) throws { _ = try text(sql) }

    /// The same, and returns the first column of the rows, a line each.
    func text(_ sql: String) throws -> String {
        let isPipeline = unsafe PQpipelineStatus(connection) != PQ_PIPELINE_OFF
        if isPipeline { unsafe _ = PQexitPipelineMode(connection) }
        defer { if isPipeline { unsafe _ = PQenterPipelineMode(connection) } }
        let result = unsafe PQexec(connection, sql)
        defer { unsafe PQclear(result) }
        let status = unsafe PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
            throw PeerError("\(lastMessage)in \(sql)")
        }
        return unsafe (0..<PQntuples(result)).map { unsafe String(cString: PQgetvalue(result, $0, 0)) }
            .joined(separator: "\n")
    }

    /// Adds a statement to the next flush. It is prepared when it is first used.
    func send(_ statement: SQLStatement, _ parameters: SQLParameters = SQLParameters()) throws {
        if prepared.insert(statement.name).inserted {
            try check(unsafe PQsendPrepare(connection, statement.name, statement.sql, 0, nil))
            waitingCount += 1
        }
        try unsafe parameters.withPointers { count, values, lengths, formats in
            try check(
                unsafe PQsendQueryPrepared(connection, statement.name, count, values, lengths, formats, 1))
        }
        waitingCount += 1
    }

    /// Sends what was added and waits for all answers: one trip. Returns the rows of the statements that have any.
    @discardableResult
    func flush() throws -> [SQLRows] {
        try check(unsafe PQpipelineSync(connection))
        trips += 1
        var answers: [SQLRows] = []
        var failure: PeerError?
        for _ in 0..<waitingCount {
            guard let result = unsafe PQgetResult(connection) else { throw PeerError("An answer is missing.") }
            switch unsafe PQresultStatus(result) {
            case PGRES_TUPLES_OK: answers.append(unsafe SQLRows(result))
            case PGRES_COMMAND_OK: unsafe PQclear(result)
            default:
                failure = failure ?? PeerError(lastMessage)
                unsafe PQclear(result)
            }
            unsafe PQclear(PQgetResult(connection))
        }
        waitingCount = 0
        let end = unsafe PQgetResult(connection)
        defer { unsafe PQclear(end) }
        if let failure { throw failure }
        guard unsafe PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw PeerError("A pipeline has no end.") }
        return answers
    }

    /// One statement and its rows: one trip.
    func rows(_ statement: SQLStatement, _ parameters: SQLParameters = SQLParameters()) throws -> SQLRows {
        try send(statement, parameters)
        guard let rows = try flush().first else { throw PeerError("\(statement.name) has no rows.") }
        return rows
    }

    private func check(_ status: Int32) throws {
        guard status == 1 else { throw PeerError(lastMessage) }
    }

    private var lastMessage: String { unsafe String(cString: PQerrorMessage(connection)) }
}

/// A statement and the name under which it is prepared.
struct SQLStatement: Hashable, Sendable {
    let name: String
    let sql: String
}

/// The rows of a statement.
@safe final class SQLRows {
    private let result: OpaquePointer
    let count: Int

    @unsafe fileprivate init(_ result: OpaquePointer) {
        unsafe self.result = unsafe result
        count = Int(unsafe PQntuples(result))
    }

    deinit { unsafe PQclear(result) }

    func text(_ row: Int, _ column: Int32) -> String {
        unsafe String(decoding: bytes(row, column), as: UTF8.self)
    }

    func optionalText(_ row: Int, _ column: Int32) -> String? {
        unsafe PQgetisnull(result, Int32(row), column) == 1 ? nil : text(row, column)
    }

    func data(_ row: Int, _ column: Int32) -> Data { unsafe Data(bytes(row, column)) }

    func integer(_ row: Int, _ column: Int32) -> Int64 {
        unsafe bytes(row, column).reduce(0) { $0 << 8 | Int64($1) }
    }

    func truth(_ row: Int, _ column: Int32) -> Bool { integer(row, column) != 0 }

    func number(_ row: Int, _ column: Int32) -> Double {
        Double(bitPattern: UInt64(bitPattern: integer(row, column)))
    }

    private func bytes(_ row: Int, _ column: Int32) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            start: PQgetvalue(result, Int32(row), column), count: Int(PQgetlength(result, Int32(row), column)))
    }
}

/// Parameters in PostgreSQL's binary format, which has its numbers in big-endian order.
struct SQLParameters {
    private enum ElementType {
        static let bytes: Int32 = 17
        static let integer: Int32 = 20
        static let text: Int32 = 25
    }

    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    mutating func add(_ number: Int64) {
        append(number)
        ends.append(bytes.count)
    }

    mutating func add(_ number: Double) { add(Int64(bitPattern: number.bitPattern)) }

    mutating func add(_ text: String) {
        bytes += text.utf8
        ends.append(bytes.count)
    }

    mutating func add(_ texts: [String?]) {
        add(texts, ElementType.text) { text, bytes in bytes += text.utf8 }
    }

    mutating func add(_ values: [[UInt8]]) {
        add(values, ElementType.bytes) { value, bytes in bytes += value }
    }

    mutating func add(_ numbers: [Int64]) {
        add(numbers, ElementType.integer) { number, bytes in
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
            }
        }
    }

    private mutating func add<Element>(
        _ elements: [Element?], _ type: Int32, _ encode: (Element, inout [UInt8]) -> Void
    ) {
        append(Int32(1))
        append(Int32(elements.contains { $0 == nil } ? 1 : 0))
        append(type)
        append(Int32(elements.count))
        append(Int32(1))
        for element in elements {
            guard let element else {
                append(Int32(-1))
                continue
            }
            let start = bytes.count
            append(Int32(0))
            encode(element, &bytes)
            let count = bytes.count - start - 4
            for (index, shift) in [24, 16, 8, 0].enumerated() {
                bytes[start + index] = UInt8(truncatingIfNeeded: count >> shift)
            }
        }
        ends.append(bytes.count)
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    @unsafe fileprivate func withPointers(
        _ body: (
            Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) throws -> Void
    ) rethrows {
        // A null pointer would be a null value, so even no bytes need an address.
        let padded = bytes + [0]
        try unsafe padded.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            var values: [UnsafePointer<CChar>?] = unsafe []
            var lengths: [Int32] = []
            var start = 0
            for end in ends {
                unsafe values.append(base.map { unsafe $0 + start })
                lengths.append(Int32(end - start))
                start = end
            }
            try unsafe body(Int32(ends.count), values, lengths, [Int32](repeating: 1, count: ends.count))
        }
    }
}
