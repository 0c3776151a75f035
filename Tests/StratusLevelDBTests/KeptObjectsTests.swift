// Objects decoded from values and cached with them: when they are cached, that they cost no read of the engine, and
// that the cache is bounded. The conformance suite tests that no snapshot gets an object that it does not see.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

private final class Made: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
}

private struct Failure: Error {}

@Suite struct KeptObjectsTests {
    private static func store(keptByteCount: Int) throws -> (store: LevelDBStore, directory: TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        var options = LevelDBOptions()
        options.syncsCommits = false
        options.keptByteCount = keptByteCount
        return (try LevelDBStore.open(at: directory.path(of: "store"), options: options), directory)
    }

    /// The cached object of a key; if there is none, `number` is offered.
    private static func look(_ store: LevelDBStore, _ key: [UInt8], offering number: Int) throws -> Int? {
        try store.read { reader in
            if let made = reader.keptObject(forKey: key) { return (made as? Made)?.number }
            reader.keep(forKey: key, byteCount: 100) { Made(number) }
            return nil
        }
    }

    @Test("an entry offered twice is kept until its key is written, and counts as a look-up")
    func keeps() async throws {
        try await TestThreads.offPool {
            let (store, directory) = try Self.store(keptByteCount: 1 << 20)
            defer { withExtendedLifetime(directory) { store.close() } }
            try store.transact { transaction in
                for key in UInt8(1)...2 { try transaction.set([key], to: [key]) }
            }
            #expect(try Self.look(store, [1], offering: 1) == nil)
            #expect(try Self.look(store, [1], offering: 2) == nil)
            let before = store.statistics.cost.pointReads
            #expect(try Self.look(store, [1], offering: 3) == 2)
            #expect(store.statistics.cost.pointReads == before + 1)
            try store.transact { try $0.set([2], to: [9]) }
            #expect(try Self.look(store, [1], offering: 4) == 2)
            try store.transact { transaction in
                #expect((transaction.keptObject(forKey: [1]) as? Made)?.number == 2)
                try transaction.delete([1])
                #expect(transaction.keptObject(forKey: [1]) == nil)
                transaction.keep(forKey: [1], byteCount: 100) { Made(6) }
            }
            #expect(try Self.look(store, [1], offering: 5) == nil)
        }
    }

