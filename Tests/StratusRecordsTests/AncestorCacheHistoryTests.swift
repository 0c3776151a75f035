// Random histories of commits, fills by readers of any version, and questions at any version: the cache may not know an
// answer, but it never gives a wrong one, at any size; and the checker is shown to find planted faults.

import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Ancestor cache: histories")
struct AncestorCacheHistoryTests {
    @Test(
        "an answer is unknown or exactly that of the reader's version", arguments: [0, 4_000, 5_000, 9_000, 1_000_000])
    func answersAreExact(capacityByteCount: Int) {
        for seed in UInt64(1)...60 {
            // Few bits of hash make names collide, in buckets and stripes.
            let cache = AncestorCache(
                capacityByteCount: capacityByteCount, hashBitCount: [0, 2, 40, 64][Int(seed % 4)])
            var history = CacheHistory(seed: seed)
            let lie = history.firstLie(of: cache, steps: 250, capacityByteCount: capacityByteCount)
            #expect(lie == nil, "seed \(seed)")
            #expect(capacityByteCount < 5_000 || cache.statistics.hits > 0, "seed \(seed): nothing was tested")
        }
    }

    @Test("the checker detects a fill that ignores publications since its reader began")
    func plantedFill() {
        let seeds = (UInt64(1)...20).filter { seed in
            var history = CacheHistory(seed: seed)
            return history.firstLie(of: FillIgnoresPublications(), steps: 250, capacityByteCount: 1_000_000) != nil
        }
        #expect(seeds.count >= 5)
    }

    @Test("the checker detects a publication that older readers see")
    func plantedPublication() {
        let seeds = (UInt64(1)...20).filter { seed in
            var history = CacheHistory(seed: seed)
            return history.firstLie(of: PublicationReachesBack(), steps: 250, capacityByteCount: 1_000_000) != nil
        }
        #expect(seeds.count >= 5)
    }

    @Test("the checker detects a deleted zone that is not forgotten")
    func plantedForgetting() {
        let seeds = (UInt64(1)...20).filter { seed in
            var history = CacheHistory(seed: seed)
            return history.firstLie(of: ZonesAreNotForgotten(), steps: 250, capacityByteCount: 1_000_000) != nil
        }
        #expect(seeds.count >= 5)
    }
}

/// One random history and its truth.
struct CacheHistory {
    private var random: SplitMix64
    private var oracle = HierarchyOracle()
    private var zones = [
        CacheZone(database: 1, zone: 1), CacheZone(database: 1, zone: 2), CacheZone(database: 2, zone: 1),
    ]
    private var zonesMade: UInt64 = 2
    private let names: [RecordName]

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        // Every length around the arena's segments, long names, and two that differ only in their bytes.
        names =
            (0..<26).map { RecordName("\(UnicodeScalar(UInt8(97 + $0)))" + String(repeating: "x", count: $0)) }
            + ["caf\u{E9}", "cafe\u{301}", RecordName(String(repeating: "long", count: 70)), "名前"]
    }

    /// Runs the history and returns the first thing the cache said that is not so.
    mutating func firstLie(of cache: some AncestorAnswering, steps: Int, capacityByteCount: Int) -> String? {
        for step in 0..<steps {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25: publish(to: cache)
            case 25: deleteZone(in: cache)
            case 26..<60:
                if let lie = fillAndAsk(cache) { return "step \(step), after a fill: \(lie)" }
            default: break
            }
            for _ in 0..<3 {
                let zone = anyZone()
                let name = anyName()
                let version = anyVersion()
                let limit = Int.random(in: 0...20, using: &random)
                if let lie = oracle.lie(of: cache, zone: zone, name: name, at: version, limit: limit) {
                    return "step \(step): \(lie)"
                }
            }
            let byteCount = cache.statistics.byteCount
            if byteCount > capacityByteCount { return "step \(step): \(byteCount) bytes" }
        }
        return nil
    }

    private mutating func publish(to cache: some AncestorAnswering) {
        let zone = anyZone()
        var changes: [RecordName: ParentEntry?] = [:]
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            // Any parent, the record itself included: the cache must stay consistent if the hierarchy is damaged.
            let node = ParentEntry(
                parent: Int.random(in: 0..<6, using: &random) == 0 ? nil : anyName(), parentSince: oracle.newest,
                share: Int.random(in: 0..<5, using: &random) == 0 ? anyName() : nil,
                shareSince: UInt64.random(in: 0..<9, using: &random), hasChildren: Bool.random(using: &random))
            changes[anyName()] = .some(Int.random(in: 0..<8, using: &random) == 0 ? nil : node)
        }
        let told = changes.map { HierarchyChange(zone: zone, name: $0.key, node: $0.value) }.sorted {
            $0.name < $1.name
        }
        oracle.commit(told)
        cache.publish(told, version: oracle.newest)
    }

    private mutating func deleteZone(in cache: some AncestorAnswering) {
        let index = Int.random(in: 0..<zones.count, using: &random)
        oracle.commitDeletion(of: zones[index])
        cache.forget(zone: zones[index], version: oracle.newest)
        // Mostly a new number; sometimes the same, which the cache must support too.
        if Bool.random(using: &random) {
            zonesMade += 1
            zones[index] = CacheZone(database: zones[index].database, zone: zonesMade)
        }
    }

    /// Fills a reader's value, and looks up the same records as the newest reader.
    private mutating func fillAndAsk(_ cache: some AncestorAnswering) -> String? {
        let zone = anyZone()
        let version = anyVersion()
        let chain = oracle.chain(zone, anyName(), at: version, limit: 6)
        for (name, node) in chain { cache.fill(zone: zone, name: name, node: node, at: version) }
        for (name, _) in chain {
            if let lie = oracle.lie(of: cache, zone: zone, name: name, at: oracle.newest, limit: 20) { return lie }
        }
        return nil
    }

    private mutating func anyZone() -> CacheZone { zones[Int.random(in: 0..<zones.count, using: &random)] }

    private mutating func anyName() -> RecordName { names[Int.random(in: 0..<names.count, using: &random)] }

    /// The newest version, one of the last few, or any.
    private mutating func anyVersion() -> StoreVersion {
        let newest = oracle.newest
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: return newest
        case 6..<9: return newest - min(newest, StoreVersion.random(in: 0..<5, using: &random))
        default: return StoreVersion.random(in: 0...newest, using: &random)
        }
    }
}
