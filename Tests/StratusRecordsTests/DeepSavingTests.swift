// Saving below deep records: the cache walks up, and its answers equal those of a walk level by level.

import FoundationEssentials
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("saving below deep records")
struct DeepSavingTests {
    /// The look-ups in the ancestor cache, and the reads of the store.
    private static func asked(_ sample: SampleZone, _ body: () throws -> Void) rethrows -> [Int] {
        let (before, cost) = (sample.engine.ancestorCache.statistics, sample.store.statistics.cost)
        try body()
        let (after, spent) = (sample.engine.ancestorCache.statistics, sample.store.statistics.cost - cost)
        return [after.hits - before.hits + after.misses - before.misses, spent.pointReads, spent.seeks]
    }

    /// A chain of records; the first is a share's root.
    private static func chain(_ depth: Int) throws -> SampleZone {
        let sample = try SampleZone(cacheByteCount: 4 << 20)
        try sample.apply(.save("top"))
        try sample.apply(.save("0", under: "top", share: "Share"))
        for start in stride(from: 1, through: depth, by: 400) {
            let names = start...min(start + 399, depth)
            let request = MutationRequest(
                names.map { .save(RecordName("\($0)"), under: RecordName("\($0 - 1)")) }, stamp: SampleZone.stamp,
                tagSalt: 7)
            try sample.engine.transact { _ = try $0.apply(request, in: sample.id) }
        }
        return sample
    }

    private static func save(_ name: String, under parent: String, in sample: SampleZone) throws -> MutationPlan {
        var request = MutationRequest(
            [.save(Record(name: RecordName(name), type: "Note", parent: RecordName(parent)))],
            stamp: SampleZone.stamp, tagSalt: 7)
        request.asksForMemberships = true
        return try sample.engine.transact { try $0.apply(request, in: sample.id) }
    }

    @Test(
        "saving below a record costs the same cache and store reads at depth 2,000 as at depth 20",
        .enabled(if: TestStores.letCachesAnswer))
    func counted() throws {
        let found = try [20, 2_000].map { depth in
            let sample = try Self.chain(depth)
            _ = try Self.save("warm", under: "\(depth)", in: sample)
            return try Self.asked(sample) {
                let plan = try Self.save("new", under: "\(depth)", in: sample)
                #expect(plan.memberships["new"] == ShareMembership(root: "0", share: "Share"))
            }
        }
        #expect(found[0] == found[1])
        #expect(found[1][0] < 20)
    }

    @Test("records that a transaction has moved or shared count for its next saves below them")
    func ownWrites() throws {
        let sample = try Self.chain(30)
        try sample.apply(.save("other", share: "Other"), .save("plain"))
        _ = try Self.save("warm", under: "30", in: sample)
        func request(_ mutation: RecordMutation) -> MutationRequest {
            var request = MutationRequest([mutation], stamp: SampleZone.stamp, tagSalt: 7)
            request.asksForMemberships = true
            return request
        }
        let below = request(.save("below", under: "30"))
        let memberships = try sample.engine.transact { transaction in
            // Out of one share, and into another.
            try transaction.apply(request(.save("1", under: "plain")), in: sample.id)
            let outside = try transaction.apply(below, in: sample.id).memberships["below"]
            let coverage = try transaction.existingZone(sample.id).coverage(of: "30")
            try transaction.apply(request(.save("1", under: "other")), in: sample.id)
            let inside = try transaction.apply(below, in: sample.id).memberships["below"]
            return (outside, coverage, inside)
        }
        #expect(memberships.0 == nil)
        #expect(memberships.1 == .uncovered)
        #expect(memberships.2 == ShareMembership(root: "other", share: "Other"))
        // A refused request leaves nothing behind.
        #expect(throws: RequestRefused.self) {
            try sample.engine.transact { transaction in
                try transaction.apply(request(.save("2", under: "plain")), in: sample.id)
                try transaction.apply(request(.save("nowhere", under: "gone")), in: sample.id)
            }
        }
        #expect(
            try Self.save("last", under: "30", in: sample).memberships["last"]
                == ShareMembership(root: "other", share: "Other"))
    }

    /// The result of a request, as text.
    private static func outcome(_ request: MutationRequest, in sample: SampleZone) throws -> String {
        do {
            let plan = try sample.engine.transact { try $0.apply(request, in: sample.id) }
            let memberships = plan.memberships.map { name, place in
                "\(name.text) in \(place.share.text) of \(place.root.text)"
            }
            return (["\(plan)"] + memberships.sorted()).joined(separator: "\n")
        } catch let refused as RequestRefused {
            return refused.refusals.map { "\($0.key.text): \($0.value)" }.sorted().joined(separator: "\n")
        } catch let error as StoreError {
            // A record that was moved down can be deeper than the limit.
            return "\(error)"
        }
    }

    @Test(
        "a record at the maximum depth is saved, also before its ancestors in the request; one deeper is not"
    )
    func wholeChains() throws {
        let limit = 4
        let longest = limit + 1
        for length in 1...longest + 2 {
            for isReversed in [false, true] {
                // With existing records, and all in one request.
                for savedFirst in 0..<length {
                    let sample = try SampleZone(depthLimit: limit)
                    let names = (0..<length).map { RecordName("\($0)") }
                    let saves = names.indices.map { index in
                        RecordMutation.save(
                            Record(name: names[index], type: "Note", parent: index == 0 ? nil : names[index - 1]))
                    }
                    for save in saves[..<min(savedFirst, longest)] { try sample.apply(save) }
                    let rest = Array(saves[min(savedFirst, longest)...])
                    let request = MutationRequest(
                        isReversed ? rest.reversed() : rest, stamp: SampleZone.stamp, tagSalt: 7)
                    let outcome = try Self.outcome(request, in: sample)
                    let isTooDeep = outcome.contains("would be deeper")
                    #expect(
                        isTooDeep == (length > longest), "\(length), reversed: \(isReversed), \(savedFirst): \(outcome)"
                    )
                }
            }
        }
    }

    @Test("at the depth limit and everywhere else requests have the same results as without a cache")
    func limits() throws {
        let seed = SplitMix64.announced("saving at the depth limit")
        var outcomes: Set<String> = []
        for history in 0..<40 {
            var random = seed.generator(forCase: history)
            let limit = 2 + random.below(5)
            let samples = [
                try SampleZone(depthLimit: limit), try SampleZone(cacheByteCount: 0, depthLimit: limit),
            ]
            for _ in 0..<60 {
                var names = Set<Int>()
                while names.count < 1 + history % 3 { names.insert(random.below(14)) }
                let mutations = names.sorted().map { name -> RecordMutation in
                    if random.isOne(in: 9) { return .delete(RecordName("\(name)")) }
                    let parent = random.isOne(in: 5) ? nil : RecordName("\(random.below(14))")
                    let share = random.isOne(in: 6) ? RecordName("share of \(name)") : nil
                    return .save(Record(name: RecordName("\(name)"), type: "Note", parent: parent, share: share))
                }
                var request = MutationRequest(mutations, stamp: SampleZone.stamp, tagSalt: 7)
                request.asksForMemberships = true
                let found = try samples.map { try Self.outcome(request, in: $0) }
                #expect(found[0] == found[1], "history \(history)")
                outcomes.insert(found[0].contains("would be deeper") ? "too deep" : "something else")
            }
        }
        #expect(outcomes.count == 2, "the depth limit was never reached")
    }
}
