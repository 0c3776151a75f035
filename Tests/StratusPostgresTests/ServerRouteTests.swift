// Which server of an address is used, when several take connections that write. A cluster is not needed: the tests say
// which timeline was found.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite struct ServerRouteTests {
    private static func server(_ port: Int) -> ConnectionInfo.Endpoint {
        ConnectionInfo.Endpoint(host: "localhost", address: nil, port: "\(port)")
    }

    private let all = [1, 2, 3].map(Self.server)

    private static func timeline(_ number: Int64, of system: Int64 = 7) -> ServerTimeline {
        ServerTimeline(system: system, number: number)
    }

    /// Notes a server with a timeline, and expects it to be taken or refused.
    private func expect(
        _ isTaken: Bool, _ route: inout ServerRoute, _ server: ConnectionInfo.Endpoint, _ timeline: ServerTimeline?,
        at location: SourceLocation = #_sourceLocation
    ) {
        let result = route.note(server, timeline)
        #expect(result == isTaken, sourceLocation: location)
    }

    @Test("the server that took a connection last is tried first, and one that did not answer in time last")
    func order() {
        var route = ServerRoute()
        #expect(route.order(all) == all)
        expect(true, &route, all[1], Self.timeline(1))
        #expect(route.order(all) == [all[1], all[0], all[2]])
        route.silent = all[1]
        #expect(route.order(all) == [all[0], all[2], all[1]])
        expect(true, &route, all[1], Self.timeline(1))
        #expect(route.order(all) == [all[1], all[0], all[2]])
    }

    @Test("a server with an older timeline is refused; one without a timeline, or of another system, is not")
    func timelines() {
        var route = ServerRoute()
        expect(true, &route, all[0], Self.timeline(1))
        expect(true, &route, all[1], Self.timeline(2))
        expect(false, &route, all[0], Self.timeline(1))
        #expect(route.isReplaced(Self.timeline(1)))
        #expect(route.last == all[1])
        expect(true, &route, all[2], nil)
        #expect(!route.isReplaced(nil))
        expect(true, &route, all[0], Self.timeline(1, of: 8))
        #expect(route.isReplaced(Self.timeline(2)))
        #expect(!route.isReplaced(Self.timeline(1, of: 8)))
    }

    @Test("writing waits after a promotion, also when it was before the first connection")
    func waiting() {
        var first = ServerRoute()
        expect(true, &first, all[0], Self.timeline(1))
        #expect(first.readElsewhereUntil == nil)
        expect(true, &first, all[1], Self.timeline(2))
        #expect(first.readElsewhereUntil != nil)
        var opened = ServerRoute()
        expect(true, &opened, all[0], Self.timeline(5))
        #expect(opened.readElsewhereUntil != nil)
    }

    @Test("a connection knows its server's timeline", .enabled(if: PostgresTestStore.isServerThere))
    func timeline() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            let timeline = try #require(connection.timeline)
            #expect(timeline.number >= 1)
            #expect(try connection.number("SELECT system_identifier FROM pg_control_system()") == timeline.system)
        }
    }

    /// Lets connections to an address find another server, which has replaced theirs.
    private static func replaceServer(of connection: PostgresConnection) throws {
        let own = try #require(connection.timeline)
        let next = timeline(own.number + 1, of: own.system)
        #expect(connection.info.route.withLock { $0.note(server(9), next) })
    }

    @Test(
        "a connection to a server that was replaced sends nothing more, and no new one is made",
        .enabled(if: PostgresTestStore.isServerThere))
    func replaced() async throws {
        try await TestThreads.offPool {
            let info = try TestServer.info()
            let connection = try TestServer.open(info)
            defer { connection.close() }
            #expect(connection.checkIsUsable())
            try Self.replaceServer(of: connection)
            #expect(!connection.checkIsUsable())
            let sent = #expect(throws: ServerError.self) { try connection.number("SELECT 5::int8") }
            #expect(sent?.errorClass == .reconnect)
            let refused = #expect(throws: ServerError.self) { try TestServer.open(info) }
            #expect(refused?.storeError().code == .unavailable)
        }
    }

    @Test(
        "a connection that waits for an answer is given up soon after its server was found to be replaced",
        .enabled(if: PostgresTestStore.isServerThere))
    func replacedWhileWaiting() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            let other = try TestServer.open(TestServer.info())
            defer { other.close() }
            let (began, process) = (MonotonicTime.now, try #require(connection.session).processID)
            try TestThreads.run(2) { thread in
                if thread == 1 {
                    let error = #expect(throws: ServerError.self) {
                        try connection.answers(to: ["SELECT pg_sleep(60)"])
                    }
                    #expect(error?.errorClass == .reconnect)
                    return
                }
                let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(process) AND wait_event = 'PgSleep'"
                while try other.number(sleeping) == 0 { MonotonicTime.pause(seconds: 0.05) }
                try Self.replaceServer(of: connection)
            }
            #expect((began + 30).secondsLeft > 0)
        }
    }

    @Test(
        "a host whose beats nobody confirms neither reads nor writes", .enabled(if: PostgresTestStore.isServerThere))
    func unconfirmed() async throws {
        try await TestThreads.offPool {
            let isPaused = Locked(false)
            let place = try PostgresTestStore()
            // Two servers, of which one may replace the other.
            let servers = place.url.replacing(/@(?<server>[^\/]+)\//) { "@\($0.server),\($0.server)/" }
            let options = place.options { options in
                options.testHooks.holdsBeats = { isPaused.value }
                options.wire.deadlineSeconds = 8
            }
            let (store, _) = try PostgresStore.open(url: servers, options: options)
            defer { store.close() }
            #expect(try store.increment([1]) == 1)
            isPaused.withLock { $0 = true }
            MonotonicTime.pause(seconds: LeaseHealth.trustedSeconds + 1)
            let reading = #expect(throws: StoreError.self) { try store.number([1]) }
            #expect(reading?.code == .unavailable)
            let writing = #expect(throws: StoreError.self) { try store.increment([1]) }
            #expect(writing?.code == .unavailable)
            isPaused.withLock { $0 = false }
            #expect(try store.increment([1]) == 2)
        }
    }
}
