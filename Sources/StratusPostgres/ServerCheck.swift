// What a server must be, and which of its settings an operator should change.
//
// Invariant: settings never refuse a store. What a session can set itself, our sessions set (`SetUp`).

internal import StratusStore

/// The settings of a server that matter.
struct ServerSettings: Sendable {
    /// The oldest version of PostgreSQL.
    static let oldestVersion = 150_000
    /// The first one with which this software was not tested.
    static let firstUntestedVersion = 170_000
    static let lockCount = 4_096

    var version = 0
    var isPostgreSQL = true
    /// By name, as they are without what our sessions set.
    var values: [String: String] = [:]
    /// Whether client and server are on one machine.
    var isLocal = true
    var usesTLS = false
    var hasStandby = false
    /// Whether the address names several servers, of which one may replace another.
    var hasSeveralServers = false

    /// Whether another server may replace this one, which would go on answering with old records.
    var mayBeReplaced: Bool { hasSeveralServers || hasStandby || !standbys.isEmpty }

    /// The setting that names the standbys which commits wait for.
    fileprivate static let standbySetting = "synchronous_standby_names"

    fileprivate var standbys: String { values[Self.standbySetting] ?? "" }

    private static let names = [
        "max_pred_locks_per_transaction", "fsync", "full_page_writes", "synchronous_commit",
        standbySetting, "max_connections", "superuser_reserved_connections", "idle_session_timeout",
        "default_transaction_isolation",
    ]

    static func read(from connection: PostgresConnection, until deadline: MonotonicTime) throws -> ServerSettings {
        var parameters = StatementParameters()
        parameters.add(array: names)
        // What applies without our own settings: `reset_val` is the role's, the database's or the server's.
        try connection.send(
            text: "SELECT name, coalesce(reset_val, setting) FROM pg_settings WHERE name = ANY($1::text[])",
            named: "read the settings", parameters)
        try connection.send(
            text: """
                SELECT coalesce(host(inet_server_addr()) IN (host(inet_client_addr())), true),
                    EXISTS (SELECT 1 FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl),
                    EXISTS (SELECT 1 FROM pg_stat_replication)
                """, named: "read the connection's state")
        let results = try connection.answers(until: deadline)
        var settings = ServerSettings()
        settings.version = connection.serverVersion
        settings.hasSeveralServers = connection.info.endpoints.count > 1
        for row in 0..<results[0].rowCount {
            settings.values[try results[0].text(row, 0)] = try results[0].text(row, 1)
        }
        settings.isPostgreSQL = connection.isPostgreSQL
        settings.isLocal = try results[1].truth(0, 0)
        settings.usesTLS = try results[1].truth(0, 1)
        settings.hasStandby = try results[1].truth(0, 2)
        return settings
    }

    /// Throws if the server is too old. Other servers that speak its protocol count their versions in other ways.
    func checkVersion() throws {
        guard !isPostgreSQL || version >= Self.oldestVersion else {
            throw StoreError(
                .unavailable, "The server's version of PostgreSQL is too old: use version 15 or newer.",
                ["version": "\(version)"])
        }
    }

    /// What an operator should change, for a host with so many connections.
    func warnings(connectionCount: Int) -> [StoreError] {
        [
            versionWarning, lockWarning, isolationWarning, crashWarning, commitWarning, standbyWarning,
            connectionWarning(connectionCount), idleWarning, encryptionWarning,
        ].compactMap { $0 }
    }

