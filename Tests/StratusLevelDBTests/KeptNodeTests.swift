// Hierarchy nodes that the store caches with their entries, for when the ancestor cache has no room for all reads.

import Foundation
import StratusLevelDB
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite struct KeptNodeTests {
    private static let zone = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "zone")
    private static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1_000), user: "alice")
    private static let groupCount = 1_000

    /// An engine whose ancestor cache has room for a few hundred names, over three groups of a thousand records and ten
    /// more.
    private static func withEngine(_ body: (RecordEngine, LevelDBStore) throws -> Void) throws {
        let directory = try TemporaryDirectory()
        var storeOptions = LevelDBOptions()
        storeOptions.syncsCommits = false
        let store = try LevelDBStore.open(at: directory.path(of: "store"), options: storeOptions)
        defer { withExtendedLifetime(directory) { store.close() } }
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = 48 << 10
        let engine = try RecordEngine(store: store, options: options, incarnation: UUID())
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
        try engine.transact { try $0.createZone(zone, birth) }
        let names = (0..<3 * groupCount).map { RecordName("\($0)") } + hot
        for start in stride(from: 0, to: names.count, by: 400) {
            let part = names[start..<min(start + 400, names.count)]
            try save(part.map { .save(Record(name: $0, type: "Note")) }, in: engine)
        }
        try body(engine, store)
    }

    private static let hot = (0..<10).map { RecordName("hot \($0)") }

    private static func save(_ mutations: [RecordMutation], in engine: RecordEngine) throws {
        let request = MutationRequest(mutations, stamp: stamp, tagSalt: 7)
        try engine.transact { _ = try $0.apply(request, in: zone) }
    }

    private static func ask(_ names: [RecordName], in engine: RecordEngine) throws {
        try engine.read { reader in
            let zone = try reader.existingZone(zone)
            for name in names { #expect(try zone.node(name) != nil) }
        }
    }

    /// Reads a thousand others, which evict the cache's entries.
    private static func fill(_ group: Int, in engine: RecordEngine) throws {
        try ask((0..<groupCount).map { RecordName("\(group * groupCount + $0)") }, in: engine)
    }

    @Test("a frequently read key re-enters the ancestor cache, even if the store has cached it meanwhile")
    func comesBack() async throws {
        try await TestThreads.offPool {
            try Self.withEngine { engine, store in
                // Read twice, because the cache has lost it: then the store caches it.
                for group in 0..<3 {
                    try Self.fill(group, in: engine)
                    if group < 2 { try Self.ask(Self.hot, in: engine) }
                }
                #expect(engine.ancestorCache.isTooSmall)
                let (hits, lookups) = (engine.ancestorCache.statistics.hits, store.statistics.engineLookups)
                for _ in 0..<4 { try Self.ask(Self.hot, in: engine) }
                #expect(store.statistics.engineLookups == lookups)
                #expect(engine.ancestorCache.statistics.hits == hits)
                for _ in 0..<16 { try Self.ask(Self.hot, in: engine) }
                #expect(engine.ancestorCache.statistics.hits >= hits + 8 * Self.hot.count)
                #expect(store.statistics.engineLookups == lookups)
            }
        }
    }

    @Test("a snapshot sees its own version of a node, not a cached one from before or after")
    func snapshots() async throws {
        try await TestThreads.offPool {
            try Self.withEngine { engine, _ in
                for group in 0..<3 {
                    try Self.fill(group, in: engine)
                    try Self.ask(Self.hot, in: engine)
                }
                let moved = Self.hot[0]
                try engine.read { reader in
                    let zone = try reader.existingZone(Self.zone)
                    #expect(try zone.node(moved)?.parent == nil)
                    try Self.save([.save(Record(name: moved, type: "Note", parent: Self.hot[1]))], in: engine)
                    for _ in 0..<3 { #expect(try zone.node(moved)?.parent == nil) }
                    try engine.read { later in
                        let zone = try later.existingZone(Self.zone)
                        for _ in 0..<3 { #expect(try zone.node(moved)?.parent == Self.hot[1]) }
                    }
                    for _ in 0..<20 { #expect(try zone.node(moved)?.parent == nil) }
                }
                for _ in 0..<20 {
                    try engine.read { reader in
                        let zone = try reader.existingZone(Self.zone)
                        #expect(try zone.node(moved)?.parent == Self.hot[1])
                    }
                }
            }
        }
    }
}
