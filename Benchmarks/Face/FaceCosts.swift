// How the price of the face is measured: wall time and the processor time of the whole process, because the face works
// on threads of its own and leaves work to others. Contestants take turns; each prepares its round outside the clocks.
//
// Where contestants write, a round's processor time ends when the process rests. So each pays for the compactions that
// it causes, and none for those of its neighbours.

import Foundation
import StratusWorkloads

/// What one of the counted items takes.
struct ItemCost {
    var seconds: Double
    /// Of all threads of the process.
    var processor: Double
}

extension ItemCost {
    /// Does work that returns how many items it has done. With `rests` what it leaves to other threads counts, too.
    init(rests: Bool, _ work: () throws -> Int) throws {
        let before = ProcessorTime.ofProcess
        var count = 0
        let seconds = try Stopwatch.seconds { count = try work() }
        if rests { ProcessRest.wait() }
        let processor = ProcessorTime.ofProcess - before
        guard count > 0 else { throw PeerError("A contestant has done nothing.") }
        self.init(seconds: seconds / Double(count), processor: processor / Double(count))
    }
}

extension [ItemCost] {
    var median: ItemCost {
        ItemCost(seconds: Stopwatch.median(map(\.seconds)), processor: Stopwatch.median(map(\.processor)))
    }

    /// The processor time of all rounds together, which are as large as each other.
    var meanProcessor: Double { map(\.processor).reduce(0, +) / Double(count) }
}

/// A process whose threads have nothing to do.
enum ProcessRest {
    private static let pauseMicroseconds: UInt32 = 100_000
    /// A thirtieth of the time of one processor.
    private static let restingSeconds = 0.003
    private static let pauseCount = 3
    private static let mostPauses = 600

    /// Waits until no thread has worked for three pauses in a row, or for a minute.
    static func wait() {
        var (restingCount, count) = (0, 0)
        while restingCount < pauseCount, count < mostPauses {
            let before = ProcessorTime.ofProcess
            usleep(pauseMicroseconds)
            restingCount = ProcessorTime.ofProcess - before < restingSeconds ? restingCount + 1 : 0
            count += 1
        }
    }
}

extension FaceWait {
    /// Does something for each item of some lists: the lists at once, the items of a list one after the other.
    static func run<Item: Sendable>(
        lists: [[Item]], _ body: @escaping @Sendable (Item) async throws -> Void
    ) throws {
        try run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for list in lists {
                    group.addTask { for item in list { try await body(item) } }
                }
                try await group.waitForAll()
            }
        }
    }
}

/// Somebody who takes part.
struct FaceContestant {
    /// Work whose time is measured. It returns how many items it has done.
    typealias Work = () throws -> Int

    /// Prepares a round, outside the clocks. Rounds count from 0; the one before the others is round 0 if there is one.
    let prepare: (_ round: Int) throws -> Work

    init(_ prepare: @escaping (_ round: Int) throws -> Work) { self.prepare = prepare }
}

enum FaceRounds {
    static let count = 9

    /// The costs of each contestant in each round.
    static func costs(
        rounds: Int = count, warmsUp: Bool = true, rests: Bool = false, _ contestants: [FaceContestant]
    ) throws -> [[ItemCost]] {
        var costs = contestants.map { _ in [ItemCost]() }
        _ = try Stopwatch.medians(
            rounds: rounds, warmsUp: warmsUp,
            contestants.indices.map { index in
                {
                    let work = try contestants[index].prepare(costs[index].count)
                    let cost = try ItemCost(rests: rests, work)
                    costs[index].append(cost)
                    return cost.seconds
                }
            })
        return costs.map { Array($0.suffix(rounds)) }
    }
}

/// What the face, the request below it and GRDB do for the same things, for the first time and again.
struct FaceComparison<Item: Sendable> {
    let workload: String
    /// What is counted.
    let subject: String
    /// Whether the work changes the stores.
    var writes = false
    /// Each returns how many it has done.
    let face: @Sendable (Item) async throws -> Int
    let below: @Sendable (Item) throws -> Int
    let grdb: @Sendable (Item) async throws -> Int

