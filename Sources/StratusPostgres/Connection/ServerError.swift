// Errors of the server and of a connection, and what follows from each. Codes decide: SQLSTATE, and the severity that
// no language changes. Texts decide nothing.

internal import StratusStore

/// A code of five characters that the SQL standard or PostgreSQL has given an error. The first two are its class.
struct SQLState: Hashable, Sendable, CustomStringConvertible {
    let description: String

    /// Nil if the text is no such code.
    init?(_ text: String) {
        let isWord = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard isWord, text.utf8.count == 5 else { return nil }
        description = text
    }

    var classCode: String { String(description.prefix(2)) }
}

/// How bad a message of the server is. FATAL and PANIC end the connection.
enum MessageSeverity: String, Sendable {
    case panic = "PANIC"
    case fatal = "FATAL"
    case error = "ERROR"
    case warning = "WARNING"
    case notice = "NOTICE"
    case debug = "DEBUG"
    case info = "INFO"
    case log = "LOG"

    var endsConnection: Bool { self == .panic || self == .fatal }
}

/// A message that no statement caused to fail.
struct ServerNotice: Hashable, Sendable {
    let severity: MessageSeverity?
    let state: SQLState?
}

/// What to do after an error.
enum ErrorClass: Hashable, Sendable {
    /// Run the transaction again.
    case again
    /// The same with half of the group: the server lacked memory for its locks.
    case againSmaller
    /// The connection is of no use. Run again on another one, unless a commit was sent.
    case reconnect
    /// The same after a longer pause: the server is not ready, or full.
    case wait
    /// The commit may have happened or not: ask the server.
    case unknownOutcome
    /// Throw an error with this code.
    case code(StoreError.Code)
}

/// An error of a statement, or the end of a connection.
struct ServerError: Error, Hashable, Sendable {
    /// Where the error comes from.
    enum Origin: Hashable, Sendable {
        /// The server has refused a statement, or a connection.
        case server
        /// The connection broke.
        case connection
        /// No connection was made, and there is no code that says why.
        case notConnected
        /// The caller's time is over.
        case deadline
        /// The server has answered what cannot be.
        case protocolMismatch
        /// Something else than the server has answered.
        case pooler
    }

    var origin: Origin
    var severity: MessageSeverity?
    var state: SQLState?
    /// What libpq or the server says, redacted. It decides nothing.
    var message = ""
    var detail = ""
    var table = ""
    var constraint = ""
    var statement: StatementLabel?

    /// Whether the connection cannot be used after it.
    var endsConnection: Bool { origin != .server || severity?.endsConnection == true }

    static func lost(_ message: String) -> ServerError { ServerError(origin: .connection, message: message) }

    static let deadline = ServerError(origin: .deadline)

    /// The server takes no writes: it is a standby, or was replaced and does not know it.
    static let readOnly = ServerError(origin: .server, severity: .error, state: SQLState("25006"))

    /// The server has stopped waiting for a standby, which it says by a warning: what it did may be lost.
    static let unconfirmed = ServerError(origin: .server, severity: .error, state: SQLState("40003"))

    static func misplacedAnswer(_ what: String) -> ServerError {
        ServerError(origin: .protocolMismatch, message: what)
    }

    /// The same error as that of a statement.
    func `in`(_ label: StatementLabel) -> ServerError {
        var error = self
        error.statement = label
        return error
    }

    var errorClass: ErrorClass {
        switch origin {
        case .connection, .notConnected, .protocolMismatch: return .reconnect
        case .deadline: return .code(.unavailable)
        case .pooler: return .code(.invalidRequest)
        case .server: break
        }
        guard let state else { return .reconnect }
        return Self.classes[state.description] ?? uniqueViolation(state) ?? Self.families[state.classCode]
            ?? .code(.inputOutput)
    }

    /// An entry or a receipt that another transaction has written at the same time, or an entry that should be absent.
    /// A receipt means that this transaction was asked for and is fenced.
    private func uniqueViolation(_ state: SQLState) -> ErrorClass? {
        let isRace = statement == .run(.put) || statement == .run(.insert) || statement == .run(.receipt)
        return state.description == "23505" && isRace ? .again : nil
    }

