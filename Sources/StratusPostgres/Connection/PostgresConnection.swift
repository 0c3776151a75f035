// One connection to a server, in pipeline mode from its set-up to its end.
//
// Invariants:
//   1. One thread at a time uses a connection. The pool passes it from thread to thread under its lock.
//   2. The socket does not block. `flush` sends and receives by turns, because client and server could otherwise wait
//      for each other's buffers. A flush that waits for an answer is one trip, however many segments it has.
//   3. After an error that ends the connection `isBroken` is true and nothing more is sent.
//   4. A statement is cancelled only if its flush has a deadline. A flush with the commit of a group has none: its
//      caller only stops waiting, and asks another connection what happened.
//   5. A cancellation that has not ended a statement may still arrive. Then the connection is not used again, because
//      the server cancels whatever runs.
//
// Unsafe: the handle is created by `open`, used by the thread that has the connection, and finished once. The receiver
// of notices gets the address of `notices`, which lives as long as the handle.

internal import Glibc
internal import StratusStore

/// What a connection is for.
enum ConnectionRole: Sendable {
    /// Creates tables. No statement is prepared.
    case plain
    /// Reads records, for programs that write nothing.
    case reader
    /// Reads and writes records. Holds the host's fence.
    case writer
}

/// A connection in pipeline mode.
@safe final class PostgresConnection: @unchecked Sendable {  // because one thread at a time uses it: see invariant 1
    typealias Outcome = StatementOutcome<QueryResult>

    /// How often a flush that waits looks whether the server was replaced.
    private static let lookSeconds = 1.0

    let info: ConnectionInfo
    let symbols: LibpqSymbols
    let handle: Handle
    private let notices: NoticeBox
    private var pipeline = Pipeline<QueryResult>()
    private var isFinished = false
    private(set) var isBroken = false
    /// Flushes that waited for an answer.
    private(set) var trips = 0
    /// Counts them together with those of other connections; nil if nothing does.
    var counter: TripCounter?
    /// Remembers the session when the connection is lost; nil if nothing does.
    var lost: LostSessions?
    /// The server's session. Nil until the connection is set up.
    var session: ServerSession?
    /// The generation of the host's lease when a writer's connection was opened; nil if there was none.
    var generation: Int64?
    /// The server's version, such as 150007.
    var serverVersion = 0
    /// Whether it is PostgreSQL itself, and no server that speaks its protocol.
    var isPostgreSQL = true
    /// Which server of the address it is. Nil until the connection is set up.
    var endpoint: ConnectionInfo.Endpoint?
    /// The server's timeline. Nil where there is none.
    var timeline: ServerTimeline?

    @unsafe init(_ handle: Handle, _ info: ConnectionInfo, _ library: Libpq) {
        unsafe self.handle = unsafe handle
        self.info = info
        symbols = library.symbols
        notices = NoticeBox(library.symbols)
        unsafe _ = symbols.setNoticeReceiver(handle, NoticeBox.receiver, Unmanaged.passUnretained(notices).toOpaque())
        // A failed connection has no result with a code. Only this form of its message contains the code.
        unsafe _ = symbols.setErrorVerbosity(handle, ErrorVerbosity.verbose)
    }

    deinit {
        close()
    }

    /// Closes the connection. The server undoes a transaction that is open.
    func close() {
        guard !isFinished else { return }
        isFinished = true
        isBroken = true
        unsafe symbols.finish(handle)
    }

    /// Leaves everything as it is, because the process is ending: libpq would use what is being freed.
    func leaveToExit() { (isFinished, isBroken) = (true, true) }

    // MARK: Sending

    /// Adds a prepared statement to the flush.
    func send(_ statement: Statement, _ parameters: StatementParameters = StatementParameters()) throws(ServerError) {
        precondition(parameters.count == statement.parameterCount, "A statement has another number of parameters.")
        try send(.statement(.run(statement))) {
            unsafe parameters.withPointers { values, lengths, formats in
                unsafe symbols.sendQueryPrepared(
                    handle, statement.rawValue, Int32(parameters.count), values, lengths, formats, ValueFormat.binary)
            }
        }
    }

    /// Adds a statement that runs once.
    func send(
        text sql: String, named name: String, _ parameters: StatementParameters = StatementParameters()
    ) throws(ServerError) {
        try send(.statement(.text(name))) {
            unsafe parameters.withPointers { values, lengths, formats in
                unsafe symbols.sendQueryParams(
                    handle, sql, Int32(parameters.count), nil, values, lengths, formats, ValueFormat.binary)
            }
        }
    }

