// How a connection is made: the login, server by server, and the set-up, which is one trip.
//
// Unsafe: the arrays of C strings are valid during the call that takes them; libpq copies what it keeps.

internal import Glibc
internal import StratusStore

extension PostgresConnection {
    /// Connects to the first server of the address that takes writes, and sets the connection up. `schema` and all else
    /// that it needs are in the address.
    ///
    /// Throws the error of the first server that answered, or of the last one if none did.
    static func open(
        _ info: ConnectionInfo, as role: ConnectionRole, until deadline: MonotonicTime, library: Libpq
    ) throws(ServerError) -> PostgresConnection {
        var answered: ServerError?
        var last = ServerError.deadline
        let servers = info.serversToTry()
        for (index, endpoint) in servers.enumerated() {
            do throws(ServerError) {
                // A server that does not answer leaves time for the others.
                let share = deadline.secondsLeft / Double(servers.count - index)
                let limit = min(deadline, .now + min(info.connectSeconds, share))
                let connection = try connect(info, endpoint, until: limit, library)
                try connection.setUp(as: role, until: limit)
                connection.endpoint = endpoint
                let timeline = connection.timeline
                guard info.route.withLock({ $0.note(endpoint, timeline) }) else { throw connection.broken(.readOnly) }
                return connection
            } catch {
                // Another server would refuse the role, too; and a pooler is an error of the configuration.
                guard error.isWorthRetrying else { throw error }
                last = error
                if error.origin == .deadline { info.noteSilence(of: endpoint) }
                if error.origin == .server, answered == nil { answered = error }
            }
        }
        throw answered ?? last
    }

    /// The same, and tries again while a server is there that takes no connection yet: it starts, or has too many.
    static func openWaiting(
        _ info: ConnectionInfo, as role: ConnectionRole, until deadline: MonotonicTime, library: Libpq
    ) throws(ServerError) -> PostgresConnection {
        var answer: ServerError?
        while true {
            do throws(ServerError) {
                return try open(info, as: role, until: deadline, library: library)
            } catch {
                // The time may end within a later attempt.
                guard error.errorClass == .wait else { throw error.origin == .deadline ? answer ?? error : error }
                guard deadline > .now else { throw error }
                answer = error
            }
            MonotonicTime.pause(seconds: min(openingPauseSeconds, max(0, deadline.secondsLeft)))
        }
    }

    private static let openingPauseSeconds = 0.25
    private static let endingProcess = ServerError.lost("The process is ending.")

    /// libpq tries all servers of an address itself, but has no time-outs while it does not block.
    private static func connect(
        _ info: ConnectionInfo, _ endpoint: ConnectionInfo.Endpoint, until end: MonotonicTime, _ library: Libpq
    ) throws(ServerError) -> PostgresConnection {
        let symbols = library.symbols
        let started = unsafe CStrings.with(parameters(info, endpoint)) { keywords, values in
            unsafe LoginGate.pass { unsafe symbols.connectStartParams(keywords, values, 1) }
        }
        guard let started = unsafe started else { throw endingProcess }
        guard let handle = unsafe started else { throw .lost("libpq has no memory.") }
        let connection = unsafe PostgresConnection(handle, info, library)
        var polling = PollingStatus.writing
        while polling != .ok {
            let socket = unsafe symbols.socket(handle)
            let isWriting = polling == .writing
            if socket >= 0, polling != .failed {
                guard SocketWait.wait(socket, writing: isWriting, reading: !isWriting, until: end) else {
                    throw connection.broken(.deadline)
                }
            }
            guard let answer = LoginGate.pass({ unsafe symbols.connectPoll(handle) }) else {
                connection.leaveToExit()
                throw endingProcess
            }
            polling = PollingStatus(rawValue: answer) ?? .failed
            if polling == .failed { throw connection.broken(ServerError(connectionMessage: connection.lastMessage)) }
        }
        guard unsafe symbols.setNonBlocking(handle, 1) == 0, unsafe symbols.enterPipelineMode(handle) == 1 else {
            throw connection.broken(.lost(connection.lastMessage))
        }
        return connection
    }

