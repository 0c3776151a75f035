// The rows of hosts on the server, and the statements on them: who has the store, who shares it, and the fence.
//
// Invariants:
//   1. Joining, taking and excluding are serialisable transactions that read what the others write: of two that meet,
//      one fails and looks again.
//   2. A host that takes the store passes the fence before anything else.

internal import Glibc
internal import StratusStore

/// The host's row and the rows of beats.
enum HostRows {
    static let requestSeconds = 2.0

    // MARK: Ends, which the caller flushes

    /// Lets other hosts join a host that has had the store for itself.
    static func sendEndOfHolding(by holder: [UInt8], on connection: PostgresConnection) throws {
        var parameters = StatementParameters()
        parameters.add(holder)
        try connection.send(
            text: "UPDATE stratus_host SET holder = NULL, name = '', pid = 0 WHERE id = 1 AND holder = $1::bytea",
            named: "let hosts join", parameters)
    }

    /// The same, and says what errors say of the host from now on.
    static func sendShare(by holder: [UInt8], _ options: PostgresOptions, on connection: PostgresConnection) throws {
        var parameters = StatementParameters()
        parameters.add(holder)
        parameters.add(options.hostName)
        parameters.add(getpid())
        try connection.send(
            text: "UPDATE stratus_beats SET name = $2::text, pid = $3::int4 WHERE holder = $1::bytea",
            named: "share the store", parameters)
        try sendEndOfHolding(by: holder, on: connection)
    }

    /// Removes all that is there of a host.
    static func sendEnd(of holder: [UInt8], on connection: PostgresConnection) throws {
        try sendEndOfHolding(by: holder, on: connection)
        var parameters = StatementParameters()
        parameters.add(holder)
        try connection.send(
            text: "DELETE FROM stratus_beats WHERE holder = $1::bytea", named: "give the lease back", parameters)
    }

    // MARK: Looking

    static let lookQuery = """
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
    static func look(on connection: PostgresConnection, without own: [UInt8]) throws -> HostsLook {
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
        if look.holder == own { (look.holder, look.isOwn) = (nil, true) }
        return look
    }

    private static var incomplete: StoreError {
        StoreError(.notAStore, "The tables of the store are not complete. Create them with stratus init --store URL.")
    }

    static func readLook(_ result: QueryResult) throws -> LeaseLook {
        guard result.rowCount == 1 else { throw incomplete }
        var look = LeaseLook(generation: try result.integer(0, 0), holder: try result.bytes(0, 1))
        look.name = try result.text(0, 2)
        look.processID = try result.integer(0, 3)
        if try result.bytes(0, 4) != nil { look.beat = try result.integer(0, 4) }
        return look
    }

    // MARK: Joining and taking

    /// Adds this host to those that share the store. Returns false if a host has taken it for itself meanwhile.
    static func join(
        _ look: HostsLook, as holder: [UInt8], _ options: PostgresOptions, on connection: PostgresConnection
    ) throws -> Bool {
        try commit(on: connection) {
            try connection.send(text: sharedBeatSQL, named: "join the hosts", row(holder, options, look.generation))
        }?.last?.commandTag == "INSERT 0 1"
    }

    /// Makes this host the holder, if nothing has changed since the others were found dead. Returns the new generation.
    static func replace(
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

    /// Makes a host that shares the store its holder, if it is the only one. Returns whether it is.
    static func exclude(
        _ dead: [LeaseLook], by holder: [UInt8], _ options: PostgresOptions, generation: Int64,
        on connection: PostgresConnection
    ) throws -> Bool {
        try commit(on: connection) {
            try sendRemoval(of: dead, on: connection)
            try connection.send(
                text: """
                    UPDATE stratus_host SET holder = $1::bytea, name = $2::text, pid = $3::int4
                        WHERE id = 1 AND generation = $4::int8 AND (holder IS NULL OR holder = $1::bytea)
                            AND NOT EXISTS (SELECT 1 FROM stratus_beats AS b WHERE b.holder <> $1::bytea)
                    """, named: "exclude hosts", row(holder, options, generation))
        }?.last?.commandTag == "UPDATE 1"
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

    static func row(
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
        guard !connection.wasWarned else { throw ServerError.unconfirmed }
        return Array(results.dropFirst())
    }

    /// Ends all sessions that may still write for another host, and returns when there are none. It waits for those
    /// that wait for a standby: ended there, they would show what a failover may still lose. Meanwhile it beats, so
    /// that no third host takes the lease.
    static func passFence(
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
                    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity AS a USING (pid)
                        WHERE locktype = 'advisory' AND classid = $1::int4::oid AND objsubid = 2 AND granted
                            AND a.wait_event IS DISTINCT FROM 'SyncRep' AND mode = 'ShareLock' AND objid = 'stratus_host'::regclass::oid
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

    /// While tables may still have layout 2.
    private static let firstBeatSQL = "UPDATE stratus_beats SET beat = beat + 1 WHERE holder = $1::bytea"
    static let beatSQL =
        "UPDATE stratus_beats SET beat = beat + 1, at = clock_timestamp() WHERE holder = $1::bytea"

    /// The row of a host that was paused for very long may be gone.
    static let sharedBeatSQL = """
        INSERT INTO stratus_beats (holder, beat, name, pid)
            SELECT $1::bytea, 0, $2::text, $3::int4 FROM stratus_host
                WHERE id = 1 AND generation = $4::int8 AND (holder IS NULL OR holder = $1::bytea)
            ON CONFLICT (holder) DO UPDATE SET beat = stratus_beats.beat + 1, at = clock_timestamp()
        """

    static let removalOfDeadSQL = """
        DELETE FROM stratus_beats AS b WHERE at < clock_timestamp() - interval '1 hour'
            AND NOT EXISTS (SELECT 1 FROM stratus_host AS h WHERE h.holder = b.holder)
        """
}
