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
