// F1: load through the face, 400 records a commit. F3: save one record, by 1, 8 and 64 callers at once. F4: fetch a
// record, change a field, save it. Beside them GRDB with `Codable` records, the request below the face, and for the
// load a bare LevelDB that writes the same entries. Making records, requests and rows is in nobody's time but F4's.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusWorkloads

enum FaceLoadWorkload: FaceWorkload {
    static let name = "F1"
    static let title = "load through the face, 400 a durable commit"
    private static let zoneBelow = ZoneAddress(zoneName: "below")

    /// Work in the background comes in bursts, which a median leaves out: the processor time is that of all rounds.
    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        try bench.face.createZone(zoneBelow.zoneName)
        let plain = try NotesPeer(path: bench.folder + "/plain.db", hasFieldIndexes: false)
        defer { try? plain.close() }
        let raw = try RawLoad(bench)
        defer { raw.close() }
        // The raw store is the last in the first round: it writes what the face has made the zone need.
        let costs = try FaceRounds.costs(
            rounds: Stopwatch.roundCount, warmsUp: false, rests: true,
            [
                face(bench), below(bench), grdb(bench, bench.notes), grdb(bench, plain),
                FaceContestant { round in
                    let writes = try raw.writes(records(bench, round))
                    return {
                        try raw.write(writes)
                        return count(bench, round)
                    }
                },
            ])
        bench.didLoad()
        let means = costs.map { ItemCost(seconds: $0.median.seconds, processor: $0.meanProcessor) }
        let subject = "a record of \(Figure.text(Double(bench.data.count)))"
        run.add(
            name, subject, means[0], against: "\(NotesPeer.title), the same indexes", means[2],
            processor: .atLeast(2.3))
        run.add(name, subject, means[0], against: "\(NotesPeer.title), fields not indexed", means[3])
        run.add(name, subject, means[0], against: "raw LevelDB", means[4], processor: .atMost(1.6))
        run.add(name, subject, means[0], against: "below the face", means[1])
    }

    /// The commits of a round, as indices of records.
    private static func batches(_ bench: FaceBench, _ round: Int) -> [Range<Int>] {
        let perRound = bench.data.count / Stopwatch.roundCount
        return RecordBatches.indices(round * perRound..<(round + 1) * perRound)
    }

    private static func count(_ bench: FaceBench, _ round: Int) -> Int {
        batches(bench, round).reduce(0) { $0 + $1.count }
    }

    private static func records(_ bench: FaceBench, _ round: Int) -> [[Record]] {
        batches(bench, round).map { $0.map { bench.data.record($0) } }
    }

    private static func face(_ bench: FaceBench) -> FaceContestant {
        FaceContestant { round in
            let (client, commits) = (bench.client, batches(bench, round).map { bench.clientRecords($0) })
            return {
                try FaceWait.run { for commit in commits { try await client.save(commit) } }
                try bench.waitForLevelZero()
                return count(bench, round)
            }
        }
    }

    private static func below(_ bench: FaceBench) -> FaceContestant {
        FaceContestant { round in
            let (below, commits) = (bench.below, batches(bench, round).map { bench.saves($0, in: zoneBelow) })
            return {
                for commit in commits { try below.modify(commit) }
                try bench.waitForLevelZero()
                return count(bench, round)
            }
        }
    }

    private static func grdb(_ bench: FaceBench, _ notes: NotesPeer) -> FaceContestant {
        FaceContestant { round in
            let commits = batches(bench, round).map { bench.rows($0) }
            return {
                try FaceWait.run { for commit in commits { try await notes.insert(commit) } }
                return count(bench, round)
            }
        }
    }

    /// A bare LevelDB, and a store of its own that says which entries records have with the indexes of the face's zone.
    private final class RawLoad {
        typealias Writes = [[(key: [UInt8], value: [UInt8]?)]]

        private let bench: FaceBench
        private let raw: RawLevelDBPeer
        private let plans: StratusSide
        private var wanted: [RecordType: [FieldKey: QueryIndexKinds]] = [:]

        init(_ bench: FaceBench) throws {
            self.bench = bench
            raw = try RawLevelDBPeer(path: bench.folder + "/leveldb")
            plans = try StratusSide(at: bench.folder + "/plans")
            try plans.createZone(StratusSide.mainZone)
        }

        /// What commits of records write. The process rests afterwards.
        func writes(_ commits: [[Record]]) throws -> Writes {
            if wanted.isEmpty { wanted = try indexesOfFace() }
            let writes = try commits.map { records in
                var request = MutationRequest(records.map { .save($0) }, stamp: DataClock.stamp, tagSalt: 7)
                request.queryIndexes = wanted
                let planned = request
                let plan = try plans.engine.transact { try $0.apply(planned, in: StratusSide.mainZone) }
                return plan.mutations.pairs
            }
            ProcessRest.wait()
            return writes
        }

        func write(_ writes: Writes) throws {
            for commit in writes { try raw.write(commit) }
            raw.waitForLevelZero()
        }

        func close() {
            raw.close()
            plans.close()
            for name in ["/leveldb", "/plans"] { try? FileManager.default.removeItem(atPath: bench.folder + name) }
        }

        /// The indexes that the face's zone has after its first commits.
        private func indexesOfFace() throws -> [RecordType: [FieldKey: QueryIndexKinds]] {
            let id = bench.face.zoneID(FaceBench.zoneName)
            return try bench.face.service.engine.read { reader in
                let zone = try reader.existingZone(id)
                var indexes: [RecordType: [FieldKey: QueryIndexKinds]] = [:]
                for type in [RecordType("File"), RecordType("Folder")] {
                    let fields = try zone.queryIndexes(of: type).fields.mapValues(\.kinds)
                    guard !fields.isEmpty else { throw PeerError("The face's zone has no indexes.") }
                    indexes[type] = fields
                }
                return indexes
            }
        }
    }
}

