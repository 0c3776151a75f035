// The connections of a store: lent to one caller at a time, bounded, and opened again after a failure.
//
// Invariants:
//   1. There are never more than `PoolLimits.connectionCount` connections, and `nestedCount` further ones for callers
//      inside of a call that has one already, perhaps by another thread: they would otherwise wait for themselves.
//   2. Callers get connections in the order in which they began to wait; nested ones before the others.
//   3. While connections fail, one caller at a time tries to open one, after a pause. The others wait for its result.
//   4. Waits block the caller's thread by a condition variable, and nothing else. No connection is opened, checked or
//      closed under the lock.

internal import StratusStore

/// How many connections a store has, and for how long.
package struct PoolLimits: Hashable, Sendable {
    package var connectionCount = 16
    /// Further connections, for reads inside of a read or a transaction, and for asking what became of a commit.
    package var nestedCount = 4
    /// Idle connections that stay open.
    package var idleCount = 2
    /// After how long the others are closed. A caller of another host may be waiting for one, and waits 30 seconds.
    package var idleSeconds = 10.0

    package init() {}
}

/// What a pool holds. Tests have others than PostgreSQL's.
protocol PooledConnection: AnyObject, Sendable {
    var isBroken: Bool { get }
    /// Whether it can be used, as far as can be found out without waiting.
    func checkIsUsable() -> Bool
    func close()
}

extension PostgresConnection: PooledConnection {}

extension ConnectionPool where Connection == PostgresConnection {
    /// A pool of connections to an address, which `counter` counts together. `lost` remembers the sessions of
    /// those that are lost. A connection for which `refusal` has an error is closed.
    convenience init(
        to info: ConnectionInfo, as role: ConnectionRole, limits: PoolLimits, library: Libpq,
        counter: TripCounter? = nil, lost: LostSessions? = nil, jitter: @escaping @Sendable () -> Double,
        refusal: @escaping @Sendable (PostgresConnection) -> StoreError? = { _ in nil }
    ) {
        self.init(limits: limits, jitter: jitter) { deadline throws(OpeningFailure) in
            let connection: PostgresConnection
            do throws(ServerError) {
                connection = try PostgresConnection.open(info, as: role, until: deadline, library: library)
            } catch {
                var shown = error.storeError(["server": info.description])
                // A client would take an invalid request for its own.
                if shown.code == .invalidRequest {
                    shown = StoreError(
                        .unavailable, "The connection to PostgreSQL is no longer direct: see the cause.",
                        shown.fields, cause: shown.message)
                }
                throw OpeningFailure(error: shown, isWorthRetrying: error.isWorthRetrying)
            }
            guard let error = refusal(connection) else {
                // Its set-up is not counted: a request rarely meets it.
                connection.counter = counter
                connection.lost = lost
                return connection
            }
            connection.close()
            throw OpeningFailure(error: error, isWorthRetrying: false)
        }
    }
}

/// A connection that could not be opened.
struct OpeningFailure: Error {
    let error: StoreError
    /// Whether a later attempt may succeed.
    let isWorthRetrying: Bool
}

/// Lends connections.
final class ConnectionPool<Connection: PooledConnection>: @unchecked Sendable {  // because the monitor guards all state
    typealias Open = @Sendable (_ deadline: MonotonicTime) throws(OpeningFailure) -> Connection

    /// A thread that waits.
    private final class Waiter {
        let isNested: Bool
        init(isNested: Bool) { self.isNested = isNested }
    }

    private struct Idle {
        let connection: Connection
        let since: MonotonicTime
    }

    /// What a waiting thread does next.
    private enum Step {
        case use(Connection)
        case open
        case wait(until: MonotonicTime)
    }

    private static var firstPauseSeconds: Double { 0.05 }
    private static var maximumPauseSeconds: Double { 5 }

    private let limits: PoolLimits
    private let open: Open
    /// A random number from 0 to 1, drawn by the caller.
    private let jitter: @Sendable () -> Double
    private let monitor = Monitor()
    private let changed = Condition()
    private var idle: [Idle] = []
    private var waiters: [Waiter] = []
    /// Lent, idle and being opened.
    private var count = 0
    private var failures = 0
    private var lastFailure: StoreError?
    private var isTrying = false
    private var nextAttempt = MonotonicTime(nanoseconds: 0)
    private var isClosed = false
    private var opened = 0

    init(limits: PoolLimits, jitter: @escaping @Sendable () -> Double, open: @escaping Open) {
        self.limits = limits
        self.jitter = jitter
        self.open = open
    }

    deinit {
        for item in idle { item.connection.close() }
    }

    /// How many connections were opened since the store was.
    var openedCount: Int { monitor.withLock { opened } }

    /// How many connections there are, idle ones included.
    var connectionCount: Int { monitor.withLock { count } }

