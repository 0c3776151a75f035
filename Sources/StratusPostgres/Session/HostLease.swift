// The leases of the hosts that write a store.
//
// How it works: a store has a generation. Any number of hosts share it, each with a row and a number in it that its
// thread raises each second, its beat. A host that needs the store for itself waits until the others have given their
// rows back, or until their beats stand still (`LeaseView`). Then it names itself the holder, raises the generation and
// passes the fence: each writing connection holds a shared advisory lock of its session, so the new holder ends the
// sessions that still have it and then gets the lock for itself alone, once. From then on no session of an earlier host
// exists, and a new one reads the other generation right after it got the lock. While there is a holder, no host joins.
//
// Invariants:
//   1. Between the fence and giving the lease back nothing of another host commits.
//   2. Every transaction reads the generation. A host that finds another one stops, and does not start again by itself.
//   3. Beats are in a table of their own and in READ COMMITTED, so they never meet a transaction of records.

internal import Glibc
internal import StratusStore

/// A held lease.
final class HostLease: @unchecked Sendable {  // because the monitor guards all state, and the thread has its connection
    private static let lookSeconds = 0.5
    private static let beatSeconds = 1.0
    private static let requestSeconds = 2.0
    private static let upkeepSeconds = 60.0

    let generation: Int64
    /// Whether other hosts may write, too.
    let isShared: Bool
    private let holder: [UInt8]
    private let info: ConnectionInfo
    private let library: Libpq
    private let options: PostgresOptions
    private let monitor = Monitor()
    private let changed = Condition()
    private var health: LeaseHealth
    private var isStopping = false
    private var isRunning = false
    private var hasReported = false
    /// Used by the thread alone while it runs.
    private var connection: PostgresConnection?

    private init(
        _ info: ConnectionInfo, _ library: Libpq, _ options: PostgresOptions, _ connection: PostgresConnection,
        generation: Int64, holder: [UInt8], isShared: Bool
    ) {
        self.isShared = isShared
        self.info = info
        self.library = library
        self.options = options
        self.connection = connection
        self.generation = generation
        self.holder = holder
        health = LeaseHealth(generation: generation, holder: holder, isShared: isShared, takenAt: Self.now)
    }

    private static var now: Double {
        Double(MonotonicTime.now.nanoseconds) / Double(MonotonicTime.nanosecondsPerSecond)
    }

    // MARK: Taking

    /// What a host does before others may join.
    struct Preparation {
        let isNeeded: (PostgresConnection) throws -> Bool
        let run: () throws -> Void
    }

    /// Takes a lease as the options say, and waits as long as they say for hosts that exclude it. It blocks its thread.
    /// A connection that is given becomes the lease's. If a preparation is needed it first takes the store for itself.
    ///
    /// Throws `.held`, which names a host that is there.
    static func take(
        _ info: ConnectionInfo, _ library: Libpq, _ options: PostgresOptions, on connection: PostgresConnection? = nil,
        preparing preparation: Preparation? = nil
    ) throws -> HostLease {
        let end = MonotonicTime.now + options.leaseWaitSeconds
        // A slow server is no other holder.
        let openingEnd = max(end, .now + options.openingSeconds)
        let holder = options.randomIdentity()
        var opened = connection
        var views: [[UInt8]: LeaseView] = [:]
        var preparation = preparation
        while true {
            let began = now
            do {
                let connection =
                    try opened ?? PostgresConnection.openWaiting(info, as: .plain, until: openingEnd, library: library)
                opened = connection
                // A row is this host's own if the answer to an earlier attempt was lost.
                let look = try look(on: connection, without: holder)
                let alive = living(look, &views, began: began)
                // Another host may have done it.
                if let wanted = preparation, try !wanted.isNeeded(connection) { preparation = nil }
                if options.use == .hosting, look.isShared, preparation == nil {
                    if try join(look, as: holder, options, on: connection) {
                        return HostLease(
                            info, library, options, connection, generation: look.generation, holder: holder,
                            isShared: true)
                    }
                } else if alive.isEmpty, let generation = try replace(look, by: holder, options, on: connection) {
                    try passFence(of: holder, options, on: connection)
                    let lease = HostLease(
                        info, library, options, connection, generation: generation, holder: holder, isShared: false)
                    return try lease.prepared(by: preparation, isShared: options.use == .hosting)
                }
                guard end > .now else { throw held(by: alive.first ?? look.hosts.first ?? LeaseLook(look)) }
            } catch let error as ServerError where error.isWorthRetrying || error.errorClass == .code(.unavailable) {
                guard openingEnd > .now else { throw error }
                for holder in views.keys { views[holder]?.noteFailure() }
            }
            if opened?.isBroken == true { opened = nil }
            MonotonicTime.pause(seconds: lookSeconds)
        }
    }

