// What follows from an error: codes decide, never texts.

import StratusStore
import Testing

@testable import StratusPostgres

@Suite struct ServerErrorTests {
    private static func error(_ state: String, _ statement: Statement = .get) -> ServerError {
        ServerError(
            origin: .server, severity: .error, state: SQLState(state), message: "message", detail: "detail",
            statement: .run(statement))
    }

    static let classes: [(state: String, expected: ErrorClass)] = [
        ("40001", .again), ("40P01", .again), ("55P03", .again), ("40003", .unknownOutcome),
        ("25006", .reconnect), ("57P01", .reconnect), ("57P02", .reconnect), ("57P05", .reconnect),
        ("25P03", .reconnect), ("08006", .reconnect), ("42P05", .reconnect), ("26000", .reconnect),
        ("57P03", .wait), ("53300", .wait), ("53200", .againSmaller), ("53100", .code(.diskFull)),
        ("53400", .code(.tooLarge)), ("54000", .code(.tooLarge)), ("58030", .code(.inputOutput)),
        ("XX001", .code(.corruption)), ("XX002", .code(.corruption)), ("28P01", .code(.notPermitted)),
        ("3D000", .code(.notAStore)), ("42P01", .code(.notAStore)), ("3F000", .code(.notAStore)),
        ("42501", .code(.notPermitted)), ("57014", .code(.unavailable)), ("22021", .code(.inputOutput)),
        ("42601", .code(.inputOutput)), ("0A000", .code(.inputOutput)), ("XX000", .code(.inputOutput)),
        ("23505", .code(.inputOutput)),
    ]

    @Test("each code has its class", arguments: classes.indices)
    func codes(index: Int) {
        let (state, expected) = Self.classes[index]
        #expect(Self.error(state).errorClass == expected)
    }

    @Test(
        "a lost race for an entry or a receipt runs again, another violation does not",
        arguments: [Statement.put, .insert, .receipt])
    func races(statement: Statement) {
        #expect(Self.error("23505", statement).errorClass == .again)
    }

    @Test("an error without a code is a broken connection")
    func withoutCode() {
        #expect(ServerError(origin: .server).errorClass == .reconnect)
        #expect(ServerError.lost("closed").errorClass == .reconnect)
        #expect(ServerError.lost("closed").endsConnection)
    }

    @Test("FATAL and PANIC end the connection, ERROR does not")
    func severities() {
        var error = Self.error("57P01")
        #expect(!error.endsConnection)
        error.severity = .fatal
        #expect(error.endsConnection)
        error.severity = .panic
        #expect(error.endsConnection)
    }

    @Test("the error for callers has the code, the statement and the server's words")
    func storeErrors() {
        let error = Self.error("53100", .put).storeError()
        #expect(error.code == .diskFull)
        #expect(error.fields == ["sqlstate": "53100", "statement": "put"])
        #expect(error.cause == "message (detail)")
        #expect(Self.error("XX001").storeError().damage == .files)
        #expect(Self.error("3D000").storeError().message.contains("createdb"))
        #expect(ServerError.deadline.storeError().code == .unavailable)
        #expect(ServerError(origin: .pooler).storeError().code == .invalidRequest)
    }

    @Test("values that a message quotes do not become a cause", arguments: ["22021", "23505"])
    func values(state: String) {
        #expect(Self.error(state).storeError().cause == nil)
    }

    @Test("the code of a failed connection is found behind the severity")
    func connectionMessages() {
        let refused = ServerError(
            connectionMessage: """
                connection to server at "127.0.0.1", port 5432 failed: FATAL:  28P01: password authentication failed
                LOCATION:  auth_failed, auth.c:335
                """)
        #expect(refused.state == SQLState("28P01"))
        #expect(!refused.message.contains("LOCATION"))
        #expect(!refused.isWorthRetrying)
        let unreachable = ServerError(
            connectionMessage: "connection to server at \"127.0.0.1\", port 1 failed: Connection refused")
        #expect(unreachable.state == nil)
        #expect(unreachable.isWorthRetrying)
        #expect(unreachable.storeError().message.hasPrefix("No connection to PostgreSQL was made"))
        #expect(ServerError.lost("").storeError().message.hasPrefix("The connection to PostgreSQL was lost"))
    }
}
