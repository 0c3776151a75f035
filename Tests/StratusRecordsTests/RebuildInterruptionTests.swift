// A rebuild that is interrupted, by a fault or with its process: its indexes must not be taken for complete ones.

import FoundationEssentials
import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Interrupted rebuilds")
struct RebuildInterruptionTests {
    private let sample: SampleZone
    private let keys: ZoneKeys

    init() throws {
        sample = try SampleZone.filled()
        keys = try sample.keys()
    }

    private func engine(on store: any OrderedStore) throws -> RecordEngine {
        try RecordEngine(store: store, incarnation: UUID())
    }

    @Test("a rebuild that ends at any of its commits leaves a zone that refuses requests until it is rebuilt")
    func everyCommit() throws {
        let counting = FaultInjectingStore(try sample.copied())
        try engine(on: counting).rebuild(sample.id, incarnation: UUID())
        let count = counting.count(of: .commitApplied)
        #expect(count > 15)
        for point in [FaultPoint.commitNotApplied, .commitApplied] {
            for occurrence in 1...count {
                // The first commit marks the zone, the last one removes the mark.
                let isWhole = occurrence == (point == .commitApplied ? count : 1)
                try interrupt(Fault(point, at: occurrence, FaultSweep.defaultError(at: point)), isWhole: isWhole)
            }
        }
    }

    private func interrupt(_ fault: Fault, isWhole: Bool) throws {
        let bare = try sample.copied()
        let store = FaultInjectingStore(bare)
        let first = try engine(on: store)
        store.arm(fault)
        let error = #expect(throws: StoreError.self) { try first.rebuild(sample.id, incarnation: UUID()) }
        #expect(error?.code.rawValue == fault.error.code.rawValue)
        try expectAnswers(of: first, isWhole: isWhole, "\(fault), same engine")
        let second = try engine(on: bare.reopened())
        try expectAnswers(of: second, isWhole: isWhole, "\(fault), opened again")
        #expect(try second.verify().isClean == isWhole, "\(fault)")
        try second.rebuild(sample.id, incarnation: UUID())
        let report = try second.verify()
        #expect(report.isClean, "\(fault): \(report.findings)")
        try expectAnswers(of: second, isWhole: true, "\(fault), rebuilt")
    }

    /// A second root above an existing one is refused for that if indexes are complete; otherwise nothing is judged.
    private func expectAnswers(of engine: RecordEngine, isWhole: Bool, _ situation: String) throws {
        let second = RecordMutation.save("top", share: "Second")
        let conflict = ShareConflict(place: .below, root: "shared", share: "Share-1")
        #expect(
            refusal(of: second, engine) == (isWhole ? "top: \(Refusal.alreadyShared(conflict))" : "rebuilding"),
            "\(situation)")
        if !isWhole { #expect(refusal(of: .save("new"), engine) == "rebuilding", "\(situation)") }
    }

    private func refusal(of mutation: RecordMutation, _ engine: RecordEngine) -> String {
        do {
            let request = MutationRequest([mutation], stamp: SampleZone.stamp, tagSalt: 7)
            try engine.transact { [sample] in try $0.apply(request, in: sample.id) }
            return "accepted"
        } catch let refused as RequestRefused {
            return refused.refusals.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        } catch let error as StoreError {
            return error.code.rawValue
        } catch {
            return "\(error)"
        }
    }

    /// A store in which a rebuild was interrupted half way.
    private func interruptedStore() throws -> MemoryStore {
        let bare = try sample.copied()
        let store = FaultInjectingStore(bare)
        let engine = try engine(on: store)
        store.arm(Fault(.commitNotApplied, at: 12, FaultSweep.defaultError(at: .commitNotApplied)))
        #expect(throws: StoreError.self) { try engine.rebuild(sample.id, incarnation: UUID()) }
        return bare.reopened()
    }

    @Test("the refusal after an interrupted rebuild says to rebuild again, and verification names the zone")
    func saysHowToMend() throws {
        let engine = try engine(on: interruptedStore())
        let request = MutationRequest([.save("new")], stamp: SampleZone.stamp, tagSalt: 7)
        let error = #expect(throws: StoreError.self) {
            try engine.transact { [sample] in try $0.plan(request, in: sample.id) }
        }
        #expect(error?.code == .rebuilding)
        #expect(error?.message.contains("rebuild them again") == true)
        let key = GlobalKeys.zone(keys.database, keys.zone, in: .rebuilds)
        #expect(try engine.verify().findings.contains { $0.place == KeyDescription.text(of: key) })
    }

    @Test("during a rebuild, only the zone that is rebuilt refuses requests")
    func otherZones() throws {
        let engine = sample.engine
        let other = ZoneID(database: sample.id.database, name: "other")
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try engine.transact { try $0.createZone(other, birth) }
        var answers: [String] = []
        try engine.rebuild(sample.id, incarnation: UUID()) { _ in
            answers.append(refusal(of: .save("new"), engine))
            let request = MutationRequest([.save("new")], stamp: SampleZone.stamp, tagSalt: 7)
            do { try engine.transact { try $0.apply(request, in: other) } } catch { answers.append("\(error)") }
        }
        #expect(!answers.isEmpty, "\(answers)")
        #expect(answers.allSatisfy { $0 == "rebuilding" }, "\(answers)")
        #expect(refusal(of: .save("new"), engine) == "accepted")
    }

    @Test("deleting a zone deletes its mark, and a zone recreated under its name accepts requests")
    func deletedZone() throws {
        let store = try interruptedStore()
        let engine = try engine(on: store)
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try engine.transact { transaction in
            try transaction.deleteZone(sample.id)
            try transaction.createZone(sample.id, birth)
        }
        #expect(refusal(of: .save("new"), engine) == "accepted")
        #expect(try engine.verify().isClean)
        let keys = try store.read { reader in
            var count = 0
            try reader.scan(GlobalKeys.keyspace(.rebuilds)) { _, _ in
                count += 1
                return .next
            }
            return count
        }
        #expect(keys == 0)
    }

    @Test("a mark of a missing zone is found")
    func danglingMark() throws {
        let key = GlobalKeys.zone(DatabaseNumber(1), ZoneNumber(77), in: .rebuilds)
        try sample.plant(ZoneIdentityEntry(identity: UUID()).encoded(), at: key)
        #expect(try sample.engine.verify().danglingCount == 1)
    }
}