    /// Prepares the store while this host has it for itself. Then, if the lease is to be shared, lets other hosts join.
    /// Gives the lease back if that fails.
    private func prepared(by preparation: Preparation?, isShared: Bool) throws -> HostLease {
        do {
            try preparation?.run()
            guard isShared else { return self }
            let connection = try usableConnection()
            var row = StatementParameters()
            row.add(holder)
            row.add(options.hostName)
            row.add(getpid())
            try connection.send(
                text: "UPDATE stratus_beats SET name = $2::text, pid = $3::int4 WHERE holder = $1::bytea",
                named: "share the store", row)
            var parameters = StatementParameters()
            parameters.add(holder)
            try connection.send(text: Self.endOfHolding, named: "share the store", parameters)
            _ = try connection.answers(until: .now + Self.requestSeconds)
            self.connection = nil
            return HostLease(
                info, library, options, connection, generation: generation, holder: holder, isShared: true)
        } catch {
            giveBack()
            throw error
        }
    }

    private static let endOfHolding =
        "UPDATE stratus_host SET holder = NULL, name = '', pid = 0 WHERE id = 1 AND holder = $1::bytea"

    private static let lookQuery = """
        SELECT generation, holder, name, pid, (SELECT beat FROM stratus_beats AS b WHERE b.holder = h.holder)
            FROM stratus_host AS h WHERE id = 1
        """

    /// The rows of tables of layout 2 have no names.
    private static let hostsQuery = """
        SELECT h.generation, h.holder, h.name, h.pid, b.holder, b.beat, coalesce(to_jsonb(b) ->> 'name', ''),
                coalesce((to_jsonb(b) ->> 'pid')::int4, 0)
            FROM stratus_host AS h LEFT JOIN stratus_beats AS b ON true WHERE h.id = 1
        """

    /// What the server shows of all hosts but one.
    private static func look(on connection: PostgresConnection, without own: [UInt8]) throws -> HostsLook {
        try connection.send(text: hostsQuery, named: "look at the hosts")
        let rows = try connection.answers(until: .now + requestSeconds)[0]
        guard rows.rowCount > 0 else { throw incomplete }
        var look = HostsLook(generation: try rows.integer(0, 0), holder: try rows.bytes(0, 1))
        for row in 0..<rows.rowCount {
            guard let holder = try rows.bytes(row, 4), holder != own else { continue }
            var host = LeaseLook(generation: look.generation, holder: holder)
            host.beat = try rows.integer(row, 5)
            host.name = try rows.text(row, holder == look.holder ? 2 : 6)
            host.processID = try rows.integer(row, holder == look.holder ? 3 : 7)
            look.hosts.append(host)
        }
        if let holder = look.holder, holder != own, !look.hosts.contains(where: { $0.holder == holder }) {
            var host = LeaseLook(generation: look.generation, holder: holder)
            host.name = try rows.text(0, 2)
            host.processID = try rows.integer(0, 3)
            look.hosts.append(host)
        }
        if look.holder == own { look.holder = nil }
        return look
    }

    private static var incomplete: StoreError {
        StoreError(.notAStore, "The tables of the store are not complete. Create them with stratus init --store URL.")
    }