    @Test("a transaction that fails leaves no object of the value that it wrote")
    func failedTransaction() async throws {
        try await TestThreads.offPool {
            let (store, directory) = try Self.store(keptByteCount: 1 << 20)
            defer { withExtendedLifetime(directory) { store.close() } }
            try store.transact { try $0.set([1], to: [1]) }
            #expect(throws: Failure.self) {
                try store.transact { transaction in
                    try transaction.set([1], to: [2])
                    for _ in 0..<2 { transaction.keep(forKey: [1], byteCount: 100) { Made(2) } }
                    throw Failure()
                }
            }
            #expect(try Self.look(store, [1], offering: 1) == nil)
        }
    }

    @Test("a transaction offers an object of a value that it only reads, and finds it until it writes the key")
    func transactionsKeep() async throws {
        try await TestThreads.offPool {
            let (store, directory) = try Self.store(keptByteCount: 1 << 20)
            defer { withExtendedLifetime(directory) { store.close() } }
            try store.transact { try $0.set([1], to: [1]) }
            for _ in 0..<2 {
                try store.transact { $0.keep(forKey: [1], byteCount: 100) { Made(1) } }
            }
            try store.transact { transaction in
                #expect((transaction.keptObject(forKey: [1]) as? Made)?.number == 1)
                try transaction.set([1], to: [2])
                #expect(transaction.keptObject(forKey: [1]) == nil)
            }
            try store.transact { #expect($0.keptObject(forKey: [1]) == nil) }
        }
    }

    @Test("a transaction beside a flush neither gets nor leaves an object of a value that the flush replaces")
    func besideFlush() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let (holds, isHeld) = (Locked(false), Latch("the group to be written"))
            let isRead = Latch("the other transaction to read")
            var options = LevelDBOptions()
            options.testHooks.willWriteGroup = { _ in
                guard holds.value else { return }
                isHeld.open()
                try isRead.wait()
            }
            let store = try LevelDBStore.open(at: directory.path(of: "store"), options: options)
            defer { withExtendedLifetime(directory) { store.close() } }
            try store.transact { try $0.set([1], to: [1]) }
            for _ in 0..<2 { _ = try Self.look(store, [1], offering: 1) }
            #expect(try Self.look(store, [1], offering: 1) == 1)
            holds.withLock { $0 = true }
            try TestThreads.run(2) { thread in
                guard thread == 1 else { return try store.transact { try $0.set([1], to: [2]) } }
                try isHeld.wait()
                try store.transact { transaction in
                    defer { isRead.open() }
                    let before = transaction.cost.pointReads
                    #expect(transaction.keptObject(forKey: [1]) == nil)
                    #expect(transaction.cost.pointReads == before)
                    for _ in 0..<2 { transaction.keep(forKey: [1], byteCount: 100) { Made(2) } }
                }
            }
            #expect(try Self.look(store, [1], offering: 3) == nil)
        }
    }

    @Test("keys that are offered alternately are all kept, even if two of them share a slot")
    func keepsByTurns() async throws {
        try await TestThreads.offPool {
            let (store, directory) = try Self.store(keptByteCount: 16 << 20)
            defer { withExtendedLifetime(directory) { store.close() } }
            let keys = (0..<1_000).map { Array("record \($0)".utf8) }
            for _ in 0..<2 {
                for key in keys { #expect(try Self.look(store, key, offering: 1) == nil) }
            }
            #expect(try keys.filter { try Self.look(store, $0, offering: 2) == nil }.isEmpty)
        }
    }

    @Test("the cache stays within its capacity, keeps what is read, and without capacity keeps nothing")
    func isBounded() async throws {
        try await TestThreads.offPool {
            let (store, directory) = try Self.store(keptByteCount: 64 << 10)
            defer { withExtendedLifetime(directory) { store.close() } }
            func key(_ number: Int) -> [UInt8] { Array("record \(number)".utf8) }
            for number in 0..<2_000 {
                for _ in 0..<2 { _ = try Self.look(store, key(number), offering: number) }
                _ = try Self.look(store, key(0), offering: 0)
            }
            let kept = try (0..<2_000).filter { number in
                try store.read { ($0.keptObject(forKey: key(number)) as? Made)?.number == number }
            }
            // 268 bytes and a key are an entry.
            #expect(kept.count > 50)
            #expect(kept.count <= (64 << 10) / 260)
            #expect(kept.first == 0)
            #expect(kept.contains(1_999))

            let (bare, place) = try Self.store(keptByteCount: 0)
            defer { withExtendedLifetime(place) { bare.close() } }
            for _ in 0..<3 { #expect(try Self.look(bare, [1], offering: 1) == nil) }
        }
    }

    @Test("a reader of an older snapshot neither gets an entry of a newer value, nor leaves its own")
    func olderSnapshots() async throws {
        try await TestThreads.offPool {
            let (store, directory) = try Self.store(keptByteCount: 1 << 20)
            defer { withExtendedLifetime(directory) { store.close() } }
            try store.transact { try $0.set([1], to: [1]) }
            try store.read { older in
                try TestThreads.run(1) { _ in
                    try store.transact { try $0.set([1], to: [2]) }
                    for number in [20, 21] { _ = try Self.look(store, [1], offering: number) }
                    #expect(try Self.look(store, [1], offering: 22) == 21)
                }
                #expect(older.keptObject(forKey: [1]) == nil)
                try TestThreads.run(1) { _ in
                    try store.transact { try $0.set([1], to: [3]) }
                    #expect(try Self.look(store, [1], offering: 30) == nil)
                }
                for _ in 0..<2 { older.keep(forKey: [1], byteCount: 100) { Made(10) } }
            }
            #expect(try Self.look(store, [1], offering: 31) != 10)
        }
    }
}
