// Many threads on one ancestor cache: commits are published while readers fill and look up at their own versions.

import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport
import Synchronization
import Testing

@Suite("Ancestor cache: threads")
struct AncestorCacheThreadTests {
    @Test("every reader's answers match its snapshot while two writers publish", arguments: [9_000, 1_000_000])
    func readersAndWriters(capacityByteCount: Int) async {
        let cache = AncestorCache(capacityByteCount: capacityByteCount)
        let scene = CommittedScene(seed: 11, commitCount: 600)
        let publisher = Publisher(cache: cache, scene: scene)
        let lies = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while publisher.newestVersion < scene.oracle.newest {
                        await publisher.publishNext()
                        await Task.yield()
                    }
                    return []
                }
            }
            for reader in UInt64(0)..<8 {
                group.addTask {
                    var random = SplitMix64(seed: reader)
                    var lies: [String] = []
                    var rounds = 0
                    while rounds < 200 || publisher.newestVersion < scene.oracle.newest {
                        let version = publisher.newestVersion
                        await Task.yield()
                        lies += scene.question(cache, at: version, &random)
                        rounds += 1
                    }
                    return lies
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(lies.isEmpty, "\(lies.prefix(3))")
        #expect(cache.statistics.hits > 0)
        #expect(cache.statistics.byteCount <= capacityByteCount)
    }
}

/// Publishes a scene's commits like a store: in order, and before anyone can have the version.
private actor Publisher {
    private let cache: AncestorCache
    private let scene: CommittedScene
    private var version: StoreVersion = 0
    private let newest = Atomic<StoreVersion>(0)

    init(cache: AncestorCache, scene: CommittedScene) {
        self.cache = cache
        self.scene = scene
    }

    nonisolated var newestVersion: StoreVersion { newest.load(ordering: .acquiring) }

    func publishNext() {
        guard version < scene.oracle.newest else { return }
        version += 1
        cache.publish(scene.changes[Int(version) - 1], version: version)
        newest.store(version, ordering: .releasing)
    }
}

/// A history created in advance, so that threads share only immutable data.
private struct CommittedScene: Sendable {
    let zone = CacheZone(database: 1, zone: 1)
    let names = (0..<60).map { RecordName("record number \($0)") }
    private(set) var changes: [[HierarchyChange]] = []
    private(set) var oracle = HierarchyOracle()

    init(seed: UInt64, commitCount: Int) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<commitCount {
            let count = Int.random(in: 1...3, using: &random)
            let commit = (0..<count).map { _ in
                // A parent of a lower number: no version has a cycle.
                let number = Int.random(in: 0..<names.count, using: &random)
                let parent = number == 0 ? nil : names[Int.random(in: 0..<number, using: &random)]
                let isShared = Int.random(in: 0..<6, using: &random) == 0
                let node = ParentEntry(parent: parent, parentSince: oracle.newest, share: isShared ? "share" : nil)
                let isGone = Int.random(in: 0..<20, using: &random) == 0
                return HierarchyChange(zone: zone, name: names[number], node: isGone ? nil : node)
            }
            changes.append(commit)
            oracle.commit(commit)
        }
    }

    /// Looks up a few records at one version, and fills what the cache should have known.
    func question(_ cache: AncestorCache, at version: StoreVersion, _ random: inout SplitMix64) -> [String] {
        var lies: [String] = []
        for _ in 0..<4 {
            let name = names[Int.random(in: 0..<names.count, using: &random)]
            if let lie = oracle.lie(of: cache, zone: zone, name: name, at: version, limit: 100) { lies.append(lie) }
            for (name, node) in oracle.chain(zone, name, at: version, limit: 5) {
                cache.fill(zone: zone, name: name, node: node, at: version)
            }
        }
        return lies
    }
}
