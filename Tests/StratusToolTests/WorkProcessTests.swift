// Background work of two processes on one database: one of them is killed or paused in the middle of each kind of work.

import Foundation
import StratusLayout
import StratusTestSupport
import Testing

@Suite(
    "Background work of processes on one database", .enabled(if: PostgresTestStore.isServerThere),
    .timeLimit(.minutes(5)))
struct WorkProcessTests {
    @Test(
        "work of a host that is killed in the middle is finished by another one when ten seconds are over, not before",
        arguments: BackgroundWork.allCases)
    func killed(work: BackgroundWork) async throws {
        try await TestThreads.offPool {
            let bench = try WorkBench(work)
            defer { bench.close() }
            let other = try bench.startOther()
            other.send(SIGKILL)
            #expect(other.finish() == [])
            try bench.takeOver()
            try bench.checkIsFinished()
        }
    }

    @Test(
        "a host that is paused in the middle of its work and overtaken commits nothing of it when it goes on",
        arguments: BackgroundWork.allCases)
    func paused(work: BackgroundWork) async throws {
        try await TestThreads.offPool {
            let bench = try WorkBench(work)
            defer { bench.close() }
            let other = try bench.startOther()
            other.send(SIGSTOP)
            try bench.takeOver()
            let before = try bench.entries()
            try other.goOn()
            other.send(SIGCONT)
            #expect(other.finish() == ["lost"])
            let changes = try bench.changes(since: before)
            #expect(changes == [])
            try bench.checkIsFinished()
        }
    }
}