    /// How many new items the first times need: the face and the request below it get others, because what one has
    /// read is cached for the other.
    static func newCount(perRound: Int) -> Int { 2 * (FaceRounds.count + 1) * perRound }

    /// Measures `perRound` new items a round, and then the first of them again and again, `passes` times a round.
    ///
    /// - `first`, `repeated`: the bars of the time of GRDB over ours.
    /// - `added`: the bar of the processor time that the face adds, by the time of GRDB. It is held against repeated
    ///   work, where what is below the face takes the same time twice.
    func measure(
        _ run: BenchmarkRun, _ items: [Item], perRound: Int, passes: Int, first: Bar = .none, repeated: Bar = .none,
        added: Bar = .none
    ) throws {
        let half = Self.newCount(perRound: perRound) / 2
        guard items.count >= 2 * half else { throw PeerError("\(workload) has too few items: \(items.count).") }
        let new = try costs(
            { Array(items[($0 * perRound)..<(($0 + 1) * perRound)]) },
            { Array(items[(half + $0 * perRound)..<(half + ($0 + 1) * perRound)]) })
        report(run, "\(subject), for the first time", new, time: first, added: .none)
        let same = Array(repeating: items[0], count: passes)
        report(run, "\(subject), again", try costs({ _ in same }, { _ in same }), time: repeated, added: added)
    }

    /// The medians of the face, the request below it and GRDB. GRDB gets the items of the face.
    private func costs(
        _ items: @escaping (_ round: Int) -> [Item], _ itemsBelow: @escaping (_ round: Int) -> [Item]
    ) throws -> [ItemCost] {
        let below = below
        return try FaceRounds.costs(
            rests: writes,
            [
                Self.contestant(items, face),
                FaceContestant { round in
                    let items = itemsBelow(round)
                    return { try items.reduce(0) { try $0 + below($1) } }
                },
                Self.contestant(items, grdb),
            ]
        ).map(\.median)
    }

    private static func contestant(
        _ items: @escaping (_ round: Int) -> [Item], _ work: @escaping @Sendable (Item) async throws -> Int
    ) -> FaceContestant {
        FaceContestant { round in
            let items = items(round)
            return {
                try FaceWait.run {
                    var count = 0
                    for item in items { count += try await work(item) }
                    return count
                }
            }
        }
    }

    private func report(_ run: BenchmarkRun, _ subject: String, _ costs: [ItemCost], time: Bar, added: Bar) {
        let (face, below, grdb) = (costs[0], costs[1], costs[2])
        run.add(workload, subject, face, against: NotesPeer.title, grdb, time: time)
        run.add(workload, subject, face, against: "below the face", below)
        run.add(
            Figure(
                workload, "\(subject): processor time that the face adds", (face.processor - below.processor) * 1e6,
                "µs", against: "the whole time of \(NotesPeer.title)", grdb.seconds * 1e6, ratio: .ourShareOfTheirs,
                added))
    }
}

extension BenchmarkRun {
    /// Adds a row for the time and one for the processor time. Ratios are theirs over ours, with bars that are upper
    /// bounds ours over theirs.
    func add(
        _ workload: String, _ subject: String, _ ours: ItemCost, against peer: String, _ theirs: ItemCost,
        time: Bar = .none, processor: Bar = .none
    ) {
        let parts: [(name: String, value: KeyPath<ItemCost, Double>, bar: Bar)] = [
            ("", \.seconds, time), (", processor time", \.processor, processor),
        ]
        for part in parts {
            let ratio: Figure.Ratio = if case .atMost = part.bar { .ourShareOfTheirs } else { .theirsOverOurs }
            add(
                Figure(
                    workload, subject + part.name, ours[keyPath: part.value] * 1e6, "µs", against: peer,
                    theirs[keyPath: part.value] * 1e6, ratio: ratio, part.bar))
        }
    }
}
