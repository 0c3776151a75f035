// Deleting a zone with shares, or the account of their owner: nothing remains outside the zone, whatever happens
// meanwhile.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("shares of deleted zones")
struct ShareReleaseTests {
    private static let notes = ReleaseBench.notes
    private static let photos = ReleaseBench.photos

    /// A town with one zone with a number of shares, each with two acceptances and two URLs.
    private static func town(
        shareCount: Int, in zone: ZoneAddress = notes, on store: any OrderedStore = MemoryStore(),
        batchCount: Int = 1_000
    ) throws -> ShareStage {
        let town = try ShareStage(on: store, batchCount: batchCount)
        try town.bench.makeZone(zone)
        try fill(town, zone, shareCount: shareCount, from: 100)
        return town
    }

    private static func fill(_ town: ShareStage, _ zone: ZoneAddress, shareCount: Int, from number: Int) throws {
        for index in 0..<shareCount {
            let root = RecordName("root-\(index)")
            let content = town.fullContent(root: root, number + index * 10)
            try town.write(content, RecordName("Share-\(index)"), in: zone)
        }
    }

    @Test(
        "[Z-04] deleting a zone costs the same with 1 share and with 300, and leaves nothing of them outside it"
    )
    func cost() async throws {
        let costs = try await TestThreads.offPool {
            try [1, 300].map { count in
                let town = try Self.town(shareCount: count)
                guard try town.outside().count == 4 * count, try town.problems().isEmpty else {
                    throw ConformanceFailure("\(try town.problems())")
                }
                let before = town.engine.store.statistics
                try town.bench.deleteZone(Self.notes)
                var cost = town.engine.store.statistics.cost - before.cost
                cost.bytesWritten = 0
                try town.bench.upkeep()
                guard try town.outside().isEmpty, try town.problems().isEmpty else {
                    throw ConformanceFailure("\(try town.problems())")
                }
                return cost
            }
        }
        #expect(costs[0] == costs[1])
        #expect(costs[0].reads < 60)
    }

    @Test("entries outside the zone are deleted in batches, and every verifier passes before, between and after")
    func batches() throws {
        let town = try Self.town(
            shareCount: 20, on: MemoryStore(runsBodiesTwice: true), batchCount: 12)
        try town.bench.makeZone(Self.photos)
        try Self.fill(town, Self.photos, shareCount: 2, from: 5_000)
        try town.bench.deleteZone(Self.notes)
        var problems = try town.problems()
        var counts = [try town.outside().count]
        let progress = try town.bench.release(rest: {
            counts.append((try? town.outside().count) ?? -1)
            problems += (try? town.problems()) ?? ["cannot be verified"]
        })
        #expect(problems == [])
        #expect(counts.prefix(8) == [88, 76, 64, 52, 40, 28, 16, 8])
        #expect(progress.shareEntriesDeleted == 80)
        #expect(progress.zonesFinished == 1)
        // The other zone keeps its own.
        #expect(try town.outside().count == 8)
        #expect(try town.bench.release() == AssetReleaseProgress())
        try town.bench.upkeep()
        #expect(try town.problems() == [])
    }

    @Test("if the process ends at any point of the release, the next one finishes it")
    func crashes() throws {
        for stopAfter in 0...9 {
            let store = MemoryStore()
            let town = try Self.town(shareCount: 6, on: store, batchCount: 5)
            try town.bench.save(0..<7, in: Self.notes)
            try town.bench.deleteZone(Self.notes)
            var asked = 0
            try town.bench.upkeep {
                asked += 1
                return asked <= stopAfter
            }
            let next = try town.next(on: store.reopened(), batchCount: 4)
            #expect(try next.problems() == [], "after \(stopAfter)")
            try next.bench.upkeep()
            #expect(try next.outside().isEmpty, "after \(stopAfter)")
            #expect(try next.bench.heldCount() == 0, "after \(stopAfter)")
            #expect(try next.engine.read { try $0.releases() }.isEmpty, "after \(stopAfter)")
            #expect(try next.problems() == [], "after \(stopAfter)")
        }
    }

