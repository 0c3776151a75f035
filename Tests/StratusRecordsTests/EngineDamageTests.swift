// Damage and chance meetings that an engine must meet with an error, never with a wrong answer.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("Engine: damage and randomness")
struct EngineDamageTests {
    private static func birth() -> ZoneBirth {
        ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
    }

    @Test("a store that lost the counter of its databases gives no number twice")
    func lostGlobalHeader() throws {
        let sample = try SampleZone.filled()
        try sample.plant(nil, at: GlobalKeys.header())
        #expect(try sample.engine.verify().missingCount == 1)
        let other = ZoneID(database: DatabaseID(container: "c", owner: "bob", scope: .private), name: "z")
        let error = #expect(throws: StoreError.self) {
            try sample.engine.transact { try $0.createZone(other, Self.birth()) }
        }
        #expect(error?.code == .corruption)
    }

    @Test("a purge of history ends when its zone is deleted and recreated meanwhile")
    func purgeAcrossZones() throws {
        let sample = try SampleZone()
        try sample.apply(.save("a"), .save("b"), .save("c"))
        try sample.apply(.delete("a"), .delete("b"), .delete("c"))
        var calls = 0
        let error = #expect(throws: StoreError.self) {
            _ = try sample.engine.purgeHistory(of: sample.id, upTo: 6) { _ in
                calls += 1
                guard calls == 2 else { return true }
                do {
                    try sample.engine.transact { transaction in
                        try transaction.deleteZone(sample.id)
                        try transaction.createZone(sample.id, Self.birth())
                    }
                } catch { Issue.record(error) }
                return true
            }
        }
        #expect(error?.code == .unknownZone)
        #expect(try sample.engine.verify().isClean)
    }

    @Test("a record below one that never existed is damage in the past, in whatever order they are asked for")
    func missingAbove() throws {
        let sample = try SampleZone()
        try sample.apply(.save("child"))
        try sample.apply(.save("other"))
        let keys = try sample.keys()
        try sample.plant(ParentEntry(parent: "ghost", parentSince: 1).encoded(), at: keys.parent(of: "child"))
        for asksForGhostFirst in [false, true] {
            let error = #expect(throws: StoreError.self) {
                try sample.engine.read { reader in
                    let zone = try reader.existingZone(sample.id)
                    let history = ZoneHistory(zone, now: try zone.header().sequence)
                    if asksForGhostFirst { #expect(try history.membership("ghost", at: 1) == .absent) }
                    _ = try history.membership("child", at: 1)
                }
            }
            #expect(error?.code == .corruption)
        }
    }

    @Test("a count of share roots that is only possible by damage is corruption", arguments: [UInt64.max, 1 << 63, 0])
    func damagedCount(count: UInt64) throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        try sample.plant(CountEntry(count: count).encoded(), at: zone.shareCount(parent: nil, name: "top"))
        #expect(try !sample.engine.verify().isClean)
        let error = #expect(throws: StoreError.self) { try sample.apply(.save("shared", under: "top")) }
        #expect(error?.code == .corruption)
    }

    @Test("a reference to an empty or overlong name is a bad request that names the field")
    func referenceLimits() throws {
        let sample = try SampleZone()
        for target in ["", String(repeating: "t", count: 3_000)] {
            let field = Field(.reference(RecordReference(target: RecordName(target), action: .none)))
            let error = #expect(throws: StoreError.self) {
                try sample.apply(.save(Record(name: "a", type: "T", fields: ["link": field])))
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.fields["role"] == "reference in link")
        }
    }

    @Test("renewing incarnations gives every zone a new one and does not change the records")
    func renewedIncarnations() throws {
        let sample = try SampleZone.filled()
        let before = try sample.engine.read { try $0.existingZone(sample.id).header() }
        #expect(try sample.engine.renewIncarnations { UUID() } == 1)
        var after = try sample.engine.read { try $0.existingZone(sample.id).header() }
        #expect(after.incarnation != before.incarnation)
        after.incarnation = before.incarnation
        #expect(after == before)
        #expect(try sample.engine.verify().isClean)
    }
}