    private func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }

    private func warning(_ message: StaticString, _ name: String, _ value: String? = nil) -> StoreError {
        StoreError(.serverSetting, message, ["setting": name, "value": value ?? values[name] ?? ""])
    }

    private var versionWarning: StoreError? {
        guard !isPostgreSQL || version >= Self.firstUntestedVersion else { return nil }
        return warning(
            "This software was tested with PostgreSQL 15, and not with this server.", "server_version_num",
            "\(version)")
    }

    private var lockWarning: StoreError? {
        guard let count = number("max_pred_locks_per_transaction"), count < Self.lockCount else { return nil }
        return warning(
            "Unrelated writers will conflict: set max_pred_locks_per_transaction to 4096 and restart PostgreSQL.",
            "max_pred_locks_per_transaction")
    }

    private var isolationWarning: StoreError? {
        let name = "default_transaction_isolation"
        guard let isolation = values[name], isolation != "read committed" else { return nil }
        return warning("Other programs would be slower: do not set default_transaction_isolation.", name)
    }

    private var crashWarning: StoreError? {
        let name = ["fsync", "full_page_writes"].first { values[$0] == "off" }
        return name.map { warning("A crash of the machine loses commits: set fsync and full_page_writes on.", $0) }
    }

    /// Whether commits are acknowledged before a standby has them although one is named, or before they are durable.
    fileprivate var hasWeakCommits: Bool {
        let value = values["synchronous_commit"]
        return value == "off" || value == "local" && !standbys.isEmpty
    }

    private var commitWarning: StoreError? {
        guard hasWeakCommits else { return nil }
        return warning("Acknowledged saves can be lost: set synchronous_commit to on.", "synchronous_commit")
    }

    private var standbyWarning: StoreError? {
        let name = Self.standbySetting
        // Then a standby can be promoted while another one goes on confirming what the former leader does.
        if standbys.uppercased().hasPrefix("ANY") {
            return warning("A former leader may answer with old records: name the standbys by FIRST, not ANY.", name)
        }
        guard hasStandby || hasSeveralServers, standbys.isEmpty else { return nil }
        return warning(
            """
            A failover may lose commits: use Patroni's synchronous_mode_strict, or name a standby in \
            synchronous_standby_names.
            """, name)
    }

    private func connectionWarning(_ count: Int) -> StoreError? {
        guard let most = number("max_connections") else { return nil }
        guard most - (number("superuser_reserved_connections") ?? 0) < 2 * count + 10 else { return nil }
        return warning(
            "A second host may find no connection: raise max_connections, or lower postgresConnectionCount.",
            "max_connections")
    }

    private var idleWarning: StoreError? {
        let name = "idle_session_timeout"
        guard let milliseconds = number(name), milliseconds > 0, milliseconds < 600_000 else { return nil }
        return warning("Idle connections are ended and opened again: set idle_session_timeout to 0.", name)
    }

    private var encryptionWarning: StoreError? {
        guard !isLocal, !usesTLS else { return nil }
        return warning(
            "Records travel unencrypted: use TLS, by sslmode=verify-full in the address.", "ssl", "off")
    }
}

/// Looks while a store is open whether commits wait for a standby. A cluster that is not strict stops doing so when it
/// has lost its standbys, and nothing fails.
struct StandbyUpkeep: Sendable {
    private struct State {
        /// Whether a standby was named at the last look.
        var isNamed: Bool
        var isReplicated: Bool
        /// How many looks in a row have found that commits wait.
        var waitingCount = 0
    }

    /// A new leader names its standby some seconds after its promotion, so one look is not enough.
    private static let lookCount = 2
    private let state: Locked<State>
    private let onEvent: @Sendable (StoreError) -> Void

    init(_ settings: ServerSettings, onEvent: @escaping @Sendable (StoreError) -> Void) {
        let isNamed = !settings.standbys.isEmpty
        state = Locked(State(isNamed: isNamed, isReplicated: isNamed && !settings.hasWeakCommits))
        self.onEvent = onEvent
    }

    /// Whether a standby has each commit before it is acknowledged, as far as the looks have shown.
    var isReplicated: Bool { state.value.isReplicated }

    /// Says so when commits have stopped waiting.
    func run(on connection: PostgresConnection, until deadline: MonotonicTime) throws {
        guard connection.isPostgreSQL else { return }
        let query = SetUp.Query(
            name: "look for a standby",
            sql: """
                SELECT current_setting('\(ServerSettings.standbySetting)') <> '',
                    current_setting('synchronous_commit') NOT IN ('off', 'local')
                """)
        let found = try connection.run([query], until: deadline)[0]
        let (isNamed, isWaiting) = (try found.truth(0, 0), try found.truth(0, 1))
        let hasStopped = state.withLock { state in
            defer { state.isNamed = isNamed }
            state.waitingCount = isNamed && isWaiting ? state.waitingCount + 1 : 0
            // Any doubt counts at once.
            if state.waitingCount == 0 { state.isReplicated = false }
            if state.waitingCount >= Self.lookCount { state.isReplicated = true }
            return state.isNamed && !isNamed
        }
        guard hasStopped else { return }
        onEvent(
            StoreError(
                .serverSetting,
                "Commits are on one server only, and lost with it: bring a standby back, or set synchronous_mode_strict.",
                ["setting": ServerSettings.standbySetting, "value": ""]))
    }
}