    /// Ends a segment.
    func sync() throws(ServerError) {
        try send(.sync) { unsafe symbols.pipelineSync(handle) }
    }

    func prepare(_ statement: Statement) throws(ServerError) {
        try send(.statement(.prepare(statement))) {
            unsafe symbols.sendPrepare(handle, statement.rawValue, statement.sql, 0, nil)
        }
    }

    private func send(_ step: PipelineStep, _ body: () -> Int32) throws(ServerError) {
        guard !isBroken else { throw .lost("The connection was broken before.") }
        guard body() == 1 else { throw broken(.lost(lastMessage)) }
        pipeline.expect(step)
    }

    // MARK: Receiving

    /// Sends what was added, which ends with a sync, and waits for all results. Returns what became of each statement.
    ///
    /// Throws if the connection breaks or the time is over. Errors of statements are outcomes.
    func flush(_ limit: FlushLimit) throws(ServerError) -> [Outcome] {
        precondition(pipeline.isComplete, "A flush must end with a sync: the server would not answer.")
        guard !isBroken else { throw .lost("The connection was broken before.") }
        guard !isReplaced else { throw broken(.readOnly) }
        notices.clear()
        var deadlines = FlushDeadlines(limit)
        var mayBeCancelled = false
        if pipeline.isWaiting {
            trips += 1
            counter?.note()
        }
        while true {
            let isSending = try advance()
            guard pipeline.isWaiting else { break }
            if try wait(isSending: isSending, until: min(deadlines.next, .now + Self.lookSeconds)) { continue }
            // A replaced server may wait for its standby as long as it lives.
            guard !isReplaced else { throw broken(.readOnly) }
            guard deadlines.next <= .now else { continue }
            switch deadlines.pass() {
            case .notice(let notice): notice()
            case .cancel:
                info.noteSilence(of: endpoint)
                unsafe RequestCancel.send(symbols.getCancel(handle), symbols)
                mayBeCancelled = true
            case .giveUp:
                info.noteSilence(of: endpoint)
                throw broken(.deadline)
            }
        }
        let outcomes = pipeline.takeOutcomes()
        if mayBeCancelled, !outcomes.contains(where: \.isCancelled) { isBroken = true }
        return outcomes
    }

    /// Sends a last statement and does not wait: the next flush drops its outcome. Everything before it must have been
    /// received or is dropped, too.
    func finishInBackground(_ statement: Statement, _ parameters: StatementParameters = StatementParameters()) {
        guard !isBroken else { return }
        do {
            if !pipeline.isComplete { try sync() }
            try send(statement, parameters)
            try sync()
            pipeline.dropOutcomes()
            _ = try advance()
        } catch {
            isBroken = true
        }
    }

    /// Whether the connection can be used, as far as can be found out without waiting.
    func checkIsUsable() -> Bool {
        guard !isBroken, !isReplaced else { return false }
        do {
            guard try wait(isSending: false, until: MonotonicTime(nanoseconds: 0)) else { return true }
            _ = try advance()
        } catch {
            return false
        }
        return !isBroken
    }

    /// Whether another server takes the writes now.
    private var isReplaced: Bool { info.route.value.isReplaced(timeline) }

    /// The warnings of the last flush, and what else the server said without being asked.
    var lastNotices: [ServerNotice] { notices.all }

    /// Whether the server has warned of something in the last flush: of a commit, that it waits for no standby.
    var wasWarned: Bool { lastNotices.contains { $0.severity == .warning } }

    /// The notifications that have arrived, the oldest first.
    func takeNotifications() -> [ServerNotification] {
        var all: [ServerNotification] = []
        guard !isFinished else { return all }
        while let next = unsafe symbols.notifies(handle) {
            defer { unsafe symbols.freeMemory(next) }
            let payload = unsafe next.load(fromByteOffset: NotificationLayout.payload, as: CString?.self)
            all.append(
                ServerNotification(
                    processID: unsafe next.load(fromByteOffset: NotificationLayout.processID, as: Int32.self),
                    payload: unsafe payload.map { unsafe String(cString: $0) } ?? ""))
        }
        return all
    }

    /// What becomes readable when something arrives.
    var socket: Int32 { isFinished ? -1 : unsafe symbols.socket(handle) }

    /// Whether a transaction block is open, as far as results have arrived.
    var transactionStatus: TransactionStatus {
        guard !isFinished else { return .unknown }
        return TransactionStatus(rawValue: unsafe symbols.transactionStatus(handle)) ?? .unknown
    }