    @Test("if any read or write fails during a release, resuming leaves nothing")
    func faults() throws {
        let current = Locked<ShareStage?>(nil)
        let report = try FaultSweep.run(
            makeStore: {
                let store = MemoryStore()
                let town = try Self.town(shareCount: 2, on: store, batchCount: 3)
                try town.bench.deleteZone(Self.notes)
                current.withLock { $0 = town }
                return store
            },
            scenario: { store in
                guard let town = current.value else { return }
                try town.next(on: store, batchCount: 3).bench.upkeep()
            },
            verify: { store, fault, thrown in
                guard let town = current.value, thrown != nil else {
                    throw ConformanceFailure("no error came of \(fault)")
                }
                let next = try town.next(on: store, batchCount: 3)
                var problems = try next.problems()
                try next.bench.upkeep()
                problems += try next.problems()
                guard problems.isEmpty, try next.outside().isEmpty else {
                    throw ConformanceFailure("after \(fault): \(problems)")
                }
            })
        #expect(report.runCounts[.commitApplied, default: 0] > 3)
    }

    @Test("a zone recreated under the same name, with shares of the same names, keeps its own")
    func sameName() throws {
        let town = try Self.town(shareCount: 4, batchCount: 3)
        try town.bench.deleteZone(Self.notes)
        try town.bench.makeZone(Self.notes)
        try Self.fill(town, Self.notes, shareCount: 3, from: 9_000)
        let own = try town.outside().filter { entry in
            try town.place("Share-0").zoneIdentity == Self.identity(of: entry)
        }
        #expect(own.count == 12)
        try town.bench.upkeep()
        #expect(try town.outside() == own)
        #expect(try town.problems() == [])
    }

    private static func identity(of entry: (key: [UInt8], value: [UInt8])) throws -> UUID {
        if GlobalKeys.keyspace(.acceptances).contains(entry.key) {
            return try GlobalKeys.readAcceptanceKey(entry.key.span).zone
        }
        return try ShareURLEntry(decoding: entry.value.span).zoneIdentity
    }

    @Test("purging a zone, and a zone whose shares were all stopped, leave nothing either")
    func otherDeletions() throws {
        let town = try Self.town(shareCount: 2)
        try town.bench.makeZone(Self.photos)
        try Self.fill(town, Self.photos, shareCount: 2, from: 5_000)
        for index in 0..<2 { try town.write(nil, RecordName("Share-\(index)"), in: Self.photos) }
        #expect(try town.outside().count == 8)
        #expect(try town.problems() == [])
        try town.bench.deleteZone(Self.photos)
        // Nothing is to be released if no share is left.
        #expect(try town.engine.read { try $0.releases() }.isEmpty)
        try town.bench.service.purgeZone(
            Self.notes, of: town.alice.id, in: ReleaseBench.container, reason: .purged)
        #expect(try town.engine.read { try $0.releases() }.count == 1)
        try town.bench.upkeep()
        #expect(try town.outside().isEmpty)
        #expect(try town.problems() == [])
    }