    private static func readLook(_ result: QueryResult) throws -> LeaseLook {
        guard result.rowCount == 1 else { throw incomplete }
        var look = LeaseLook(generation: try result.integer(0, 0), holder: try result.bytes(0, 1))
        look.name = try result.text(0, 2)
        look.processID = try result.integer(0, 3)
        if try result.bytes(0, 4) != nil { look.beat = try result.integer(0, 4) }
        return look
    }

    /// Adds this host to those that share the store. Returns false if a host has taken it for itself meanwhile.
    private static func join(
        _ look: HostsLook, as holder: [UInt8], _ options: PostgresOptions, on connection: PostgresConnection
    ) throws -> Bool {
        try commit(on: connection) {
            try connection.send(text: sharedBeatSQL, named: "join the hosts", row(holder, options, look.generation))
        }?.last?.commandTag == "INSERT 0 1"
    }

    /// Makes this host the holder, if nothing has changed since the others were found dead. Returns the new generation.
    private static func replace(
        _ look: HostsLook, by holder: [UInt8], _ options: PostgresOptions, on connection: PostgresConnection
    ) throws -> Int64? {
        let results = try commit(on: connection) {
            try sendRemoval(of: look.hosts, on: connection)
            try connection.send(
                text: """
                    WITH taken AS (UPDATE stratus_host SET generation = generation + 1, holder = $1::bytea,
                            name = $2::text, pid = $3::int4
                        WHERE id = 1 AND generation = $4::int8 AND NOT EXISTS
                            (SELECT 1 FROM stratus_beats AS b WHERE b.holder <> $1::bytea)
                        RETURNING generation),
                    first AS (INSERT INTO stratus_beats (holder, beat) SELECT $1::bytea, 0 FROM taken
                        ON CONFLICT (holder) DO UPDATE SET beat = 0)
                    SELECT generation FROM taken
                    """, named: "take the lease", row(holder, options, look.generation))
        }
        guard let taken = results?.last, taken.rowCount == 1 else { return nil }
        return try taken.integer(0, 0)
    }

    private static func sendRemoval(of hosts: [LeaseLook], on connection: PostgresConnection) throws {
        for host in hosts {
            guard let name = host.holder, let beat = host.beat else { continue }
            var parameters = StatementParameters()
            parameters.add(name)
            parameters.add(beat)
            try connection.send(
                text: "DELETE FROM stratus_beats WHERE holder = $1::bytea AND beat = $2::int8",
                named: "remove a dead host", parameters)
        }
    }

    /// The hosts that were not found dead.
    private static func living(
        _ look: HostsLook, _ views: inout [[UInt8]: LeaseView], began: Double
    ) -> [LeaseLook] {
        let ended = now
        return look.hosts.filter {
            views[$0.holder ?? [], default: LeaseView()].note($0, began: began, ended: ended) == .held
        }
    }

    /// Runs `body` while this host, which shares the store, is its only one and no other can join. Hosts that are
    /// found dead do not count: they stop by themselves if they find what `body` has changed.
    ///
    /// Throws `.held`, which names a host that is there.
    func withoutOthers<Result>(_ body: () throws -> Result) throws -> Result {
        guard isShared else { return try body() }
        try excludeOthers()
        defer { includeOthers() }
        return try body()
    }

    private func excludeOthers() throws {
        let end = MonotonicTime.now + options.leaseWaitSeconds
        let openingEnd = max(end, .now + options.openingSeconds)
        var opened: PostgresConnection?
        defer { opened?.close() }
        var views: [[UInt8]: LeaseView] = [:]
        while true {
            let began = Self.now
            do {
                let connection =
                    try opened ?? PostgresConnection.openWaiting(info, as: .plain, until: openingEnd, library: library)
                opened = connection
                let look = try Self.look(on: connection, without: holder)
                let alive = Self.living(look, &views, began: began)
                if alive.isEmpty, try exclude(look.hosts, on: connection) { return }
                guard end > .now else { throw Self.held(by: alive.first ?? LeaseLook(look)) }
            } catch let error as ServerError where error.isWorthRetrying {
                guard openingEnd > .now else {
                    // Whether others are excluded is unknown.
                    includeOthers()
                    throw error
                }
                for holder in views.keys { views[holder]?.noteFailure() }
            }
            if opened?.isBroken == true { opened = nil }
            MonotonicTime.pause(seconds: Self.lookSeconds)
        }
    }

