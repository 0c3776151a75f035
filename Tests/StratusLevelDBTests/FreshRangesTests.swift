// Ranges that were empty: the keys for which LevelDB is not read, and the bound on their number. The conformance suite,
// whose histories expect writes everywhere, tests that no answer changes.

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

    /// How many of the keys exist, and how many were read from LevelDB.
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
        try store.transact { $0.expectWrites(intoEmpty: range) }
    }

    @Test("a key that was not written since its range was empty is looked up without LevelDB, with the same count")
    func answers() async throws {
        try await TestThreads.offPool {
            try Self.withStore { store, reopen in
                #expect(try Self.look(store, 0..<100) == (0, 100))
                try Self.expectWrites(store)
                #expect(try Self.look(store, 0..<100) == (0, 0))
                try Self.write(store, 0..<50)
                let (found, asked) = try Self.look(store, 0..<100)
                // Two keys of four thousand million may share a mark.
                #expect(found == 50)
                #expect((50...51).contains(asked))
                let reopened = try reopen()
                #expect(try Self.look(reopened, 0..<100) == (50, 100))
            }
        }
    }

    @Test("a range with a key, published or not, is not treated as empty")
    func looksForItself() async throws {
        try await TestThreads.offPool {
            try Self.withStore { store, _ in
                try store.transact { transaction in
                    try transaction.set(Self.key(7), to: [1])
                    transaction.expectWrites(intoEmpty: Self.range)
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

    @Test("writes of a failing body do not count, and the same writes of a later body do")
    func undone() async throws {
        struct Planned: Error {}
        try await TestThreads.offPool {
            try Self.withStore { store, _ in
                try? store.transact { transaction in
                    transaction.expectWrites(intoEmpty: Self.range)
                    try transaction.set(Self.key(1), to: [1])
                    throw Planned()
                }
                #expect(try Self.look(store, 0..<10) == (0, 0))
                try Self.write(store, 1..<2)
                #expect(try Self.look(store, 0..<10) == (1, 1))
            }
        }
    }

    @Test("ranges whose keys have no space are forgotten, least recently used first")
    func bounded() async throws {
        try await TestThreads.offPool {
            // A thousand marks and less.
            try Self.withStore(freshByteCount: 6 << 10) { store, _ in
                let other = KeyRange(from: [9], upTo: [10])
                try store.transact { transaction in
                    transaction.expectWrites(intoEmpty: other)
                    for number in UInt8(0)..<40 { try transaction.set([9, number], to: []) }
                    transaction.expectWrites(intoEmpty: Self.range)
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

    /// What a body sees that runs while another transaction's write is on its way to the disk.
    private static func whileInFlight<Result: Sendable>(
        _ first: @escaping @Sendable (any StoreTransaction) throws -> Void, preparing: (LevelDBStore) throws -> Void,
        _ second: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) throws -> Result? {
        let directory = try TemporaryDirectory()
        let isArmed = Locked(false)
        let isHeld = Latch("the first group to be written")
        let mayGoOn = Latch("the second body to have run")
        var options = LevelDBOptions()
        options.testHooks.willWriteGroup = { _ in
            let wasArmed = isArmed.withLock { isArmed in
                defer { isArmed = false }
                return isArmed
            }
            guard wasArmed else { return }
            isHeld.open()
            try mayGoOn.wait()
        }
        let store = try LevelDBStore.open(at: directory.path(of: "store"), options: options)
        defer { withExtendedLifetime(directory) { store.close() } }
        try preparing(store)
        isArmed.withLock { $0 = true }
        let result = Locked<Result?>(nil)
        try TestThreads.run(2) { thread in
            if thread == 0 { return try store.transact { try first($0) } }
            try isHeld.wait()
            defer { mayGoOn.open() }
            try store.transact { transaction in
                let seen = try second(transaction)
                result.withLock { $0 = seen }
                mayGoOn.open()
            }
        }
        return result.value
    }

    @Test("a range with a write on its way to the disk is not treated as empty")
    func inFlight() async throws {
        try await TestThreads.offPool {
            let isThere = try Self.whileInFlight {
                try $0.set(Self.key(1), to: [1])
            } preparing: { _ in
            } _: { transaction in
                transaction.expectWrites(intoEmpty: Self.range)
                return try transaction.contains(Self.key(1))
            }
            #expect(isThere == true)
            // A deletion on its way says as little: below it the key is still there.
            let isGone = try Self.whileInFlight {
                try $0.delete(Self.key(1))
            } preparing: { store in
                try Self.write(store, 1..<3)
            } _: { transaction in
                transaction.expectWrites(intoEmpty: Self.range)
                return [try transaction.contains(Self.key(1)), try transaction.contains(Self.key(2))]
            }
            #expect(isGone == [false, true])
        }
    }

    @Test("a key whose write failed is looked up: it may exist")
    func failedWrite() async throws {
        struct Planned: Error {}
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let mustFail = Locked(false)
            var options = LevelDBOptions()
            options.testHooks.goesOnAfterFailedWrites = true
            options.testHooks.willWriteGroup = { _ in if mustFail.value { throw Planned() } }
            let store = try LevelDBStore.open(at: directory.path(of: "store"), options: options)
            defer { withExtendedLifetime(directory) { store.close() } }
            try Self.expectWrites(store)
            mustFail.withLock { $0 = true }
            #expect(throws: StoreError.self) { try Self.write(store, 1..<2) }
            mustFail.withLock { $0 = false }
            #expect(try Self.look(store, 0..<10) == (0, 1))
        }
    }

    @Test("over the limit the least recently used range is forgotten")
    func manyRanges() async throws {
        try await TestThreads.offPool {
            try Self.withStore { store, _ in
                func look(_ number: UInt8) throws -> Int {
                    let before = store.statistics.engineLookups
                    #expect(try store.transact { try $0.contains([9, number, 1]) } == false)
                    return store.statistics.engineLookups - before
                }
                for number in UInt8(0)..<64 {
                    let range = KeyRange(from: [9, number], upTo: [9, number + 1])
                    try store.transact { $0.expectWrites(intoEmpty: range) }
                }
                #expect(try look(0) == 0)
                let range = KeyRange(from: [9, 100], upTo: [9, 101])
                try store.transact { $0.expectWrites(intoEmpty: range) }
                #expect(try [look(0), look(1), look(2), look(63), look(100)] == [0, 1, 0, 0, 0])
            }
        }
    }

    @Test("without capacity nothing is remembered")
    func off() async throws {
        try await TestThreads.offPool {
            try Self.withStore(freshByteCount: 0) { store, _ in
                try Self.expectWrites(store)
                #expect(try Self.look(store, 0..<10) == (0, 10))
            }
        }
    }

    @Test(
        "marked keys are found, and few unmarked keys are taken for marked ones",
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