    @Test("an unreadable share prevents the purge of its zone, and is reported; the others are released")
    func damage() throws {
        let town = try Self.town(shareCount: 2)
        try town.bench.makeZone(Self.photos)
        try Self.fill(town, Self.photos, shareCount: 2, from: 5_000)
        let zone = try town.engine.read { try $0.existingZone(town.zoneID()).keys }
        let record = try town.engine.read { try $0.store.value(forKey: zone.record("Share-1")) }
        let sound = try #require(record)
        var damaged = sound
        let place = try #require(sound.indices.last { sound[$0...].starts(with: Array("one-".utf8)) })
        damaged[place - 1] ^= 0x40
        try town.plant(damaged, at: zone.record("Share-1"))
        for address in [Self.notes, Self.photos] { try town.bench.deleteZone(address) }
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try town.bench.upkeep() }
            #expect(error?.code == .corruption)
            #expect(try town.engine.read { try $0.releases() }.count == 1)
        }
        // What is dead is dead, but not dangling while its zone is to be released.
        #expect(try ShareVerifier(engine: town.bench.service.engine).verify().findings == [])
        try town.plant(sound, at: zone.record("Share-1"))
        try town.bench.upkeep()
        #expect(try town.outside().isEmpty)
    }

    @Test("deleting an account deletes its shares, also those of a zone whose release was interrupted")
    func departure() throws {
        for stopAfter in [0, 1, 3] {
            let town = try Self.town(shareCount: 5, batchCount: 3)
            try town.bench.makeZone(Self.photos)
            try Self.fill(town, Self.photos, shareCount: 3, from: 5_000)
            try town.bench.deleteZone(Self.notes)
            var asked = 0
            try town.bench.release(shouldContinue: {
                asked += 1
                return asked <= stopAfter
            })
            try town.bench.service.deleteAccount(town.alice.id)
            #expect(try town.outside().isEmpty)
            #expect(try town.problems() == [])
            #expect(try town.bench.service.finishDepartures() == 0)
            #expect(try town.problems() == [])
        }
    }

    @Test("[P-13] deleting an account leaves the shares it takes part in, and affects no other participant")
    func leaving() throws {
        let town = try Self.town(shareCount: 3)
        let before = try #require(try town.stored("Share-1"))
        try town.bench.service.deleteAccount(town.bob.id)
        for index in 0..<3 {
            let content = try #require(try town.stored(RecordName("Share-\(index)")))
            #expect(content.participants.map(\.user) == [town.alice.userName, town.carol.userName, nil])
        }
        var after = try #require(try town.stored("Share-1"))
        after.participants.insert(before.participants[1], at: 1)
        #expect(after == before)
        #expect(try town.outside().count == 9)
        #expect(try town.problems() == [])
        // The zone remembers, for feeds and for its owner, that he saw the shares and left them.
        let (ended, events) = try town.engine.read { reader in
            let zone = try reader.existingZone(town.zoneID())
            var ended: [RecordName] = []
            try zone.store.scan(zone.keys.endedAcceptances(of: town.bob.userName)) { key, _ in
                ended.append(try zone.keys.readEndedAcceptanceKey(key).share)
                return .next
            }
            var events: [ShareTrailEvent] = []
            try zone.store.scan(zone.keys.keyspace(.shareEvents)) { _, value in
                events.append(try ShareEventEntry(decoding: value).event)
                return .next
            }
            return (ended, events)
        }
        #expect(ended == ["Share-0", "Share-1", "Share-2"])
        #expect(events.map(\.kind) == [.left, .left, .left])
        #expect(events.allSatisfy { $0.actor == town.bob.userName && $0.user == town.bob.userName })
        #expect(try town.bench.service.finishDepartures() == 0)
        #expect(try town.problems() == [])
    }

    @Test("if anything fails during the deletion of an account, it has left every share in the end, once")
    func leavingFaults() throws {
        let current = Locked<ShareStage?>(nil)
        let report = try FaultSweep.run(
            makeStore: {
                let store = MemoryStore()
                let town = try Self.town(shareCount: 2, on: store)
                current.withLock { $0 = town }
                return store
            },
            scenario: { store in
                guard let town = current.value else { return }
                let service = try town.next(on: store).bench.service
                try service.deleteAccount(town.bob.id)
                guard try service.finishDepartures() == 0 else { throw ConformanceFailure("not finished") }
            },
            verify: { store, fault, thrown in
                guard let town = current.value, thrown != nil else {
                    throw ConformanceFailure("no error came of \(fault)")
                }
                // Bob comes back as a new account if his account is gone, and is left alone if nothing has happened.
                let next = try town.next(on: store)
                var problems = try next.problems()
                if try next.bench.service.account(town.bob.id) != nil {
                    try next.bench.service.deleteAccount(town.bob.id)
                }
                guard try next.bench.service.finishDepartures() == 0 else { throw ConformanceFailure("not finished") }
                problems += try next.problems()
                let places = try (0..<2).map { try next.stored(RecordName("Share-\($0)"))?.participants.count }
                guard problems.isEmpty, places == [3, 3], try next.outside().count == 6 else {
                    throw ConformanceFailure("after \(fault): \(problems), \(places)")
                }
            })
        #expect(report.runCounts[.commitApplied, default: 0] > 3)
    }
}