    /// Without an answer other hosts wait until this one has closed the store.
    private func includeOthers() {
        var parameters = StatementParameters()
        parameters.add(holder)
        do {
            let connection = try PostgresConnection.open(
                info, as: .plain, until: .now + Self.requestSeconds, library: library)
            defer { connection.close() }
            try connection.send(text: Self.endOfHolding, named: "let hosts join", parameters)
            _ = try connection.answers(until: .now + Self.requestSeconds)
        } catch {
            options.onEvent(
                StoreError(
                    .unavailable, "No host can join until this one has closed the store: the server did not answer.",
                    cause: "\(error)"))
        }
    }

    private func exclude(_ dead: [LeaseLook], on connection: PostgresConnection) throws -> Bool {
        try Self.commit(on: connection) {
            try Self.sendRemoval(of: dead, on: connection)
            try connection.send(
                text: """
                    UPDATE stratus_host SET holder = $1::bytea, name = $2::text, pid = $3::int4
                        WHERE id = 1 AND generation = $4::int8 AND (holder IS NULL OR holder = $1::bytea)
                            AND NOT EXISTS (SELECT 1 FROM stratus_beats AS b WHERE b.holder <> $1::bytea)
                    """, named: "exclude hosts", Self.row(holder, options, generation))
        }?.last?.commandTag == "UPDATE 1"
    }

    private static func row(
        _ holder: [UInt8], _ options: PostgresOptions, _ generation: Int64
    ) -> StatementParameters {
        var parameters = StatementParameters()
        parameters.add(holder)
        parameters.add(options.hostName)
        parameters.add(getpid())
        parameters.add(generation)
        return parameters
    }

    /// Runs statements as one serialisable transaction. Returns their results; nil if it was not committed.
    private static func commit(
        on connection: PostgresConnection, _ send: () throws -> Void
    ) throws -> [QueryResult]? {
        try connection.send(text: "BEGIN ISOLATION LEVEL SERIALIZABLE", named: "begin")
        try send()
        try connection.send(text: "COMMIT", named: "commit")
        try connection.sync()
        let outcomes = try connection.flush(.until(.now + requestSeconds))
        var results: [QueryResult] = []
        for outcome in outcomes {
            switch outcome {
            case .answer(let result): results.append(result)
            case .failure(let error):
                // Another host was first. The connection is in a failed transaction.
                connection.close()
                throw error
            case .skipped: break
            }
        }
        guard results.popLast()?.commandTag == "COMMIT" else { return nil }
        return Array(results.dropFirst())
    }

