// Verifying a store whose snapshots end early, while four writers write into it: nothing false is reported, and what is
// really damaged is.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("verifying over many snapshots")
struct LongVerificationTests {
    private static let stillZone = ZoneAddress(zoneName: "Still")
    private static let recordCount = 160

    private let store: ShortSnapshotStore
    private let town: ShareTown
    private let writers: BusyWriters
    private var engine: RecordEngine { town.service.engine }

    /// Snapshots end after 60 reads; the store has some thousand entries.
    init() throws {
        store = ShortSnapshotStore(MemoryStore(), endingAfter: 60)
        town = try ShareTown(store: store)
        let bench = town.bench
        try town.share(with: [town.accepted(town.bob), town.accepted(town.carol, .readWrite)])
        try bench.register(town.alice, "phone")
        try bench.subscribe(.database("d"))
        for number in 0..<40 { try bench.save(.new("f\(number)", parent: number < 8 ? nil : "f\(number % 8)")) }
        try bench.makeZone(Self.stillZone, by: town.bob)
        for number in 0..<60 { try bench.save(.new("s\(number)", in: Self.stillZone), by: town.bob) }
        let image = try bench.file("image", [1, 2, 3])
        try bench.save(.new("picture", in: Self.stillZone, ["image": .asset(.file(path: image))]), by: town.bob)
        writers = BusyWriters(bench)
        for _ in 0..<Self.recordCount { try writers.step() }
    }

    /// The findings of all verifiers, as lines.
    private func findings() throws -> [String] {
        let assets = AssetVerifier(engine: engine, store: try #require(town.service.assets))
        return try engine.verify().findings.map { "\($0)" }
            + AccountVerifier(engine: engine).verify().findings.map { "\($0)" }
            + ShareVerifier(engine: engine).verify().findings.map { "\($0)" }
            + SubscriptionVerifier(engine: engine).verify().findings.map { "\($0)" }
            + assets.verifyCounts(addingTo: assets.verify(), owner: CloudService.assetOwner).findings.map { "\($0)" }
    }

    private func set(_ key: [UInt8], to value: [UInt8]?) throws {
        try store.transact { transaction in
            if let value { try transaction.set(key, to: value) } else { try transaction.delete(key) }
        }
    }

    @Test("nothing false is reported while writers write", arguments: [1, 3, 17])
    func clean(interval: Int) throws {
        let ended = store.endedSnapshotCount
        let before = writers.stepCount
        let found = try store.running(every: interval, { [writers] in try writers.step() }, while: findings)
        #expect(found == [])
        #expect(store.endedSnapshotCount > ended)
        #expect(writers.stepCount > before + 20)
    }

    @Test("a store that nobody writes into is verified as one whose snapshots last")
    func quiet() throws {
        #expect(try findings() == [])
    }

    @Test("real damage is reported while writers write")
    func damaged() throws {
        let bob = town.bob
        let still = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: bob.userName, scope: .private), name: "Still")
        let (keys, identity, share) = try engine.read { reader in
            let zone = try reader.existingZone(still)
            return (zone.keys, try zone.header().identity, try reader.existingZone(town.zone).header().identity)
        }
        let asset = try engine.read { reader in
            try #require(try reader.store.keys(in: GlobalKeys.keyspace(.assets), limit: 1).first)
        }
        let ghost = GlobalKeys.subscription(
            SubscriptionKeyParts(container: RecordBench.container, user: "_ghost", database: 2, id: "d"))
        let subscription = try engine.read { reader in
            let key = try #require(try reader.store.keys(in: GlobalKeys.keyspace(.subscriptions), limit: 1).first)
            return try reader.store.value(forKey: key)
        }
        let damages: [(key: [UInt8], value: [UInt8]?, finding: String)] = [
            (keys.type("Note", name: "s7"), nil, "missing"),
            (
                keys.parent(of: "nobody"),
                ParentEntry(parent: nil, parentSince: 1, share: nil, shareSince: 1, hasChildren: false).encoded(),
                "dangling"
            ),
            (GlobalKeys.identity(.email("bob@example.com")), nil, "does not lead to the account"),
            (GlobalKeys.zoneUsage(of: bob.userName, zone: identity), UsageEntry(byteCount: 1).encoded(), "counters"),
            (
                GlobalKeys.acceptance(user: bob.userName, zone: share, share: "Share-folder"), nil,
                "a share says that it was accepted"
            ),
            (ghost, subscription, "belongs to no existing account"),
            (asset, nil, "held 1 time"),
        ]
        for (key, value, finding) in damages {
            let before = try store.read { try $0.value(forKey: key) }
            try set(key, to: value)
            let found = try store.running(every: 17, { [writers] in try writers.step() }, while: findings)
            #expect(found.contains { $0.contains(finding) }, "\(finding): \(found)")
            try set(key, to: before)
        }
    }
}

/// Four writers who take turns: one saves records below folders, one deletes them, one moves them, and one changes
/// their texts. Which records follows from the seed.
private final class BusyWriters: Sendable {
    private struct State {
        var random = SplitMix64(seed: 11)
        var stepCount = 0
    }

    private let bench: RecordBench
    private let state = Locked(State())

    init(_ bench: RecordBench) { self.bench = bench }

    var stepCount: Int { state.withLock { $0.stepCount } }

    func step() throws {
        let (number, draws) = state.withLock { state in
            state.stepCount += 1
            return (state.stepCount, (0..<3).map { _ in Int(state.random.next() % 1_000) })
        }
        let name = "f\(8 + draws[0] % 72)"
        switch number % 4 {
        case 0:
            let save = RecordSave.new(name, parent: "f\(draws[1] % 8)", ["size": .int64(Int64(number))])
            _ = try bench.modify([save], policy: .allKeys, atomic: false)
        case 1:
            _ = try bench.modify(deleting: [.note(name)], atomic: false)
        case 2:
            let parent = draws[2] % 2 == 0 ? "f\(draws[1] % 8)" : "folder"
            _ = try bench.modify([.new(name, parent: parent)], policy: .allKeys, atomic: false)
        default:
            let text = String(repeating: "x", count: draws[1])
            _ = try bench.modify([.new(name, ["title": .string(text)])], policy: .changedKeys, atomic: false)
        }
    }
}
