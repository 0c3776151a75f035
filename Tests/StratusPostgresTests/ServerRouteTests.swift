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

    /// Notes a server with a timeline, and expects it to be taken or refused.
    private func expect(
        _ isTaken: Bool, _ route: inout ServerRoute, _ server: ConnectionInfo.Endpoint, _ timeline: Int64,
        isOnlyOne: Bool = false, at location: SourceLocation = #_sourceLocation
    ) {
        let result = route.note(server, timeline: timeline, isOnlyOne: isOnlyOne)
        #expect(result == isTaken, sourceLocation: location)
    }

    @Test("the server that took a connection last is tried first, and one that did not answer in time last")
    func order() {
        var route = ServerRoute()
        #expect(route.order(all) == all)
        expect(true, &route, all[1], 1)
        #expect(route.order(all) == [all[1], all[0], all[2]])
        route.silent = all[1]
        #expect(route.order(all) == [all[0], all[2], all[1]])
        expect(true, &route, all[1], 1)
        #expect(route.order(all) == [all[1], all[0], all[2]])
    }

    @Test("a server with an older timeline is refused, and one whose timeline is not known is not")
    func timelines() {
        var route = ServerRoute()
        expect(true, &route, all[0], 1)
        expect(true, &route, all[1], 2)
        expect(false, &route, all[0], 1)
        #expect(route.last == all[1])
        expect(true, &route, all[2], 0)
    }

    @Test("writing waits after a promotion, not at a first server, and not for the only one when it is first seen")
    func waiting() {
        var first = ServerRoute()
        expect(true, &first, all[0], 1)
        #expect(!first.mayBeReadElsewhere)
        expect(true, &first, all[1], 2)
        #expect(first.mayBeReadElsewhere)
        var opened = ServerRoute()
        expect(true, &opened, all[0], 5)
        #expect(opened.mayBeReadElsewhere)
        var only = ServerRoute()
        expect(true, &only, all[0], 5, isOnlyOne: true)
        #expect(!only.mayBeReadElsewhere)
        expect(true, &only, all[0], 6, isOnlyOne: true)
        #expect(only.mayBeReadElsewhere)
    }

    @Test("a connection knows its server's timeline", .enabled(if: PostgresTestStore.isServerThere))
    func timeline() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            #expect(connection.timeline == 1)
        }
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
            #expect(info.note(Self.server(9), timeline: 2))
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
            let info = try TestServer.info()
            let connection = try TestServer.open(info)
            defer { connection.close() }
            let began = MonotonicTime.now
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    _ = info.note(Self.server(9), timeline: 2)
                } else {
                    let error = #expect(throws: ServerError.self) {
                        try connection.answers(to: ["SELECT pg_sleep(60)"])
                    }
                    #expect(error?.errorClass == .reconnect)
                }
            }
            #expect((began + 20).secondsLeft > 0)
        }
    }

    @Test(
        "a host whose beats nobody confirms neither reads nor writes", .enabled(if: PostgresTestStore.isServerThere))
    func unconfirmed() async throws {
        try await TestThreads.offPool {
            let isPaused = Locked(false)
            let place = try PostgresTestStore()
            let store = try place.open { options in
                options.testHooks.holdsBeats = { isPaused.value }
                options.wire.deadlineSeconds = 8
            }
            defer { store.close() }
            #expect(try store.increment([1]) == 1)
            isPaused.withLock { $0 = true }
            MonotonicTime.pause(seconds: LeaseHealth.trustedSeconds)
            let reading = #expect(throws: StoreError.self) { try store.number([1]) }
            #expect(reading?.code == .unavailable)
            let writing = #expect(throws: StoreError.self) { try store.increment([1]) }
            #expect(writing?.code == .unavailable)
            isPaused.withLock { $0 = false }
            #expect(try store.increment([1]) == 2)
        }
    }
}