    /// A connection for the caller, which returns it with `giveBack`. A nested caller is inside of another call.
    ///
    /// Throws `.closed`; `.unavailable` after the deadline, with the reason of the last failure; and at once what no
    /// later attempt repairs, such as a wrong password.
    func lend(until deadline: MonotonicTime, isNested: Bool = false) throws -> Connection {
        monitor.lock()
        defer { monitor.unlock() }
        let waiter = Waiter(isNested: isNested)
        enqueue(waiter, first: false)
        while true {
            if isClosed {
                leave(waiter)
                throw StoreError(.closed, "The store was closed: open it again.")
            }
            switch step(of: waiter, until: deadline) {
            case .use(let connection):
                leave(waiter)
                if let connection = checked(connection) { return connection }
                enqueue(waiter, first: true)
            case .open:
                leave(waiter)
                if let connection = try opened(until: deadline) { return connection }
                enqueue(waiter, first: true)
            case .wait(let time):
                guard deadline > .now else {
                    leave(waiter)
                    throw busyError
                }
                _ = changed.wait(monitor, until: min(time, deadline))
            }
        }
    }

    /// Takes a connection back. A broken one is closed.
    func giveBack(_ connection: Connection) {
        let isUsable = !connection.isBroken
        let now = MonotonicTime.now
        var closing: [Connection] = []
        monitor.withLock {
            if isUsable, !isClosed {
                idle.append(Idle(connection: connection, since: now))
                closing = surplus(at: now)
            } else {
                count -= 1
                closing = [connection]
            }
            changed.broadcast()
        }
        for connection in closing { connection.close() }
    }

    /// Closes idle connections that nobody has used for long. `giveBack` does it, too.
    func closeSurplus() {
        let closing = monitor.withLock { surplus(at: .now) }
        for connection in closing { connection.close() }
    }

    /// Refuses later callers, and returns when the last connection is back.
    func close() {
        let closing = monitor.withLock {
            isClosed = true
            changed.broadcast()
            while count > idle.count { changed.wait(monitor) }
            count = 0
            defer { idle = [] }
            return idle.map(\.connection)
        }
        for connection in closing { connection.close() }
    }

    // Everything below is called with the lock.

    private func step(of waiter: Waiter, until deadline: MonotonicTime) -> Step {
        guard waiters.first === waiter else { return .wait(until: deadline) }
        // A further connection that is idle again is for nested callers only: the outer calls may hold all others.
        let limit = limits.connectionCount + (waiter.isNested ? limits.nestedCount : 0)
        guard count - idle.count < limit else { return .wait(until: deadline) }
        if let newest = idle.popLast() { return .use(newest.connection) }
        guard !isTrying else { return .wait(until: deadline) }
        guard failures == 0 || nextAttempt <= .now else { return .wait(until: nextAttempt) }
        count += 1
        isTrying = failures > 0
        return .open
    }

    /// Nested waiters are before the others, because these may wait for what the nested ones hold.
    private func enqueue(_ waiter: Waiter, first: Bool) {
        let others = waiters.firstIndex { !$0.isNested } ?? waiters.endIndex
        let position = waiter.isNested ? (first ? 0 : others) : (first ? others : waiters.endIndex)
        waiters.insert(waiter, at: position)
    }

    /// Lets the next waiter look.
    private func leave(_ waiter: Waiter) {
        waiters.removeAll { $0 === waiter }
        changed.broadcast()
    }

    /// The idle connection if it can be used; otherwise closes it.
    private func checked(_ connection: Connection) -> Connection? {
        monitor.unlock()
        let isUsable = connection.checkIsUsable()
        if !isUsable { connection.close() }
        monitor.lock()
        if isUsable { return connection }
        count -= 1
        changed.broadcast()
        return nil
    }

    /// A new connection; nil after a failure that may pass.
    private func opened(until deadline: MonotonicTime) throws -> Connection? {
        monitor.unlock()
        let result: Result<Connection, OpeningFailure>
        do throws(OpeningFailure) {
            result = .success(try open(deadline))
        } catch {
            result = .failure(error)
        }
        monitor.lock()
        defer { changed.broadcast() }
        isTrying = false
        switch result {
        case .success(let connection):
            opened += 1
            failures = 0
            lastFailure = nil
            return connection
        case .failure(let failure):
            count -= 1
            guard failure.isWorthRetrying else { throw failure.error }
            let longest = min(Self.maximumPauseSeconds, Self.firstPauseSeconds * Double(1 << min(failures, 10)))
            failures += 1
            lastFailure = failure.error
            nextAttempt = MonotonicTime.now + longest * jitter()
            return nil
        }
    }

    /// Takes out idle connections above the number that stays, oldest first.
    private func surplus(at now: MonotonicTime) -> [Connection] {
        let old = idle.prefix { $0.since + limits.idleSeconds <= now }
        let closing = old.prefix(max(0, idle.count - limits.idleCount)).map(\.connection)
        idle.removeFirst(closing.count)
        count -= closing.count
        return closing
    }

    private var busyError: StoreError {
        lastFailure
            ?? StoreError(
                .unavailable, "All connections are in use: try again, or raise postgresConnectionCount.",
                ["connectionCount": "\(limits.connectionCount)"])
    }
}
