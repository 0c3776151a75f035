// Background work of several processes on one store: one does it at a time, and one that was overtaken commits nothing.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Leases of background work")
struct WorkLeaseTests {
    private static let mark: [UInt8] = GlobalKeys.indexing()

    private let memory = MemoryStore()
    private let clock = HandClock()
    private let first: RecordEngine
    private let second: RecordEngine
    private let firstHost = UUID()

    init() throws {
        first = try Self.process(on: memory, clock, firstHost)
        second = try Self.process(on: memory, clock)
    }

    /// A process with connections of its own.
    private static func process(on memory: MemoryStore, _ clock: HandClock, _ host: UUID = UUID()) throws
        -> RecordEngine
    {
        var options = RecordEngineOptions()
        options.monotonicNow = { clock.now }
        return try RecordEngine(store: TripStore(memory), options: options, incarnation: host)
    }

    /// One commit of work: the last number is the store's.
    private static func write(_ number: UInt64, by engine: RecordEngine) throws {
        try engine.transact { try $0.set(mark, to: UsageEntry(byteCount: number).encoded()) }
    }

    private func number() throws -> UInt64? {
        try memory.read { try $0.withValue(forKey: Self.mark) { try UsageEntry(decoding: $0).byteCount } }
    }

    private func entry(_ work: BackgroundWork = .purges) throws -> WorkEntry? {
        try memory.read { try $0.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0) } }
    }

    private func hostCount() throws -> Int { try memory.read { try $0.keys(in: GlobalKeys.keyspace(.hosts)).count } }

    /// The second process gives signs of life for so long that the first one, which gives none, counts as gone.
    private func waitForTheFirst() throws {
        try second.beat()
        for _ in 0..<4 {
            clock.advance(seconds: 3)
            try second.beat()
        }
    }

    @Test("while one process has the work, another one commits nothing of it; other work goes on")
    func excludes() throws {
        try first.working(on: .purges) { try Self.write(1, by: first) }
        let refused: Void? = try second.working(on: .purges) { try Self.write(2, by: second) }
        #expect(refused == nil)
        #expect(try number() == 1)
        let other: Void? = try second.working(on: .history) { try Self.write(3, by: second) }
        #expect(other != nil)
        #expect(try number() == 3)
    }

    @Test("work that is given back is free for another process")
    func givesBack() throws {
        try first.working(on: .purges) { try Self.write(1, by: first) }
        try first.giveBack([.purges])
        #expect(try second.working(on: .purges) { try Self.write(2, by: second) } != nil)
        #expect(try number() == 2)
        #expect(try entry()?.generation == 2)
    }

    @Test("work is not given back while a round of it runs")
    func keepsWhileRunning() throws {
        try first.working(on: .purges) {
            try Self.write(1, by: first)
            try first.giveBack([.purges])
            try Self.write(2, by: first)
        }
        #expect(try entry()?.holder == firstHost)
    }

    @Test("a process that is gone loses its work when its beat has stood still for ten seconds, and not before")
    func expires() throws {
        try first.working(on: .purges) { try Self.write(1, by: first) }
        try second.beat()
        for _ in 0..<3 {
            #expect(try second.working(on: .purges) { try Self.write(2, by: second) } == nil)
            clock.advance(seconds: 3)
            try second.beat()
        }
        clock.advance(seconds: 0.5)
        #expect(try second.working(on: .purges) { try Self.write(3, by: second) } == nil)
        clock.advance(seconds: 0.5)
        #expect(try second.working(on: .purges) { try Self.write(4, by: second) } != nil)
        #expect(try number() == 4)
    }

    @Test("a process that beats keeps its work")
    func keeps() throws {
        try first.working(on: .purges) { try Self.write(1, by: first) }
        for _ in 0..<8 {
            clock.advance(seconds: 3.5)
            try first.beat()
            try second.beat()
            #expect(try second.working(on: .purges) { try Self.write(2, by: second) } == nil)
        }
        #expect(try number() == 1)
    }

    @Test("transactions of a long round beat for their process")
    func beatsWhileWorking() throws {
        try first.working(on: .purges) {
            for round in 0..<8 {
                try Self.write(UInt64(round), by: first)
                clock.advance(seconds: 3.5)
                try second.beat()
            }
            #expect(try second.working(on: .purges) { try Self.write(99, by: second) } == nil)
            try Self.write(8, by: first)
        }
        #expect(try number() == 8)
    }

    @Test("a process that was paused and overtaken commits nothing when it goes on, and its round ends")
    func overtaken() throws {
        var hasGoneOn = false
        let result: Void? = try first.working(on: .purges) {
            try Self.write(1, by: first)
            // The first process stands still.
            try waitForTheFirst()
            try second.working(on: .purges) { try Self.write(3, by: second) }
            try Self.write(4, by: first)
            hasGoneOn = true
        }
        #expect(result == nil)
        #expect(!hasGoneOn)
        #expect(try number() == 3)
    }

    @Test("a round that was overtaken ends even if its own process has got the work again", arguments: [false, true])
    func overtakenAndBack(hasNewRound: Bool) throws {
        let result: Void? = try first.working(on: .purges) {
            try Self.write(1, by: first)
            try waitForTheFirst()
            try second.working(on: .purges) { try Self.write(2, by: second) }
            try second.giveBack([.purges])
            if hasNewRound { try first.working(on: .purges, takingOver: true) { try Self.write(3, by: first) } }
            try Self.write(4, by: first)
        }
        #expect(result == nil)
        #expect(try number() == (hasNewRound ? 3 : 2))
        // Its next round may work again.
        #expect(try first.working(on: .purges) { try Self.write(5, by: first) } != nil)
    }

    @Test("after it was overtaken a process takes the work again when that is free")
    func takesAgain() throws {
        try first.working(on: .purges) { try Self.write(1, by: first) }
        try waitForTheFirst()
        try second.working(on: .purges) { try Self.write(2, by: second) }
        try second.giveBack([.purges])
        // The first round finds out that its process was overtaken.
        #expect(try first.working(on: .purges) { try Self.write(3, by: first) } == nil)
        #expect(try first.working(on: .purges) { try Self.write(4, by: first) } != nil)
        #expect(try number() == 4)
    }

    @Test("a round that takes over takes the work from a process that is alive, whose round then ends")
    func takesOver() throws {
        let result: Void? = try first.working(on: .purges) {
            try Self.write(1, by: first)
            #expect(try second.working(on: .purges, takingOver: true) { try Self.write(2, by: second) } != nil)
            try Self.write(3, by: first)
        }
        #expect(result == nil)
        #expect(try number() == 2)
    }

    @Test("two rounds of one process do the work together")
    func sameProcess() throws {
        try first.working(on: .purges) {
            try Self.write(1, by: first)
            #expect(try first.working(on: .purges) { try Self.write(2, by: first) } != nil)
            try Self.write(3, by: first)
        }
        #expect(try number() == 3)
    }

    @Test("a round within a round checks its own work, and the outer one goes on")
    func nested() throws {
        try second.working(on: .history) { try Self.write(1, by: second) }
        let outer: Void? = try first.working(on: .purges) {
            try Self.write(2, by: first)
            #expect(try first.working(on: .history) { try Self.write(3, by: first) } == nil)
            try Self.write(4, by: first)
        }
        #expect(outer != nil)
        #expect(try number() == 4)
    }

    @Test("a refusal that a body swallows does not end the round")
    func swallowedRefusal() throws {
        try second.working(on: .purges) { try Self.write(1, by: second) }
        let result: Void? = try first.working(on: .purges) {
            #expect(throws: StoreError.self) { try Self.write(2, by: first) }
            try second.giveBack([.purges])
            try Self.write(3, by: first)
        }
        #expect(result != nil)
        #expect(try number() == 3)
    }

    @Test("an error that is the work's own is thrown")
    func throwsErrors() throws {
        #expect(throws: StoreError.self) {
            try first.working(on: .purges) {
                try Self.write(1, by: first)
                throw StoreError(.corruption, "planted")
            }
        }
    }

    @Test("a process that leaves frees its work at once, and leaves no sign of life")
    func leaves() throws {
        try first.working(on: .purges) { try Self.write(1, by: first) }
        try second.beat()
        #expect(try hostCount() == 2)
        first.leave()
        #expect(try hostCount() == 1)
        #expect(try entry()?.holder == nil)
        #expect(try second.working(on: .purges) { try Self.write(2, by: second) } != nil)
    }

    @Test("the sign of life of a process that is gone is removed after a minute; one that was paused gives it again")
    func removesTheGone() throws {
        try first.beat()
        for _ in 0..<30 {
            try second.beat()
            clock.advance(seconds: 3.5)
        }
        #expect(try hostCount() == 1)
        try first.beat()
        #expect(try hostCount() == 2)
    }

    @Test("where one process writes, work leaves no entries")
    func alone() throws {
        let store = MemoryStore()
        let engine = try RecordEngine(store: store, incarnation: UUID())
        try engine.beat()
        try engine.working(on: .purges) { try Self.write(1, by: engine) }
        try engine.giveBack([.purges])
        engine.leave()
        let own = try store.read { reader in
            try [GlobalKeyspace.work, .hosts].map { try reader.keys(in: GlobalKeys.keyspace($0)).count }
        }
        #expect(own == [0, 0])
        #expect(store.statistics.transactionsCommitted == 2)
    }
}

/// A monotonic clock that a test moves.
final class HandClock: Sendable {
    private let time = Locked(MonotonicTime(nanoseconds: 1_000_000_000))
    var now: MonotonicTime { time.value }
    func advance(seconds: Double) { time.withLock { $0 = $0 + seconds } }
}
