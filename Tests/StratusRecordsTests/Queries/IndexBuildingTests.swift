// Indexes that are filled and cleared on one thread while others save and delete the records.

import Foundation
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Indexes under concurrent writes")
struct IndexBuildingTests {
    private static let names = (0..<60).map { RecordName("r\($0)") }
    private static let id = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "zone")

    @Test("indexes that are filled and cleared while two threads write match the records exactly")
    func besideWriters() async throws {
        let random = SplitMix64.announced("indexes beside writers")
        try await TestThreads.offPool {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("i-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            let store = try LevelDBStore.open(at: path)
            defer { store.close() }
            let engine = try Self.engine(on: store, random)
            let finished = Locked(0)
            try TestThreads.run(3) { index in
                var dice = QueryDice(random: random.generator(forCase: index + 1))
                guard index == 2 else {
                    // Each name has one writer, so that the writers' saves never depend on each other.
                    let names = Self.names.enumerated().filter { $0.offset % 2 == index }.map(\.element)
                    for tick in 0..<80 { try Self.write(names, tick, &dice, to: engine) }
                    finished.withLock { $0 += 1 }
                    return
                }
                while finished.value < 2 {
                    try Self.changeIndexes(&dice, in: engine)
                    try engine.buildIndexes(pause: {})
                }
            }
            // After the last change there is at least one more, without concurrent threads.
            var dice = QueryDice(random: random.generator(forCase: 4))
            try Self.changeIndexes(&dice, in: engine)
            let halfWay = try engine.buildIndexes(pause: {}, shouldContinue: { $0.commits < 2 })
            #expect(halfWay.commits <= 2)
            #expect(try engine.verify().isClean)
            try engine.buildIndexes(pause: {})
            let report = try engine.verify()
            #expect(report.isClean, "\(report.findings)")
        }
    }

    @Test("after a type's indexes have changed, each reader and transaction gets those of its own moment")
    func read() async throws {
        try await TestThreads.offPool {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("i-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            let store = try LevelDBStore.open(at: path)
            defer { store.close() }
            let engine = try Self.engine(on: store, SplitMix64(seed: 8))
            func fields(_ reader: RecordReader) throws -> Set<FieldKey> {
                Set(try reader.existingZone(Self.id).queryIndexes(of: "Thing").fields.keys)
            }
            let record = RecordMutation.save(Record(name: "a", type: "Thing"))
            var request = MutationRequest([record], stamp: Self.stamp(1), tagSalt: 1)
            request.queryIndexes["Thing"] = ["old": [.values]]
            let first = request
            try engine.transact { try $0.apply(first, in: Self.id) }
            for _ in 0..<3 { #expect(try engine.read { try fields($0) } == ["old"]) }
            try engine.read { older in
                try engine.transact { transaction in
                    let before = try fields(transaction)
                    #expect(before == ["old"])
                    request.queryIndexes["Thing"] = ["old": [.values], "new": [.values]]
                    let second = request
                    try transaction.apply(second, in: Self.id)
                    let after = try fields(transaction)
                    #expect(after == ["old", "new"])
                }
                let asBefore = try fields(older)
                #expect(asBefore == ["old"])
            }
            #expect(try engine.read { try fields($0) } == ["old", "new"])
            #expect(try engine.transact { try fields($0) } == ["old", "new"])
        }
    }

    @Test("building indexes rests after batches beside which others wrote, and on a shared store after all")
    func rests() throws {
        let alone = try Self.restCounts(on: MemoryStore())
        #expect(alone.map(\.rests) == [0, 1])
        let shared = try Self.restCounts(on: TripStore())
        #expect(shared.allSatisfy { $0.rests == $0.batches })
    }

    /// How often building rests if nobody else writes, and if somebody does once; and its batches.
    private static func restCounts(on store: any OrderedStore) throws -> [(rests: Int, batches: Int)] {
        let random = SplitMix64(seed: 7)
        let engine = try Self.engine(on: store, random)
        let records = (0..<20).map { RecordMutation.save(Record(name: RecordName("\($0)"), type: "Thing")) }
        try engine.transact { try $0.apply(MutationRequest(records, stamp: Self.stamp(1), tagSalt: 1), in: Self.id) }
        func restCount(_ field: FieldKey, writingAfter writes: Int) throws -> (rests: Int, batches: Int) {
            try engine.transact { transaction in
                let zone = try transaction.existingZone(Self.id)
                try transaction.setQueryIndexes([field: [.values, .missing]], of: "Thing", in: zone)
            }
            var rests = 0
            let progress = try engine.buildIndexes(pause: {}, rest: { rests += $0 > 0 ? 1 : 0 }) { progress in
                if progress.commits == writes {
                    let request = MutationRequest([records[0]], stamp: Self.stamp(2), tagSalt: 2)
                    _ = try? engine.transact { try $0.apply(request, in: Self.id) }
                }
                return true
            }
            #expect(progress.commits > 5)
            return (rests, progress.commits)
        }
        return [try restCount("a", writingAfter: -1), try restCount("b", writingAfter: 2)]
    }

    private static func engine(on store: any OrderedStore, _ random: SplitMix64) throws -> RecordEngine {
        var random = random
        var options = RecordEngineOptions()
        options.limits.indexBatchCount = 4
        let engine = try RecordEngine(store: store, options: options, incarnation: random.uuid())
        let birth = ZoneBirth(
            identity: random.uuid(), incarnation: random.uuid(), stamp: stamp(0), databaseIdentity: random.uuid())
        try engine.transact { _ = try $0.createZone(id, birth) }
        return engine
    }

    private static func stamp(_ tick: Int) -> Stamp {
        Stamp(date: Date(timeIntervalSinceReferenceDate: Double(tick)), user: "alice")
    }

    private static func write(
        _ names: [RecordName], _ tick: Int, _ dice: inout QueryDice, to engine: RecordEngine
    ) throws {
        var request = MutationRequest([], stamp: stamp(tick), tagSalt: UInt32(tick))
        for name in names where dice.random.isOne(in: 4) {
            if dice.random.isOne(in: 5) {
                request.mutations.append(.delete(name))
            } else {
                var record = dice.record(name)
                // A record keeps its type.
                record.type = name.text.hasSuffix("1") ? "Other" : "Thing"
                request.mutations.append(.save(record))
            }
        }
        let sent = request
        try engine.transact { try $0.apply(sent, in: id) }
    }

    private static func changeIndexes(_ dice: inout QueryDice, in engine: RecordEngine) throws {
        for type in ["Thing", "Other"] as [RecordType] {
            let wanted = dice.indexes()
            try engine.transact { transaction in
                try transaction.setQueryIndexes(wanted, of: type, in: try transaction.existingZone(id))
            }
        }
    }
}
