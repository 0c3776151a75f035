// The progress of a rebuild: how much it counts in advance, and how far each step is.

import FoundationEssentials
import StratusModel
import StratusRecords
import Testing

@Suite("The progress of rebuilds")
struct RebuildProgressTests {
    private static let rootCount = 20

    /// So many records that their entries are more than are counted untold, and share roots of several commits.
    private func filled() throws -> SampleZone {
        let sample = try SampleZone()
        try sample.apply(.save("top"))
        for batch in 0..<8 {
            try apply((0..<200).map { .save(RecordName("record-\(batch)-\($0)"), under: "top") }, in: sample)
        }
        try apply(
            (0..<Self.rootCount).map { .save(RecordName("root-\($0)"), share: RecordName("Share-\($0)")) }, in: sample)
        return sample
    }

    private func apply(_ mutations: [RecordMutation], in sample: SampleZone) throws {
        let request = MutationRequest(mutations, stamp: SampleZone.stamp, tagSalt: 7)
        _ = try sample.engine.transact { try $0.apply(request, in: sample.id) }
    }

    @Test("a rebuild reports what it counts, without a total, and every step up to its total, share roots too")
    func steps() throws {
        let sample = try filled()
        var told: [RebuildProgress] = []
        try sample.engine.rebuild(sample.id, incarnation: UUID()) { told.append($0) }
        #expect(try sample.engine.verify().isClean)
        #expect(told.allSatisfy { ($0.totalCount == nil) == ($0.step == .counting) })
        // The first count is of every keyspace.
        #expect(told.first?.step == .counting)
        #expect(told.first?.doneCount == WorkCounter.tellingInterval)
        var order: [RebuildProgress.Step] = []
        for progress in told where !order.contains(progress.step) { order.append(progress.step) }
        #expect(order == [.counting, .entries, .records, .places, .shares])
        for step in order.dropFirst() {
            let last = try #require(told.last { $0.step == step })
            #expect(last.doneCount == last.totalCount, "\(step)")
        }
        // Each root, and its counting; eight roots per commit.
        let shares = told.filter { $0.step == .shares }
        #expect(shares.last?.totalCount == 2 * Self.rootCount)
        #expect(shares.count > Self.rootCount / 8)
        #expect(shares.map(\.doneCount) == shares.map(\.doneCount).sorted())
    }
}
