// Hosts in processes of their own, which are killed or paused while they write.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.enabled(if: PostgresTestStore.isServerThere)) struct HostProcessTests {
    @Test("a host that was killed is replaced within seconds, and everything that it acknowledged is there")
    func killed() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let child = try CountingHost("server", place.url)
            let seen = child.waitForNumber(20)
            child.send(SIGKILL)
            let began = MonotonicTime.now
            let store = try place.openAlone(waiting: 20)
            defer { store.close() }
            #expect((began + 15).secondsLeft > 0)
            let last = child.finish().compactMap { Int($0) }.last ?? seen
            let number = try store.number([1])
            // One commit may have been done and not acknowledged.
            #expect(number == last || number == last + 1)
        }
    }

    @Test("a host that was paused and overtaken writes nothing when it goes on, and ends with the code for it")
    func paused() async throws {
        try await TestThreads.offPool {
            for _ in 0..<2 {
                let place = try PostgresTestStore()
                let child = try CountingHost("server", place.url)
                _ = child.waitForNumber(20)
                child.send(SIGSTOP)
                let store = try place.openAlone(waiting: 20)
                defer { store.close() }
                let number = try store.number([1])
                child.send(SIGCONT)
                let rest = child.finish()
                #expect(rest.last == "held")
                #expect((rest.compactMap { Int($0) }.max() ?? 0) <= number)
                #expect(try store.number([1]) == number)
            }
        }
    }
}
