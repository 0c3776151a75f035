// The server of the tests, which `scripts/postgres run` starts. Without it one line says what was not tested.

import StratusStore
import StratusTestSupport

@testable import StratusPostgres

enum TestServer {
    /// The address of the server; nil if there is none.
    static var address: String? { PostgresTestStore.serverAddress }

    static var isThere: Bool { address != nil }

    /// Whether libpq is installed.
    static let hasLibrary: Bool = {
        let isThere = (try? Libpq.shared()) != nil
        if !isThere { print("No libpq5: addresses were not parsed, and connections were not tested.") }
        return isThere
    }()

    /// The server's address with other parts.
    static func info(_ change: (String) -> String = { $0 }) throws -> ConnectionInfo {
        try ConnectionInfo(parsing: change(address ?? "postgresql://"))
    }

    static func open(_ info: ConnectionInfo, as role: ConnectionRole = .plain) throws -> PostgresConnection {
        try PostgresConnection.open(info, as: role, until: soon, library: .shared())
    }

    /// Later than anything that works.
    static var soon: MonotonicTime { .now + 30 }
}

/// A schema with the tables of a store, for one test.
final class TestSchema: Sendable {
    let info: ConnectionInfo
    private let name: String

    /// On a server of one test, or on that of all tests.
    init(on server: OwnServer? = nil) throws {
        let name = "t_\(UInt64.random(in: 0 ... .max))"
        self.name = name
        let address = server?.url ?? TestServer.address ?? "postgresql://"
        info = try ConnectionInfo(parsing: "\(address)?stratus_schema=\(name)")
        let connection = try TestServer.open(info)
        defer { connection.close() }
        try connection.answers(to: ["CREATE SCHEMA \(name)"] + Schema.tables(isPostgreSQL: true))
        try connection.answers(
            to: ["INSERT INTO stratus_host (id, schema_version, generation) VALUES (1, \(Schema.version), 7)"])
    }

    deinit {
        guard let connection = try? TestServer.open(info) else { return }
        defer { connection.close() }
        _ = try? connection.answers(to: ["DROP SCHEMA \(name) CASCADE"])
    }

    func open(_ role: ConnectionRole = .writer) throws -> PostgresConnection { try TestServer.open(info, as: role) }
}

extension PostgresConnection {
    /// Runs texts in one segment and returns their results. Throws the first error.
    @discardableResult
    func answers(to texts: [String]) throws -> [QueryResult] {
        for text in texts { try send(text: text, named: "test") }
        try sync()
        return try answers()
    }

    /// Flushes, and returns the results of all statements. Throws the first error.
    @discardableResult
    func answers() throws -> [QueryResult] {
        try flush(.until(TestServer.soon)).map { try $0.result() }
    }

    func number(_ text: String) throws -> Int64 { try answers(to: [text])[0].integer(0, 0) }

    func put(_ entries: [(key: [UInt8], value: [UInt8])]) throws {
        var parameters = StatementParameters()
        parameters.add(array: entries.map(\.key))
        parameters.add(array: entries.map(\.value))
        try send(.put, parameters)
    }

    func get(_ keys: [[UInt8]]) throws {
        var parameters = StatementParameters()
        parameters.add(array: keys)
        try send(.get, parameters)
    }

    func lock(_ statement: Statement, _ number: Int64) throws {
        var parameters = StatementParameters()
        parameters.add(number)
        try send(statement, parameters)
    }
}

extension StatementOutcome {
    func result() throws -> Answer {
        switch self {
        case .answer(let answer): return answer
        case .failure(let error): throw error
        case .skipped: throw ServerError.misplacedAnswer("skipped")
        }
    }

    var error: ServerError? {
        if case .failure(let error) = self { error } else { nil }
    }

    var isSkipped: Bool {
        if case .skipped = self { true } else { false }
    }
}
