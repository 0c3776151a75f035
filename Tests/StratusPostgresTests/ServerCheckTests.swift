// Which settings of a server are reported, without a server.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite struct ServerCheckTests {
    private static let good: [String: String] = [
        "max_pred_locks_per_transaction": "4096", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
        "synchronous_standby_names": "", "max_connections": "100", "superuser_reserved_connections": "3",
        "idle_session_timeout": "0", "default_transaction_isolation": "read committed",
    ]

    private func settings(_ changes: [String: String] = [:]) -> ServerSettings {
        var settings = ServerSettings()
        settings.version = 150_007
        settings.values = Self.good.merging(changes) { _, new in new }
        return settings
    }

    @Test("a server with good settings is not reported")
    func good() {
        #expect(settings().warnings(connectionCount: 16).isEmpty)
    }

    @Test(
        "each setting that costs safety or speed is reported by its name with its value",
        arguments: [
            ("max_pred_locks_per_transaction", "64"), ("default_transaction_isolation", "serializable"),
            ("fsync", "off"),
            ("full_page_writes", "off"), ("synchronous_commit", "off"), ("max_connections", "20"),
            ("idle_session_timeout", "60000"),
        ])
    func reported(name: String, value: String) {
        let warnings = settings([name: value]).warnings(connectionCount: 16)
        #expect(warnings.map(\.fields) == [["setting": name, "value": value]])
        #expect(warnings.map(\.code) == [.serverSetting])
    }

    @Test("a standby that nobody waits for is reported, and so are commits that do not wait for a named one")
    func standbys() {
        var unnamed = settings()
        unnamed.hasStandby = true
        #expect(unnamed.warnings(connectionCount: 16).map(\.fields["setting"]) == ["synchronous_standby_names"])
        var several = settings()
        several.hasSeveralServers = true
        #expect(several.warnings(connectionCount: 16).map(\.fields["setting"]) == ["synchronous_standby_names"])
        let quorum = settings(["synchronous_standby_names": "ANY 1 (a, b)"])
        #expect(quorum.warnings(connectionCount: 16).map(\.fields["value"]) == ["ANY 1 (a, b)"])
        let local = settings(["synchronous_standby_names": "one", "synchronous_commit": "local"])
        #expect(local.warnings(connectionCount: 16).map(\.fields["setting"]) == ["synchronous_commit"])
    }

    @Test(
        "a host says once that commits have stopped waiting for a standby",
        .enabled(if: PostgresTestStore.isServerThere))
    func standbyGone() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            let events = Locked<[StoreError]>([])
            let strict = StandbyUpkeep(settings(["synchronous_standby_names": "one"])) { event in
                events.withLock { $0.append(event) }
            }
            for _ in 0..<2 { try strict.run(on: connection, until: TestServer.soon) }
            #expect(events.value.map(\.code) == [.serverSetting])
            let alone = StandbyUpkeep(settings()) { event in events.withLock { $0.append(event) } }
            try alone.run(on: connection, until: TestServer.soon)
            #expect(events.value.count == 1)
        }
    }

    @Test("another machine without TLS is reported, and TLS is enough")
    func encryption() {
        var remote = settings()
        remote.isLocal = false
        #expect(remote.warnings(connectionCount: 16).map(\.fields["setting"]) == ["ssl"])
        remote.usesTLS = true
        #expect(remote.warnings(connectionCount: 16).isEmpty)
    }

    @Test("an old server is refused, and a new or another one is reported")
    func versions() throws {
        var server = settings()
        server.version = 140_010
        let error = #expect(throws: StoreError.self) { try server.checkVersion() }
        #expect(error?.code == .unavailable)
        server.version = 170_001
        try server.checkVersion()
        #expect(server.warnings(connectionCount: 16).map(\.fields["setting"]) == ["server_version_num"])
        var other = settings()
        other.isPostgreSQL = false
        #expect(other.warnings(connectionCount: 16).map(\.fields["setting"]) == ["server_version_num"])
    }
}