    /// Keywords and values, of which later ones win. The address is expanded where `dbname` is.
    private static func parameters(
        _ info: ConnectionInfo, _ endpoint: ConnectionInfo.Endpoint
    ) -> [(keyword: String, value: String)] {
        var parameters = [
            ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "15000"),
            ("dbname", info.libpqText),
            ("target_session_attrs", "read-write"), ("client_encoding", "UTF8"),
            ("fallback_application_name", "stratus"),
        ]
        if let host = endpoint.host { parameters.append(("host", host)) }
        if let address = endpoint.address { parameters.append(("hostaddr", address)) }
        if let port = endpoint.port { parameters.append(("port", port)) }
        return parameters
    }

    /// One trip: who the server is, our settings, the fence, and all statements.
    private func setUp(as role: ConnectionRole, until end: MonotonicTime) throws(ServerError) {
        try send(text: SetUp.identity.sql, named: SetUp.identity.name)
        try send(text: SetUp.settings.sql, named: SetUp.settings.name, SetUp.parameters(schema: info.schema))
        // The isolation of the next segment is what was just set: the generation must be read after the fence.
        try sync()
        // In segments of their own: other servers may not know the functions, and a role may not read the view.
        for query in [SetUp.timeline, SetUp.session] {
            try send(text: query.sql, named: query.name)
            try sync()
        }
        if case .writer = role {
            var fence = StatementParameters()
            fence.add(SetUp.fenceClass)
            try send(text: SetUp.fence.sql, named: SetUp.fence.name, fence)
            try send(text: SetUp.generation.sql, named: SetUp.generation.name)
            try sync()
        }
        if case .plain = role {
        } else {
            for statement in Statement.allCases { try prepare(statement) }
            try sync()
        }
        var outcomes = try flush(.until(end))
        // The identity and the settings are before them.
        let timelineOutcome = outcomes.remove(at: 2)
        let sessionOutcome = outcomes.remove(at: 2)
        var results: [QueryResult] = []
        for outcome in outcomes {
            switch outcome {
            case .answer(let result): results.append(result)
            case .failure(let error): throw broken(error)
            case .skipped: break
            }
        }
        do {
            try check(results[0])
            if case .answer(let result) = sessionOutcome, result.rowCount == 1 {
                session?.name = try result.text(0, 0)
            }
            if case .writer = role, results[3].rowCount == 1 { generation = try results[3].integer(0, 0) }
            if case .answer(let result) = timelineOutcome {
                timeline = ServerTimeline(system: try result.integer(0, 0), number: try result.integer(0, 1))
            }
        } catch let error as ServerError {
            throw broken(error)
        } catch {
            throw broken(.misplacedAnswer("\(error)"))
        }
    }

    private func check(_ identity: QueryResult) throws {
        serverVersion = Int(try identity.integer(0, SetUp.Column.version.rawValue, as: Int64.self))
        isPostgreSQL = try identity.truth(0, SetUp.Column.isPostgreSQL.rawValue)
        let isReadOnly = try identity.truth(0, SetUp.Column.isReadOnly.rawValue)
        if try identity.truth(0, SetUp.Column.isInRecovery.rawValue) || isReadOnly {
            throw ServerError.readOnly
        }
        let processID = try identity.integer(0, SetUp.Column.processID.rawValue, as: Int64.self)
        session = ServerSession(processID: Int32(truncatingIfNeeded: processID), name: "")
        let isDirect = unsafe processID == Int64(symbols.backendPID(handle))
        if isPostgreSQL, !isDirect {
            throw ServerError(origin: .pooler)
        }
    }
}

/// Arrays of C strings.
private enum CStrings {
    /// Calls `body` with keywords and values, which end with null.
    static func with<Result>(
        _ pairs: [(keyword: String, value: String)],
        _ body: (LibpqSymbols.Texts, LibpqSymbols.Texts) -> Result
    ) -> Result {
        let copies = unsafe pairs.map { unsafe (strdup($0.keyword), strdup($0.value)) }
        defer {
            unsafe copies.forEach { copy in
                unsafe free(copy.0)
                unsafe free(copy.1)
            }
        }
        let keywords: [CString?] = unsafe copies.map { unsafe $0.0.map { unsafe CString($0) } } + [nil]
        let values: [CString?] = unsafe copies.map { unsafe $0.1.map { unsafe CString($0) } } + [nil]
        return unsafe body(keywords, values)
    }
}

extension ServerError {
    /// The error of a connection that failed. libpq returns the server's code only in its verbose message, between the
    /// severity and the text: two spaces, five characters, a colon.
    init(connectionMessage message: String) {
        let firstLines = message.split(separator: "\nLOCATION:", maxSplits: 1).first.map(String.init) ?? message
        let bytes = [UInt8](message.utf8)
        let states = bytes.indices.dropLast(8).lazy.compactMap { start -> SQLState? in
            guard bytes[start...].starts(with: [0x3A, 0x20, 0x20]), bytes[start + 8] == 0x3A else { return nil }
            return SQLState(String(decoding: bytes[(start + 3)..<(start + 8)], as: UTF8.self))
        }
        let state = states.first
        self.init(
            origin: state == nil ? .notConnected : .server, severity: state == nil ? nil : .fatal, state: state,
            message: firstLines.split(separator: "\n").joined(separator: " "))
    }
}
