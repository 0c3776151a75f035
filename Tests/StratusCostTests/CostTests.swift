// The counted costs of every workload of the benchmarks, compared with files. Reads, steps, entries, bytes, commits and
// syncs are exact; allocations, which change with the compiler, stay below a bound.

import Foundation
import StratusTestSupport
import StratusWorkloads
import Testing

@Suite("counted costs of the workloads")
struct CostTests {
    @Test("W1 to W14 and A1, small: reads, cursor steps, entries, bytes, commits and syncs match costs.txt")
    func counts() async throws {
        let costs = try await CostChild.plain()
        let workloads = (1...14).map { "W\($0)" } + ["W2a", "W7a", "W7b", "W8a", "W8b", "W10a", "A1"]
        #expect(Set(costs.map { String($0.label.prefix { $0 != " " }) }) == Set(workloads))
        #expect(GoldenFile("costs.txt").difference(from: CountedCost.table(costs)) == nil)
    }

    @Test("W1 to W14 and A1, small: no pass allocates more than allocations.txt allows")
    func allocations() async throws {
        let costs = try await CostChild.plain()
        guard AllocationBounds.areCounted(in: costs) else { return }
        if AllocationBounds.areRecordedAnew {
            #expect(AllocationBounds.file.difference(from: AllocationBounds.text(costs)) == nil)
        }
        #expect(try AllocationBounds.recorded().findings(in: costs) == [])
    }

    @Test("an additional read is detected in every pass")
    func plantedRead() async throws {
        let (plain, planted) = (try await CostChild.plain(), try await CostChild.run(planting: "reads"))
        for (plain, planted) in zip(plain, planted) {
            #expect(planted.reads == plain.reads + 1)
            #expect(planted.entriesWritten == plain.entriesWritten)
        }
        #expect(
            GoldenFile.firstDifference(recorded: CountedCost.table(plain), actual: CountedCost.table(planted)) != nil)
    }

    @Test("an additional entry is detected in every pass: an entry, its bytes, a commit and a sync")
    func plantedEntry() async throws {
        let (plain, planted) = (try await CostChild.plain(), try await CostChild.run(planting: "entries"))
        for (plain, planted) in zip(plain, planted) {
            #expect(planted.entriesWritten == plain.entriesWritten + 1)
            #expect(planted.bytesWritten > plain.bytesWritten)
            #expect(planted.commits == plain.commits + 1)
            #expect(planted.syncs == plain.syncs + 1)
        }
    }

    @Test("one additional allocation per twenty is detected in every pass")
    func plantedAllocations() async throws {
        let planted = try await CostChild.run(planting: "allocations")
        guard AllocationBounds.areCounted(in: planted), !AllocationBounds.areRecordedAnew else { return }
        let counted = planted.filter { $0.allocations != nil }
        #expect(counted.count > 30)
        #expect(try AllocationBounds.recorded().findings(in: planted).count == counted.count)
    }
}

/// How much each pass may allocate.
struct AllocationBounds {
    static let file = GoldenFile("allocations.txt")
    private let bounds: [String: Int]

    /// Not without the optimiser, nor under a sanitizer.
    static func areCounted(in costs: [CountedCost]) -> Bool { costs.contains { $0.allocations != nil } }

    static var areRecordedAnew: Bool { ProcessInfo.processInfo.environment["STRATUS_RECORD"] == "1" }

    static func recorded(nextTo path: String = #filePath) throws -> AllocationBounds {
        let url = URL(filePath: path).deletingLastPathComponent().appending(path: "Golden/allocations.txt")
        return AllocationBounds(text: try String(contentsOf: url, encoding: .utf8))
    }

    init(text: String) {
        var bounds: [String: Int] = [:]
        for line in text.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ")
            guard let last = words.last, let bound = Int(last) else { continue }
            bounds[words.dropLast().joined(separator: " ")] = bound
        }
        self.bounds = bounds
    }

    /// The text of the file for what was counted: two in a hundred more, and two.
    static func text(_ costs: [CountedCost]) -> String {
        CountedCost.table(
            [["pass", "at most"]]
                + costs.compactMap { cost in cost.allocations.map { [cost.label, "\($0 + $0 / 50 + 2)"] } })
    }

    func findings(in costs: [CountedCost]) -> [String] {
        costs.compactMap { cost in
            guard let allocations = cost.allocations else { return nil }
            guard let bound = bounds[cost.label] else { return "\(cost.label): no bound, record it" }
            return allocations <= bound ? nil : "\(cost.label): \(allocations) allocations, at most \(bound)"
        }
    }
}
