// What tests of this package stand on: a failure on a thread that a test has started is that test's failure.

import StratusTestSupport
import Testing

@Suite("threads of tests")
struct TestThreadsTests {
    @Test("an expectation that fails off the pool belongs to the test that waits for it")
    func offPool() async {
        await withKnownIssue {
            try await TestThreads.offPool { _ = #expect(Bool(false)) }
        }
    }

    @Test("an expectation that fails on one of several threads belongs to the test that has started them")
    func several() async {
        await withKnownIssue {
            try await TestThreads.offPool {
                try TestThreads.run(3) { thread in _ = #expect(thread != 1) }
            }
        }
    }
}
