// F2: fetch 400 records by name. F5: a page of 100 changes since a token, and the first sync of the zone. F6: a page of
// 100 results of a query. Beside them GRDB with `Codable` records, and the request below the face. What is read for the
// first time was not read since the stores were opened; again means the same names, token or query. Every caller begins
// with names, tokens and sizes, and ends with all values of the records.

import StratusCloud
import StratusKit
import StratusWorkloads

enum FaceFetchWorkload: FaceWorkload {
    static let name = "F2"
    static let title = "fetch 400 by name through the face"
    private static let fetchCount = 400
    private static let perRound = 2
    private static let passCount = 20

    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        try bench.load()
        try bench.reopen()
        let (client, below, notes) = (bench.client, bench.below, bench.notes)
        let comparison = FaceComparison<[String]>(
            workload: name, subject: "a record of \(fetchCount)",
            face: { try expect(await client.fetch($0)) }, below: { try expect(below.fetch($0)) },
            grdb: { try expect(await notes.notes(named: $0).count) })
        let count = FaceComparison<[String]>.newCount(perRound: perRound)
        try comparison.measure(
            run, bench.names(count, of: fetchCount, seed: 2_000), perRound: perRound, passes: passCount,
            first: .atLeast(0.6), repeated: .atLeast(1), added: .atMost(0.5))
    }

    private static func expect(_ count: Int) throws -> Int {
        guard count == fetchCount else { throw PeerError("A fetch has \(count) records.") }
        return count
    }
}

enum FaceFeedWorkload: FaceWorkload {
    static let name = "F5"
    static let title = "the feed and the first sync of a zone through the face"
    private static let changeCount = 100
    private static let passCount = 100

    /// A place in the history of the zone, before a commit of as many changes as a page has.
    private struct Position: Sendable {
        var token: CKServerChangeToken?
        /// The token of the request below the face.
        var tokenBelow: [UInt8]?
        /// GRDB's last change.
        var change: Int
    }

    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        try bench.load()
        let perRound = run.scale.isQuick ? 6 : 12
        let positions = try change(bench, count: FaceComparison<Position>.newCount(perRound: perRound))
        try bench.reopen()
        let (client, below, notes) = (bench.client, bench.below, bench.notes)
        let comparison = FaceComparison<Position>(
            workload: name, subject: "a change of \(changeCount)",
            face: { try expect(await client.changes(after: $0.token, limit: changeCount)) },
            below: { try expect(below.changes(after: $0.tokenBelow, limit: changeCount)) },
            grdb: { try expect(await notes.notes(changedAfter: $0.change, limit: changeCount).count) })
        try comparison.measure(
            run, positions, perRound: perRound, passes: passCount, first: .atLeast(0.6), repeated: .atLeast(1),
            added: .atMost(0.5))
        try measureFirstSync(run, bench)
    }

    private static func expect(_ count: Int) throws -> Int {
        guard count == changeCount else { throw PeerError("A page has \(count) changes.") }
        return count
    }

    /// Saves records at random again, each once, on both sides. Returns the places before the commits, in random order.
    private static func change(_ bench: FaceBench, count: Int) throws -> [Position] {
        let (client, below, notes) = (bench.client, bench.below, bench.notes)
        guard count * changeCount <= bench.data.count else { throw PeerError("The zone has too few records.") }
        var numbers = SeededNumbers(seed: 5_000)
        let indices = Array((0..<bench.data.count).shuffled(using: &numbers).prefix(count * changeCount))
        var token = try FaceWait.run { try await client.readFeed(isBlind: true).token }
        var tokenBelow = try below.readFeed(isBlind: true).token
        var positions: [Position] = []
        for start in stride(from: 0, to: indices.count, by: changeCount) {
            positions.append(Position(token: token, tokenBelow: tokenBelow, change: notes.change))
            let changed = indices[start..<start + changeCount]
            try below.modify(bench.saves(changed), policy: .changedKeys)
            let rows = bench.rows(changed)
            try FaceWait.run { try await notes.update(rows) }
            let last = token
            token = try FaceWait.run { try await client.readFeed(after: last, isBlind: true).token }
            tokenBelow = try below.readFeed(after: tokenBelow, isBlind: true).token
        }
        positions.shuffle(using: &numbers)
        return positions
    }

    /// Every contestant reads all records once in each round. No walk over a zone leaves its records in a cache.
    private static func measureFirstSync(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        let (client, below, notes) = (bench.client, bench.below, bench.notes)
        func whole(_ count: Int) throws -> Int {
            guard count >= bench.data.count else { throw PeerError("A first sync has \(count) records.") }
            return count
        }
        let costs = try FaceRounds.costs(
            rounds: Stopwatch.roundCount, warmsUp: false,
            [
                FaceContestant { _ in { try whole(FaceWait.run { try await client.readFeed().count }) } },
                FaceContestant { _ in { try whole(below.readFeed().count) } },
                FaceContestant { _ in { try whole(FaceWait.run { try await notes.readAll() }) } },
            ]
        ).map(\.median)
        let subject = "a record of the first sync"
        run.add(name, subject, costs[0], against: NotesPeer.title, costs[2], time: .atLeast(0.6))
        run.add(name, subject, costs[0], against: "below the face", costs[1])
    }
}

enum FaceQueryWorkload: FaceWorkload {
    static let name = "F6"
    static let title = "a page of a query through the face"
    private static let passCount = 100

    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        try bench.load()
        try bench.reopen()
        let perRound = run.scale.isQuick ? 8 : 20
        let (client, below, notes) = (bench.client, bench.below, bench.notes)
        let comparison = FaceComparison<ClosedRange<Int64>>(
            workload: name, subject: "a result of \(SizeQueries.resultCount)",
            face: { try expect(await client.files(ofSizes: $0)) }, below: { try expect(below.files(ofSizes: $0)) },
            grdb: {
                try expect(
                    await notes.notes(ofType: SizeQueries.type, sizes: $0, limit: SizeQueries.resultCount).count)
            })
        let count = FaceComparison<ClosedRange<Int64>>.newCount(perRound: perRound)
        try comparison.measure(
            run, try ranges(bench.data, count: count), perRound: perRound, passes: passCount, first: .atLeast(0.6),
            repeated: .atLeast(1), added: .atMost(0.5))
    }

    private static func expect(_ count: Int) throws -> Int {
        guard count == SizeQueries.resultCount else { throw PeerError("A page has \(count) results.") }
        return count
    }

    /// Ranges of sizes with as many files as a page has, none of them in two, in random order.
    private static func ranges(_ data: ZoneData, count: Int) throws -> [ClosedRange<Int64>] {
        let files = SizeQueries.filesBySize(data)
        let starts = Array(stride(from: 0, through: files.count - SizeQueries.resultCount, by: SizeQueries.resultCount))
        guard starts.count >= count else { throw PeerError("The zone has too few files.") }
        var numbers = SeededNumbers(seed: 6_000)
        return starts.shuffled(using: &numbers).prefix(count).map { start in
            files[start].size...files[start + SizeQueries.resultCount - 1].size
        }
    }
}
