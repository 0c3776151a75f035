// Records that are read repeatedly on LevelDB, where the store caches them decoded: reads return the last written
// version, in every selection of fields, and count as one read.

import FoundationEssentials
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("decoded records in the store's cache")
struct DecodedRecordTests {
    private static let names: [RecordName] = ["a", "b", "c", "d"]

    @Test("return the last written version, whole and in part, during overwrites, deletions and splits")
    func areNeverOld() async throws {
        try await TestThreads.offPool {
            let (engine, place) = try Self.engine()
            defer {
                engine.store.close()
                place.remove()
            }
            var random = SplitMix64(seed: 11)
            var model: [RecordName: Record] = [:]
            for step in 0..<120 {
                let name = Self.names[Int.random(in: 0..<Self.names.count, using: &random)]
                var mutation = RecordMutation.delete(name)
                model[name] = nil
                if !step.isMultiple(of: 5) {
                    let large = Field(.bytes([UInt8](repeating: 7, count: step % 7 == 3 ? 101_000 : 20)))
                    let record = Record(
                        name: name, type: "Note", fields: ["n": Field(.int64(Int64(step))), "large": large])
                    mutation = .save(record)
                    model[name] = record
                }
                try engine.transact { transaction in
                    try Self.check(transaction.existingZone(Self.id), against: nil)
                    let request = MutationRequest([mutation], stamp: SampleZone.stamp, tagSalt: 7)
                    _ = try transaction.apply(request, in: Self.id)
                    try Self.check(transaction.existingZone(Self.id), against: model)
                }
                for _ in 0..<3 { try engine.read { try Self.check($0.existingZone(Self.id), against: model) } }
            }
        }
    }

    @Test("cost one counted read like any other")
    func cost() async throws {
        try await TestThreads.offPool {
            let (engine, place) = try Self.engine()
            defer {
                engine.store.close()
                place.remove()
            }
            let request = MutationRequest(
                [.save(Record(name: "a", type: "Note"))], stamp: SampleZone.stamp, tagSalt: 7)
            _ = try engine.transact { try $0.apply(request, in: Self.id) }
            let costs = try (0..<4).map { _ in
                try engine.read { reader in
                    let zone = try reader.existingZone(Self.id)
                    let before = reader.store.cost
                    #expect(try zone.record("a") != nil)
                    return reader.store.cost - before
                }
            }
            #expect(costs.allSatisfy { $0.pointReads == 1 && $0.seeks == 0 })
        }
    }

    private static let id = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "sample")

    private static func engine() throws -> (RecordEngine, LevelDBHistoryPlace) {
        var options = LevelDBOptions()
        options.syncsCommits = false
        let place = try LevelDBHistoryPlace(options)
        let engine = try RecordEngine(store: place.open(), incarnation: UUID())
        let birth = ZoneBirth(
            identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try engine.transact { _ = try $0.createZone(id, birth) }
        return (engine, place)
    }

    /// Reads all names in every way; without a model only the reading counts.
    private static func check(_ zone: ZoneReader, against model: [RecordName: Record]?) throws {
        for name in names {
            let whole = try zone.record(name)?.record
            let bare = try zone.record(name, fields: .none)?.record
            let part = try zone.record(name, fields: .only(["n", "other"]))?.record
            let tested = try zone.record(name, testing: ["n"], likely: false, fields: .all) { stored in
                stored.record.fields["n"] != nil
            }
            let refused = try zone.record(name, testing: ["n"], likely: true, fields: .all) { _ in false }
            guard let model else { continue }
            let expected = model[name]
            #expect(whole == expected)
            #expect(tested?.stored.record == expected)
            #expect(refused == nil)
            #expect(bare?.name == expected?.name)
            #expect(bare?.fields.isEmpty ?? true)
            #expect(part?.fields.map(\.value) == expected?.fields["n"].map { [$0] })
        }
    }
}
