// The conformance suite on LevelDB.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

private struct LevelDBFixture: StoreFixture {
    let name = "LevelDB"

    func makePlace() throws -> any StorePlace { LevelDBPlace(try TemporaryDirectory()) }
}

private final class LevelDBPlace: StorePlace {
    private let directory: TemporaryDirectory

    init(_ directory: TemporaryDirectory) {
        self.directory = directory
    }

    func open() throws -> any OrderedStore {
        try LevelDBStore.open(at: directory.path(of: "store"))
    }

    /// The directory goes with its owner.
    func remove() {}
}

@Suite("LevelDB conforms")
struct LevelDBConformanceTests {
    @Test("to every check", arguments: StoreConformance.allChecks)
    func levelDB(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(LevelDBFixture()) }
    }
}
