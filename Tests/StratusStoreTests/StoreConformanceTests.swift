// The conformance suite on the in-memory store, and planted faults that show the suite can fail.

import StratusStore
import StratusTestSupport
import Testing

@Suite("The in-memory store conforms")
struct MemoryStoreConformanceTests {
    @Test("to every check", arguments: StoreConformance.checks(for: MemoryStoreFixture()))
    func memory(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(MemoryStoreFixture()) }
    }

    @Test(
        "when it runs every body twice",
        arguments: StoreConformance.checks(for: MemoryStoreFixture()).filter { !$0.plansFaults })
    func bodiesTwice(check: StoreConformance.Check) async throws {
        let fixture = MemoryStoreFixture(runsBodiesTwice: true)
        try await TestThreads.offPool { try check.run(fixture) }
    }
}

@Suite("A store at the other end of a wire conforms")
struct WireConformanceTests {
    private static let plainFixture = TripStoreFixture("wire")
    private static let twiceFixture = TripStoreFixture("wire, bodies twice") { $0.wire.runsBodiesTwice = true }
    private static let tinyFixture = TripStoreFixture("wire, tiny buffer") { options in
        options.wire.bufferByteCount = 64 << 10
        options.wire.planKeyCount = 8
        options.wire.planScanCount = 2
        options.wire.pageEntryCount = 4
        options.wire.groupMemberCount = 2
    }
    private static let conflictsFixture = TripStoreFixture("wire, conflicts") { $0.conflictInterval = 3 }

    @Test("to every check", arguments: StoreConformance.checks(for: plainFixture))
    func wire(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.plainFixture) }
    }

    @Test(
        "when it runs every body twice",
        arguments: StoreConformance.checks(for: twiceFixture).filter { !$0.plansFaults })
    func bodiesTwice(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.twiceFixture) }
    }

    @Test(
        "with a tiny buffer, and plans, pages and groups of few",
        arguments: StoreConformance.checks(for: tinyFixture))
    func tiny(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.tinyFixture) }
    }

    @Test(
        "when every third commit meets a conflict",
        arguments: StoreConformance.checks(for: conflictsFixture).filter { !$0.plansFaults })
    func conflicts(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.conflictsFixture) }
    }
}

@Suite("The conformance suite")
struct StoreConformanceTests {
    @Test("detects a planted fault", arguments: Plant.all)
    func plants(plant: Plant) async throws {
        for name in plant.foundBy {
            let check = try #require(StoreConformance.allChecks.first { $0.name == name }, "no check is named \(name)")
            await #expect(throws: ConformanceFailure.self, "\(name)") {
                try await TestThreads.offPool { try check.run(plant.fixture) }
            }
        }
    }

    @Test("passes a wrapped store without a fault, so that it detects the faults and not the wrapper")
    func wrappersAreInnocent() async throws {
        let fixture = PlantedFixture(name: "hooks that change nothing") { HookedStore($0) { Hooks() } }
        for check in StoreConformance.checks(for: fixture) {
            try await TestThreads.offPool { try check.run(fixture) }
        }
    }

    @Test("names each check once")
    func names() {
        let names = StoreConformance.allChecks.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("detects a difference in a history and names its seed and step")
    func historiesNameTheirSeed() throws {
        let plant = try #require(Plant.all.first { $0.description == "a scan forgets its transaction's deletes" })
        let failure = #expect(throws: ConformanceFailure.self) {
            try StoreHistory.run(seed: 3, stepCount: 60, on: plant.fixture.makePlace())
        }
        #expect(failure?.description.hasPrefix("seed 3, step ") == true)
    }
}