    /// Sends and receives what is possible without waiting. Returns whether there is more to send.
    private func advance() throws(ServerError) -> Bool {
        let left = unsafe symbols.flush(handle)
        // After a failed write the reason may be waiting to be read.
        let isReadable = unsafe symbols.consumeInput(handle) == 1
        try drain()
        guard left >= 0, isReadable else { throw broken(.lost(lastMessage)) }
        if notices.all.contains(where: { $0.severity?.endsConnection == true }) {
            throw broken(ServerError(origin: .connection, severity: .fatal, state: notices.all.last?.state))
        }
        return left > 0
    }

    private func drain() throws(ServerError) {
        // Parses what was read, also where nothing is expected: notices, and why the server ends the connection.
        unsafe _ = symbols.isBusy(handle)
        while pipeline.isWaiting, unsafe symbols.isBusy(handle) == 0 {
            let event = nextEvent()
            do {
                try pipeline.receive(event)
            } catch {
                throw broken(error)
            }
            if case .failure(let error) = event, error.endsConnection { throw broken(error) }
        }
    }

    private func nextEvent() -> PipelineEvent<QueryResult> {
        guard let result = unsafe symbols.getResult(handle) else { return .end }
        let status = unsafe symbols.resultStatus(result)
        let owner = unsafe QueryResult(result, symbols)
        switch ResultStatus(rawValue: status) {
        case .command, .rows: return .answer(owner)
        case .failure: return .failure(unsafe ServerError(result: result, info, symbols, otherwise: lastMessage))
        case .aborted: return .skipped
        case .sync: return .sync
        default: return .other(status)
        }
    }

    /// Waits until the socket can be read, or written if there is more to send. Returns false when the time is over.
    private func wait(isSending: Bool, until end: MonotonicTime?) throws(ServerError) -> Bool {
        let socket = unsafe symbols.socket(handle)
        guard socket >= 0 else { throw broken(.lost(lastMessage)) }
        return SocketWait.wait(socket, writing: isSending, reading: true, until: end)
    }

    /// Marks the connection as broken by the error.
    func broken(_ error: ServerError) -> ServerError {
        isBroken = true
        if let session { lost?.add(session) }
        return error
    }

    var lastMessage: String {
        info.redacting(unsafe symbols.errorMessage(handle).map { unsafe String(cString: $0) } ?? "")
    }
}

/// A notification that a session listens to.
struct ServerNotification: Hashable, Sendable {
    /// The server's process of the session that sent it.
    let processID: Int32
    let payload: String
}

/// `PGnotify` is a pointer, a number and two pointers (channel, process, payload, next).
private enum NotificationLayout {
    static let processID = 8
    static let payload = 16
}

extension StatementOutcome<QueryResult> {
    /// Whether the statement was cancelled by its user.
    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self { error.state?.description == "57014" } else { false }
    }
}

/// Counts the flushes of several connections that waited for an answer.
final class TripCounter: Sendable {
    private let state = Locked(0)

    var count: Int { state.value }
    func note() { state.withLock { $0 += 1 } }
}

/// Collects the notices of a connection.
private final class NoticeBox {
    private let symbols: LibpqSymbols
    private(set) var all: [ServerNotice] = []

    init(_ symbols: LibpqSymbols) {
        self.symbols = symbols
    }

    func clear() { all = [] }

    /// What libpq calls, with the box as its argument, on the thread that reads from the connection.
    static let receiver: LibpqSymbols.NoticeReceiver = { argument, result in
        guard let argument = unsafe argument else { return }
        let box = unsafe Unmanaged<NoticeBox>.fromOpaque(argument).takeUnretainedValue()
        func field(_ field: ErrorField) -> String {
            unsafe box.symbols.resultErrorField(result, Int32(field.rawValue)).map { unsafe String(cString: $0) } ?? ""
        }
        box.all.append(
            ServerNotice(
                severity: MessageSeverity(rawValue: field(.severity)), state: SQLState(field(.sqlState))))
    }
}

extension ServerError {
    /// The error of a result with status 7.
    @unsafe fileprivate init(
        result: Handle, _ info: ConnectionInfo, _ symbols: LibpqSymbols, otherwise connectionMessage: String
    ) {
        func field(_ field: ErrorField) -> String {
            unsafe symbols.resultErrorField(result, Int32(field.rawValue)).map { unsafe String(cString: $0) } ?? ""
        }
        let state = SQLState(field(.sqlState))
        // Without a code the result was made by libpq, because the connection broke.
        self.init(
            origin: state == nil ? .connection : .server, severity: MessageSeverity(rawValue: field(.severity)),
            state: state, message: state == nil ? connectionMessage : info.redacting(field(.message)),
            detail: info.redacting(field(.detail)),
            table: field(.table), constraint: field(.constraint))
    }
}
