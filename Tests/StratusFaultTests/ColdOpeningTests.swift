// What a restarted host reads first: no log after a clean close, and no table that its questions do not need.

import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Cold openings")
struct ColdOpeningTests {
    private static let zone = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "deep")
    private static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1_000), user: "alice")
    private static let depth = 10
    /// What LevelDB reads of a table before its first block: its end, its index, and where and what its filter is.
    private static let openingReadCount = 4

    /// A chain below a share root, among some thousand others, in many tables.
    private static func fill(_ store: LevelDBStore) throws {
        let engine = try RecordEngine(store: store, incarnation: UUID())
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
        try engine.transact { try $0.createZone(zone, birth) }
        var random = SplitMix64(seed: 7)
        let names = (0..<4_000).map { number in RecordName("\(random.next())-\(number)") }
        let records = names.enumerated().map { number, name in
            // Chains of eleven, the top of each a share root.
            let isTop = number % (depth + 1) == 0
            return Record(
                name: name, type: "Item", parent: isTop ? nil : names[number - 1],
                share: isTop ? RecordName("share-\(number)") : nil,
                fields: ["content": Field(.bytes(random.bytes(count: 3_000)))])
        }
        for start in stride(from: 0, to: records.count, by: 400) {
            let batch = records[start..<min(start + 400, records.count)].map { RecordMutation.save($0) }
            try engine.transact { try $0.apply(MutationRequest(batch, stamp: stamp, tagSalt: 7), in: zone) }
        }
    }

    /// The last name of the first whole chain.
    private static var lastName: RecordName {
        var random = SplitMix64(seed: 7)
        return RecordName("\((0...depth).map { _ in random.next() }[depth])-\(depth)")
    }

    private static func options(_ environment: FaultyEnvironment) -> LevelDBOptions {
        var options = LevelDBOptions()
        options.writeBufferByteCount = 1 << 20
        options.testHooks.environment = environment
        return options
    }

    @Test("a closed store has its commits in tables: its log is empty, and opening it reads no table")
    func closed() async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let store = try LevelDBStore.open(at: directory.path, options: Self.options(try FaultyEnvironment()))
            for number in 0..<100 as Range<UInt8> { try store.transact { try $0.set([number], to: [number]) } }
            #expect(try FaultBench.logByteCount(in: directory.path) > 0)
            store.close()
            #expect(try FaultBench.logByteCount(in: directory.path) == 0)
            let environment = try FaultyEnvironment()
            let again = try LevelDBStore.open(at: directory.path, options: Self.options(environment))
            environment.waitUntilIdle()
            #expect(environment.count(of: .openRandom) == 0)
            #expect(try again.read { try $0.value(forKey: [99]) } == [99])
            #expect(environment.count(of: .openRandom) == 1)
            let written = environment.count(of: .openWritable)
            again.close()
            #expect(environment.count(of: .openWritable) == written, "nothing was written, so closing writes nothing")
        }
    }

    @Test("closing writes nothing into a store that the next opening empties, or that is no longer at its path")
    func discarded() async throws {
        try await TestThreads.offPool {
            for isMoved in [false, true] {
                let directory = try ScratchDirectory()
                let path = directory.path + "/store"
                let store = try LevelDBStore.open(at: path, options: Self.options(try FaultyEnvironment()))
                try store.transact { try $0.set([1], to: [1]) }
                let last = isMoved ? directory.path + "/moved" : path
                if isMoved {
                    try FileManager.default.moveItem(atPath: path, toPath: last)
                } else {
                    try store.beginEmptying()
                }
                store.close()
                #expect(try FaultBench.logByteCount(in: last) > 0)
            }
        }
    }

    @Test("a share question at depth 10 of a cold store reads a block a level, and opens the tables that hold them")
    func shareQuestion() async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let store = try LevelDBStore.open(at: directory.path, options: Self.options(try FaultyEnvironment()))
            try Self.fill(store)
            try store.compact(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 16)))
            #expect(try store.figures().filesByLevel.reduce(0, +) > 1)
            store.close()
            let environment = try FaultyEnvironment()
            let again = try LevelDBStore.open(at: directory.path, options: Self.options(environment))
            defer { again.close() }
            let engine = try RecordEngine(store: again, incarnation: UUID())
            environment.waitUntilIdle()
            // The table with what is said of the store, and two of its blocks.
            let (tables, reads) = (environment.count(of: .openRandom), environment.count(of: .readRandom))
            #expect(tables <= 1)
            #expect(reads <= Self.openingReadCount + 2)
            let membership = try engine.read { try $0.existingZone(Self.zone).shareMembership(of: Self.lastName) }
            #expect(membership?.share == "share-0")
            // The table with the zone: its number, and a block for each record of the chain.
            #expect(environment.count(of: .openRandom) - tables <= 1)
            #expect(environment.count(of: .readRandom) - reads <= Self.openingReadCount + 2 + Self.depth + 1)
        }
    }
}