enum FaceSaveWorkload: FaceWorkload {
    static let name = "F3"
    static let title = "save one record through the face, by callers at once"

    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        try bench.load()
        try bench.reopen()
        for callerCount in [1, 8, 64] {
            let saves = Saves(bench, callerCount, isQuick: run.scale.isQuick)
            let costs = try FaceRounds.costs(
                rounds: Stopwatch.roundCount, rests: true, [saves.face, saves.below, saves.grdb]
            ).map(\.median)
            let subject = callerCount == 1 ? "a save, 1 caller" : "a save, \(callerCount) callers"
            let bars: [Int: Bar] = [1: .atLeast(1.5), 64: .atLeast(2.5)]
            run.add(
                name, subject, costs[0], against: "\(NotesPeer.title), the same indexes", costs[2],
                processor: bars[callerCount] ?? Bar.none)
            run.add(name, subject, costs[0], against: "below the face", costs[1])
        }
    }

    /// New records, saved one by one.
    private struct Saves {
        let bench: FaceBench
        let callerCount: Int
        /// Saves of each caller in a round.
        let countEach: Int
        /// The same of GRDB, where each save has a sync of its own.
        let grdbCountEach: Int

        init(_ bench: FaceBench, _ callerCount: Int, isQuick: Bool) {
            self.bench = bench
            self.callerCount = callerCount
            let most = callerCount == 1 ? 400 : callerCount == 8 ? 100 : 50
            countEach = isQuick ? most / 4 : most
            grdbCountEach = max(4, countEach / 4)
        }

        private func lists<Item>(_ count: Int, _ make: (NumberSource.Item) -> Item) -> [[Item]] {
            (0..<callerCount).map { _ in (0..<count).map { _ in make(bench.numbers.next()) } }
        }

        var face: FaceContestant {
            FaceContestant { _ in
                let client = bench.client
                let records = lists(countEach) { FaceSide.clientRecord($0.record, client.zone) }
                return {
                    try FaceWait.run(lists: records) { try await client.save($0) }
                    return callerCount * countEach
                }
            }
        }

        /// Requests block their callers, so every caller is a thread.
        var below: FaceContestant {
            FaceContestant { _ in
                let below = bench.below
                let saves = lists(countEach) { ServerSide.save($0.record.name, $0.content, in: below.zone) }
                    .flatMap { $0 }
                return {
                    _ = try Callers.rate(callerCount, timesEach: countEach) { try below.modify([saves[$0]]) }
                    return saves.count
                }
            }
        }

        var grdb: FaceContestant {
            FaceContestant { _ in
                let notes = bench.notes
                let rows = lists(grdbCountEach) {
                    NoteRow($0.record.name, $0.content, change: notes.nextChange())
                }
                return {
                    try FaceWait.run(lists: rows) { try await notes.insert([$0]) }
                    return callerCount * grdbCountEach
                }
            }
        }
    }
}

enum FaceEditWorkload: FaceWorkload {
    static let name = "F4"
    static let title = "fetch a record through the face, change a field, save it"
    private static let perRound = 20

    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws {
        try bench.load()
        try bench.reopen()
        let (client, below, notes) = (bench.client, bench.below, bench.notes)
        let comparison = FaceComparison<String>(
            workload: name, subject: "an edit", writes: true, face: { try await client.edit($0) },
            below: { try below.edit($0) }, grdb: { try await notes.edit($0) })
        let count = FaceComparison<String>.newCount(perRound: perRound)
        let names = bench.names(count, of: 1, seed: 4_000).map { $0[0] }
        try comparison.measure(run, names, perRound: perRound, passes: perRound)
    }
}
