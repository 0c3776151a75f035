// What the tests of this package rely on: an expectation on a thread that a test has started belongs to that test.

import StratusStore
import StratusTestSupport
import Testing

@Suite("threads of tests")
struct TestThreadsTests {
    @Test("work off the pool belongs to the waiting test")
    func offPool() async throws {
        let name = try await TestThreads.offPool { Test.current?.name }
        #expect(name == "offPool()")
    }

    @Test("threads that start together belong to the test that started them")
    func several() async throws {
        let names = Locked<[String?]>([])
        try await TestThreads.offPool {
            try TestThreads.run(3) { _ in names.withLock { $0.append(Test.current?.name) } }
        }
        #expect(names.value == ["several()", "several()", "several()"])
    }
}