    /// Ends all sessions that may still write for another host, and returns when there are none.
    /// Meanwhile it beats, so that no third host takes the lease.
    private static func passFence(
        of holder: [UInt8], _ options: PostgresOptions, on connection: PostgresConnection
    ) throws {
        let end = MonotonicTime.now + options.testHooks.fenceSeconds
        var parameters = StatementParameters()
        parameters.add(SetUp.fenceClass)
        var beat = StatementParameters()
        beat.add(holder)
        while true {
            try connection.send(text: firstBeatSQL, named: "beat", beat)
            try connection.sync()
            try connection.send(
                text: """
                    SELECT pg_terminate_backend(pid) FROM pg_locks
                        WHERE locktype = 'advisory' AND classid = $1::int4::oid AND objsubid = 2 AND granted
                            AND mode = 'ShareLock' AND objid = 'stratus_host'::regclass::oid
                            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                            AND pid <> pg_backend_pid()
                    """, named: "end the sessions of another host", parameters)
            try connection.sync()
            // The sessions need a moment to end.
            try connection.send(text: "SELECT set_config('lock_timeout', '1s', true)", named: "settings")
            try connection.send(
                text: "SELECT pg_advisory_lock($1::int4, \(SetUp.fenceNumber))", named: "fence", parameters)
            try connection.send(
                text: "SELECT pg_advisory_unlock($1::int4, \(SetUp.fenceNumber))", named: "fence", parameters)
            try connection.sync()
            let outcomes = try connection.flush(.until(.now + requestSeconds + 1))
            // A role that may not end the sessions waits until the server does.
            let errors = outcomes.dropFirst(2).compactMap { outcome -> ServerError? in
                if case .failure(let error) = outcome { error } else { nil }
            }
            guard let error = errors.first else { return }
            guard error.errorClass == .again else { throw error }
            guard end > .now else {
                throw StoreError(
                    .held,
                    "Sessions of the former host still run: end them, or grant pg_signal_backend to this host's role.",
                    cause: "\(error)")
            }
        }
    }

    private static func held(by look: LeaseLook) -> StoreError {
        var fields = ["generation": "\(look.generation)"]
        if !look.name.isEmpty { fields["holderName"] = look.name }
        if look.processID != 0 { fields["holderProcessID"] = "\(look.processID)" }
        return StoreError(
            .held, "Another host has the store open: close it, or wait until it is done, then try again.", fields)
    }

    // MARK: Holding

    /// Starts the thread that beats, and once a minute calls `upkeep`, which returns whether there is more to do now.
    ///
    /// Throws, and gives the lease back, if the system has no thread.
    func start(upkeep: @escaping @Sendable (PostgresConnection) throws -> Bool) throws {
        monitor.withLock { isRunning = true }
        let hasThread = BackgroundThread.start { [self] in
            beat(upkeep)
            monitor.withLock {
                isRunning = false
                changed.broadcast()
            }
        }
        guard !hasThread else { return }
        monitor.withLock { isRunning = false }
        giveBack()
        throw StoreError(.unavailable, "The system has no thread for the host's lease: raise the limit of threads.")
    }

    /// Throws `.held` when another host has taken the store over.
    func checkReading() throws {
        if case .lost(let look) = monitor.withLock({ health.state(at: Self.now) }) { throw Self.held(by: look) }
    }

    /// The same; and a failure that may pass while the server was not reached for long.
    func checkWriting() throws {
        switch monitor.withLock({ health.state(at: Self.now) }) {
        case .held: return
        case .lost(let look): throw Self.held(by: look)
        case .unsure:
            throw WireFailure.lost(
                StoreError(.unavailable, "The server was not reached for four seconds: writing waits until it is."))
        }
    }

    /// Compares the generation that a transaction has read. Throws `.held` if it is another host's.
    func check(_ look: LeaseLook) throws {
        guard look.generation != generation else { return }
        noteLoss(to: look)
        try checkReading()
    }

    /// The error of a connection that was opened for another host's generation; nil if it is ours.
    func refusal(of connection: PostgresConnection) -> StoreError? {
        guard connection.generation != generation else { return nil }
        let look = LeaseLook(generation: connection.generation ?? 0)
        noteLoss(to: look)
        return Self.held(by: look)
    }

    private func noteLoss(to look: LeaseLook) {
        let isFirst = monitor.withLock {
            health.noteLoss(to: look)
            defer { hasReported = true }
            return !hasReported
        }
        if isFirst { options.onEvent(Self.held(by: look)) }
    }

    /// While tables may still have layout 2.
    private static let firstBeatSQL = "UPDATE stratus_beats SET beat = beat + 1 WHERE holder = $1::bytea"
    private static let beatSQL =
        "UPDATE stratus_beats SET beat = beat + 1, at = clock_timestamp() WHERE holder = $1::bytea"

