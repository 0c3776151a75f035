// What is known of ranges that were empty: for which keys LevelDB is not asked, and that this is bounded. That no answer changes
// is in the conformance suite, whose histories expect writes everywhere.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusLevelDB

@Suite struct FreshRangesTests {
    private static let range = KeyRange(from: [5], upTo: [6])

    private static func key(_ number: Int) -> [UInt8] { [5] + [UInt8](number: number) }

    private static func withStore(
        freshByteCount: Int = 1 << 20,
        _ body: (_ store: LevelDBStore, _ reopen: () throws -> LevelDBStore) throws -> Void
    ) throws {
        let directory = try TemporaryDirectory()
        var options = LevelDBOptions()
        options.syncsCommits = false
        options.freshByteCount = freshByteCount
        let open = { [options] in try LevelDBStore.open(at: directory.path(of: "store"), options: options) }
        var store = try open()
        defer { withExtendedLifetime(directory) { store.close() } }
        try body(store) {
            store.close()
            store = try open()
            return store
        }
    }

    /// How many of the keys are there, and for how many LevelDB was asked.
    private static func look(_ store: LevelDBStore, _ numbers: Range<Int>) throws -> (found: Int, asked: Int) {
        let before = store.statistics
        let found = try store.transact { transaction in try numbers.count { try transaction.contains(key($0)) } }
        let after = store.statistics
        #expect(after.cost.pointReads - before.cost.pointReads == numbers.count)
        return (found, after.engineLookups - before.engineLookups)
    }

    private static func write(_ store: LevelDBStore, _ numbers: Range<Int>) throws {
        try store.transact { transaction in
            for number in numbers { try transaction.set(key(number), to: [1]) }
        }
    }

    private static func expectWrites(_ store: LevelDBStore) throws {
        try store.transact { try $0.expectWrites(intoEmpty: range) }
    }

    @Test("a key that was not written into a range since it was empty is looked up without LevelDB, which counts alike")
    func answers() async throws {
        try await TestThreads.offPool {
            try Self.withStore { store, reopen in
                #expect(try Self.look(store, 0..<100) == (0, 100))
                try Self.expectWrites(store)
                #expect(try Self.look(store, 0..<100) == (0, 0))
                try Self.write(store, 0..<50)
                let (found, asked) = try Self.look(store, 0..<100)
                // Two keys of four thousand million may share a mark.
                #expect(found == 50 && (50...51).contains(asked))
                let reopened = try reopen()
                #expect(try Self.look(reopened, 0..<100) == (50, 100))
            }
        }
    }

    @Test("a range with a key, published or not, is not believed to be empty")
    func looksForItself() async throws {
        try await TestThreads.offPool {
            try Self.withStore { store, _ in
                try store.transact { transaction in
                    try transaction.set(Self.key(7), to: [1])
                    try transaction.expectWrites(intoEmpty: Self.range)
                }
                #expect(try Self.look(store, 0..<10) == (1, 10))
                try Self.expectWrites(store)
                #expect(try Self.look(store, 0..<10) == (1, 10))
                try store.transact { try $0.delete(Self.key(7)) }
                try Self.expectWrites(store)
                #expect(try Self.look(store, 0..<10) == (0, 0))
            }
        }
    }

    @Test("what a failing body has written was never there, and is found when another has written it")
    func undone() async throws {
        struct Planned: Error {}
        try await TestThreads.offPool {
            try Self.withStore { store, _ in
                try? store.transact { transaction in
                    try transaction.expectWrites(intoEmpty: Self.range)
                    try transaction.set(Self.key(1), to: [1])
                    throw Planned()
                }
                #expect(try Self.look(store, 0..<10) == (0, 0))
                try Self.write(store, 1..<2)
                #expect(try Self.look(store, 0..<10) == (1, 1))
            }
        }
    }

    @Test("a range whose keys have no room is forgotten, after those that were not used for longer")
    func bounded() async throws {
        try await TestThreads.offPool {
            // A thousand marks and less.
            try Self.withStore(freshByteCount: 6 << 10) { store, _ in
                let other = KeyRange(from: [9], upTo: [10])
                try store.transact { transaction in
                    try transaction.expectWrites(intoEmpty: other)
                    for number in UInt8(0)..<40 { try transaction.set([9, number], to: []) }
                    try transaction.expectWrites(intoEmpty: Self.range)
                }
                try Self.write(store, 0..<700)
                #expect(try Self.look(store, 700..<1_000) == (0, 0))
                #expect(try store.transact { try $0.contains([9, 99]) } == false)
                try Self.write(store, 700..<1_000)
                #expect(try Self.look(store, 0..<1_010) == (1_000, 1_010))
                let asked = store.statistics.engineLookups
                #expect(try store.transact { try $0.contains([9, 99]) } == false)
                #expect(store.statistics.engineLookups == asked + 1)
            }
        }
    }

    @Test("with no room for it nothing is remembered")
    func off() async throws {
        try await TestThreads.offPool {
            try Self.withStore(freshByteCount: 0) { store, _ in
                try Self.expectWrites(store)
                #expect(try Self.look(store, 0..<10) == (0, 10))
            }
        }
    }

    @Test(
        "marks are found again, and few keys that were not marked are taken for one that was",
        arguments: [1, 2, 3] as [UInt64])
    func marks(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var marks = KeyMarks()
        var hashes: [UInt64] = []
        // Zero, and hashes alike in their upper half, are marks too.
        let drawn = (0..<20_000).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
        for hash in [0, 1, 1 << 32, .max, .max - 1] + drawn {
            if marks.isFull {
                let before = marks.byteCount
                let growth = marks.growthByteCount
                marks.grow()
                #expect(marks.byteCount == before + growth)
            }
            marks.insert(hash)
            hashes.append(hash)
        }
        #expect(hashes.allSatisfy { marks.contains($0) }, "seed \(seed)")
        #expect(marks.byteCount <= 11 * hashes.count, "seed \(seed)")
        let others = (0..<100_000).count { _ in marks.contains(.random(in: 0 ... .max, using: &random)) }
        #expect(others < 20, "seed \(seed): \(others)")
    }
}
