// The lease of the one host that writes a store.
//
// How it works: the host's row has a generation and a holder. A host that takes the lease raises the generation; its
// thread raises a number each second, its beat. Another host waits until the holder has given the lease back, or until
// its beat stands still (`LeaseView`). Then it raises the generation and passes the fence: each writing connection
// holds a shared advisory lock of its session, so the new host ends the sessions that still have it and then gets the
// lock for itself alone, once. From then on no session of the old host exists, and a new one reads the other generation
// right after it got the lock.
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
        generation: Int64, holder: [UInt8]
    ) {
        self.info = info
        self.library = library
        self.options = options
        self.connection = connection
        self.generation = generation
        self.holder = holder
        health = LeaseHealth(generation: generation, holder: holder, takenAt: Self.now)
    }

    private static var now: Double {
        Double(MonotonicTime.now.nanoseconds) / Double(MonotonicTime.nanosecondsPerSecond)
    }

    // MARK: Taking

    /// Takes the lease, and waits for another holder as long as the options say. It blocks its thread. A connection
    /// that is given becomes the lease's.
    ///
    /// Throws `.held`, which names the holder.
    static func take(
        _ info: ConnectionInfo, _ library: Libpq, _ options: PostgresOptions, on connection: PostgresConnection? = nil
    ) throws -> HostLease {
        let end = MonotonicTime.now + options.leaseWaitSeconds
        // A slow server is no other holder.
        let openingEnd = max(end, .now + options.openingSeconds)
        let holder = options.randomIdentity()
        var opened = connection
        var view = LeaseView()
        while true {
            let began = now
            do {
                let connection =
                    try opened ?? PostgresConnection.openWaiting(info, as: .plain, until: openingEnd, library: library)
                opened = connection
                let look = try look(on: connection)
                // It is this host's own if the answer to an earlier attempt was lost.
                let mayTake = view.note(look, began: began, ended: now) != .held || look.holder == holder
                if mayTake, let generation = try replace(look, by: holder, options, on: connection) {
                    try passFence(of: holder, options, on: connection)
                    return HostLease(info, library, options, connection, generation: generation, holder: holder)
                }
                guard end > .now else { throw held(by: look) }
            } catch let error as ServerError where error.isWorthRetrying || error.errorClass == .code(.unavailable) {
                guard openingEnd > .now else { throw error }
                view.noteFailure()
            }
            if opened?.isBroken == true { opened = nil }
            SocketWait.pause(seconds: lookSeconds)
        }
    }

    private static let lookQuery = """
        SELECT generation, holder, name, pid, (SELECT beat FROM stratus_beats AS b WHERE b.holder = h.holder)
            FROM stratus_host AS h WHERE id = 1
        """

    private static func look(on connection: PostgresConnection) throws -> LeaseLook {
        try connection.send(text: lookQuery, named: "look at the lease")
        return try readLook(try connection.answers(until: .now + requestSeconds)[0])
    }

    private static func readLook(_ result: QueryResult) throws -> LeaseLook {
        guard result.rowCount == 1 else {
            throw StoreError(
                .notAStore, "The tables of the store are not complete. Create them with stratus init --store URL.")
        }
        var look = LeaseLook(generation: try result.integer(0, 0), holder: try result.bytes(0, 1))
        look.name = try result.text(0, 2)
        look.processID = try result.integer(0, 3)
        if try result.bytes(0, 4) != nil { look.beat = try result.integer(0, 4) }
        return look
    }

    /// Replaces the holder that was looked at. Returns the new generation; nil if the lease has changed meanwhile.
    private static func replace(
        _ look: LeaseLook, by holder: [UInt8], _ options: PostgresOptions, on connection: PostgresConnection
    ) throws -> Int64? {
        var parameters = StatementParameters()
        parameters.add(holder)
        parameters.add(options.hostName)
        parameters.add(getpid())
        parameters.add(look.generation)
        parameters.add(look.beat ?? -1)
        try connection.send(text: "BEGIN ISOLATION LEVEL SERIALIZABLE", named: "begin")
        try connection.send(
            text: """
                WITH taken AS (UPDATE stratus_host SET generation = generation + 1, holder = $1::bytea,
                        name = $2::text, pid = $3::int4
                    WHERE id = 1 AND generation = $4::int8 AND NOT EXISTS
                        (SELECT 1 FROM stratus_beats AS b WHERE b.holder = stratus_host.holder AND beat <> $5::int8)
                    RETURNING generation),
                removed AS (DELETE FROM stratus_beats WHERE holder <> $1::bytea AND EXISTS (SELECT 1 FROM taken)),
                first AS (INSERT INTO stratus_beats (holder, beat) SELECT $1::bytea, 0 FROM taken
                    ON CONFLICT (holder) DO UPDATE SET beat = 0)
                SELECT generation FROM taken
                """, named: "take the lease", parameters)
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
        guard results[2].commandTag == "COMMIT", results[1].rowCount == 1 else { return nil }
        return try results[1].integer(0, 0)
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
            try connection.send(text: beatSQL, named: "beat", beat)
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
            .held, "Another host has the store: stop it, or use the verbs and the programs through it.", fields)
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

    private static let beatSQL = "UPDATE stratus_beats SET beat = beat + 1 WHERE holder = $1::bytea"

    private func beat(_ upkeep: (PostgresConnection) throws -> Bool) {
        let upkeepSeconds = options.testHooks.upkeepSeconds ?? Self.upkeepSeconds
        var nextUpkeep = MonotonicTime.now + upkeepSeconds
        while wait(seconds: Self.beatSeconds) {
            guard options.testHooks.holdsBeats?() != true else { continue }
            let began = Self.now
            do {
                let connection = try usableConnection()
                var parameters = StatementParameters()
                parameters.add(holder)
                try connection.send(text: Self.beatSQL, named: "beat", parameters)
                try connection.sync()
                try connection.send(text: Self.lookQuery, named: "look at the lease")
                let look = try Self.readLook(try connection.answers(until: .now + Self.requestSeconds)[1])
                monitor.withLock { health.note(look, beatBegan: began) }
                if look.generation != generation { noteLoss(to: look) }
                if nextUpkeep <= .now {
                    nextUpkeep = .now + upkeepSeconds
                    if try upkeep(connection) { nextUpkeep = .now }
                }
            } catch {
                // The next beat tries again. Whether writing may go on follows from the time.
            }
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
                text: "UPDATE stratus_host SET holder = NULL, name = '', pid = 0 WHERE id = 1 AND holder = $1::bytea",
                named: "give the lease back", parameters)
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