    /// The row of a host that was paused for very long may be gone.
    private static let sharedBeatSQL = """
        INSERT INTO stratus_beats (holder, beat, name, pid)
            SELECT $1::bytea, 0, $2::text, $3::int4 FROM stratus_host
                WHERE id = 1 AND generation = $4::int8 AND (holder IS NULL OR holder = $1::bytea)
            ON CONFLICT (holder) DO UPDATE SET beat = stratus_beats.beat + 1, at = clock_timestamp()
        """

    private static let removalOfDeadSQL = """
        DELETE FROM stratus_beats AS b WHERE at < clock_timestamp() - interval '1 hour'
            AND NOT EXISTS (SELECT 1 FROM stratus_host AS h WHERE h.holder = b.holder)
        """

    private func beat(_ upkeep: (PostgresConnection) throws -> Bool) {
        let upkeepSeconds = options.testHooks.upkeepSeconds ?? Self.upkeepSeconds
        var nextUpkeep = MonotonicTime.now + upkeepSeconds
        while wait(seconds: Self.beatSeconds) {
            guard options.testHooks.holdsBeats?() != true else { continue }
            let began = Self.now
            do {
                let connection = try usableConnection()
                try sendBeat(on: connection)
                try connection.sync()
                try connection.send(text: Self.lookQuery, named: "look at the lease")
                let look = try Self.readLook(try connection.answers(until: .now + Self.requestSeconds)[1])
                monitor.withLock { health.note(look, beatBegan: began) }
                if look.generation != generation { noteLoss(to: look) }
                if nextUpkeep <= .now {
                    nextUpkeep = .now + upkeepSeconds
                    _ = try connection.run(
                        [SetUp.Query(name: "remove dead hosts", sql: Self.removalOfDeadSQL)],
                        until: .now + Self.requestSeconds)
                    if try upkeep(connection) { nextUpkeep = .now }
                }
            } catch {
                // The next beat tries again. Whether writing may go on follows from the time.
            }
        }
    }

    private func sendBeat(on connection: PostgresConnection) throws {
        if isShared {
            try connection.send(
                text: Self.sharedBeatSQL, named: "beat", Self.row(holder, options, generation))
        } else {
            var parameters = StatementParameters()
            parameters.add(holder)
            try connection.send(text: Self.beatSQL, named: "beat", parameters)
        }
    }

    private func usableConnection() throws -> PostgresConnection {
        if let connection, connection.checkIsUsable() { return connection }
        connection?.close()
        let new = try PostgresConnection.open(
            info, as: .plain, until: .now + Self.requestSeconds, library: library)
        connection = new
        return new
    }

    /// Returns false when the lease is given back.
    private func wait(seconds: Double) -> Bool {
        let end = MonotonicTime.now + seconds
        return monitor.withLock {
            while !isStopping, end > .now { _ = changed.wait(monitor, until: end) }
            return !isStopping
        }
    }

    // MARK: Giving back

    /// Ends the thread without waiting for it, and leaves the lease to expire.
    func stop() {
        monitor.withLock {
            isStopping = true
            changed.broadcast()
        }
    }

    /// Gives the lease back, if the server can be reached. No connection of the pool is left.
    func giveBack() {
        monitor.withLock {
            isStopping = true
            changed.broadcast()
            while isRunning { changed.wait(monitor) }
        }
        // Without an answer the lease expires.
        do {
            let connection = try usableConnection()
            var parameters = StatementParameters()
            parameters.add(holder)
            try connection.send(
                text: Self.endOfHolding, named: "give the lease back", parameters)
            try connection.send(
                text: "DELETE FROM stratus_beats WHERE holder = $1::bytea", named: "give the lease back", parameters)
            _ = try connection.answers(until: .now + Self.requestSeconds)
        } catch {
            options.onEvent(
                StoreError(
                    .unavailable, "The host's lease could not be given back: the next host waits until it expires.",
                    cause: "\(error)"))
        }
        connection?.close()
        connection = nil
    }
}