    private static let classes: [String: ErrorClass] = [
        "40001": .again, "40P01": .again, "55P03": .again,
        "40003": .unknownOutcome,
        "25006": .reconnect, "57P01": .reconnect, "57P02": .reconnect, "57P05": .reconnect, "25P03": .reconnect,
        "57P03": .wait, "53300": .wait,
        "57014": .code(.unavailable),
        "53200": .againSmaller,
        "53100": .code(.diskFull),
        "53400": .code(.tooLarge),
        "58030": .code(.inputOutput),
        "XX001": .code(.corruption), "XX002": .code(.corruption),
        "3D000": .code(.notAStore), "42P01": .code(.notAStore), "3F000": .code(.notAStore),
        "42501": .code(.notPermitted),
        "42P05": .reconnect, "26000": .reconnect,
    ]

    private static let families: [String: ErrorClass] = [
        "08": .reconnect, "28": .code(.notPermitted), "54": .code(.tooLarge), "53": .wait,
    ]

    /// Whether a new connection may succeed where this one failed.
    var isWorthRetrying: Bool {
        if origin == .deadline { return true }
        return switch errorClass {
        case .reconnect, .wait, .again, .againSmaller, .unknownOutcome: true
        case .code: false
        }
    }

    /// The error for callers, after what could be tried again was.
    func storeError(_ more: [String: String] = [:]) -> StoreError {
        var fields = more
        if let state { fields["sqlstate"] = state.description }
        if let statement { fields["statement"] = statement.description }
        if !constraint.isEmpty { fields["constraint"] = constraint }
        if !table.isEmpty { fields["table"] = table }
        let base = described
        return StoreError(base.code, base.message, fields, cause: cause, damage: .files)
    }

    /// Messages of classes 22 and 23 may quote values, and keys have people's names.
    private var cause: String? {
        guard state?.classCode != "22", state?.classCode != "23" else { return nil }
        let text = detail.isEmpty ? message : "\(message) (\(detail))"
        return text.isEmpty ? nil : text
    }

    private var described: (code: StoreError.Code, message: StaticString) {
        switch errorClass {
        case .again: return (.unavailable, "Other transactions changed the same records: try again.")
        case .againSmaller:
            return (
                .unavailable,
                "PostgreSQL lacks memory for its locks: set max_pred_locks_per_transaction to 4096 and restart it."
            )
        case .unknownOutcome: return (.commitUnknown, "The commit may have happened or not: read before you repeat it.")
        case .reconnect where state?.description == "42P05" || state?.description == "26000":
            return (.invalidRequest, "Something between the host and PostgreSQL shares its sessions: connect directly.")
        case .reconnect where state?.description == "25006":
            return (.unavailable, "The server takes no writes: connect to the primary server.")
        case .reconnect where origin == .notConnected:
            return (.unavailable, "No connection to PostgreSQL was made: see the cause, and check address and server.")
        case .reconnect: return (.unavailable, "The connection to PostgreSQL was lost: try again.")
        case .wait where state?.description == "53300":
            return (
                .unavailable,
                "PostgreSQL has no connection left: raise max_connections or the role's limit, or open fewer hosts."
            )
        case .wait: return (.unavailable, "PostgreSQL is not ready: try again.")
        case .code(let code) where state?.description == "3D000":
            return (code, "The server has no such database: create it with createdb, or correct the address.")
        case .code(let code): return (code, message(of: code))
        }
    }

    private func message(of code: StoreError.Code) -> StaticString {
        switch code {
        case .invalidRequest:
            """
            A connection pooler is between the host and PostgreSQL (PgBouncer, Odyssey, PgCat or another). Give Stratus a \
            direct connection: it has a pool of its own, and needs sessions for its locks.
            """
        case .unavailable where origin == .deadline: "PostgreSQL did not answer in time: try again."
        case .unavailable: "PostgreSQL ended the statement: try again."
        case .diskFull: "PostgreSQL's disk is full: make room there."
        case .tooLarge: "PostgreSQL's limits are too small for this transaction: raise them, or split it."
        case .corruption: "PostgreSQL reports damaged files: restore a backup, or use pg_amcheck."
        case .notPermitted: "PostgreSQL refuses the role: give it its password and the privileges of a host."
        case .notAStore: "There is no store in this database. Create it with stratus init --store URL."
        default: "PostgreSQL could not run a statement: see the cause."
        }
    }
}
