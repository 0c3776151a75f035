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
    private static let leaseSeconds = 0.3
    private static let mark: [UInt8] = GlobalKeys.indexing()

    private let memory = MemoryStore()
    private let first: RecordEngine
    private let second: RecordEngine

    init() throws {
        first = try Self.process(on: memory)
        second = try Self.process(on: memory)
    }

    /// A process with connections of its own.
    private static func process(on memory: MemoryStore) throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.limits.workLeaseSeconds = leaseSeconds
        options.sharesWork = true
        return try RecordEngine(store: TripStore(memory), options: options, incarnation: UUID())
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

    @Test("while one process works, another one commits nothing of that work; other work goes on")
    func excludes() throws {
        try first.working(on: .purges) {
            try Self.write(1, by: first)
            let refused: Void? = try second.working(on: .purges) { try Self.write(2, by: second) }
            #expect(refused == nil)
            #expect(try number() == 1)
            let other: Void? = try second.working(on: .history) { try Self.write(3, by: second) }
            #expect(other != nil)
            #expect(try number() == 3)
        }
        #expect(try entry()?.holder == nil)
        #expect(try second.working(on: .purges) { try Self.write(4, by: second) } != nil)
        #expect(try number() == 4)
    }

    @Test("a process that is gone is replaced when its count has stood still, and not before")
    func expires() throws {
        // Its round never ends.
        try memory.transact { try $0.set(GlobalKeys.work(.purges), to: WorkEntry(holder: UUID(), count: 7).encoded()) }
        #expect(try second.working(on: .purges) { try Self.write(1, by: second) } == nil)
        MonotonicTime.pause(seconds: Self.leaseSeconds / 3)
        #expect(try second.working(on: .purges) { try Self.write(2, by: second) } == nil)
        MonotonicTime.pause(seconds: Self.leaseSeconds)
        // Its count has moved: somebody works.
        try memory.transact { try $0.set(GlobalKeys.work(.purges), to: WorkEntry(holder: UUID(), count: 8).encoded()) }
        #expect(try second.working(on: .purges) { try Self.write(3, by: second) } == nil)
        #expect(try number() == nil)
        MonotonicTime.pause(seconds: Self.leaseSeconds)
        #expect(try second.working(on: .purges) { try Self.write(4, by: second) } != nil)
        #expect(try number() == 4)
        #expect(try entry()?.holder == nil)
    }

    @Test("a process that was paused and overtaken commits nothing when it goes on, and its round ends")
    func overtaken() throws {
        var hasGoneOn = false
        let result: Void? = try first.working(on: .purges) {
            try Self.write(1, by: first)
            // The first process stands still.
            #expect(try second.working(on: .purges) { try Self.write(2, by: second) } == nil)
            MonotonicTime.pause(seconds: Self.leaseSeconds * 1.2)
            try second.working(on: .purges) { try Self.write(3, by: second) }
            #expect(try entry()?.holder == nil)
            try Self.write(4, by: first)
            hasGoneOn = true
        }
        #expect(result == nil)
        #expect(!hasGoneOn)
        #expect(try number() == 3)
        // Its next round may work again.
        #expect(try first.working(on: .purges) { try Self.write(5, by: first) } != nil)
    }

    @Test("a round that has not written yet begins although another process has worked meanwhile")
    func startsLate() throws {
        let result: Void? = try first.working(on: .purges) {
            try second.working(on: .purges) { try Self.write(1, by: second) }
            try Self.write(2, by: first)
        }
        #expect(result != nil)
        #expect(try number() == 2)
    }

    @Test("two rounds of one process do the work together")
    func sameProcess() throws {
        try first.working(on: .purges) {
            try Self.write(1, by: first)
            #expect(try first.working(on: .purges) { try first.read { _ in } } != nil)
            try Self.write(2, by: first)
        }
        #expect(try number() == 2)
    }

    @Test("a refusal that a conflict undoes does not end the round")
    func undoneRefusal() throws {
        try memory.transact { try $0.set(GlobalKeys.work(.purges), to: WorkEntry(holder: UUID(), count: 1).encoded()) }
        let result: Void? = try first.working(on: .purges) {
            #expect(throws: StoreError.self) { try Self.write(1, by: first) }
            #expect(!first.mayWork())
            // The other process has finished.
            try memory.transact { try $0.set(GlobalKeys.work(.purges), to: WorkEntry(holder: nil, count: 2).encoded()) }
            try Self.write(2, by: first)
            #expect(first.mayWork())
        }
        #expect(result != nil)
        #expect(try number() == 2)
        #expect(try entry()?.holder == nil)
    }

    @Test("work that writes rarely keeps its lease by saying so")
    func keeps() throws {
        try first.working(on: .purges) {
            try Self.write(1, by: first)
            for _ in 0..<8 {
                MonotonicTime.pause(seconds: Self.leaseSeconds / 4)
                #expect(first.mayWork())
                #expect(try second.working(on: .purges) { try Self.write(2, by: second) } == nil)
            }
        }
        #expect(try number() == 1)
    }

    @Test("a round that learns between two commits that it was overtaken stops")
    func stops() throws {
        try first.working(on: .purges) {
            try Self.write(1, by: first)
            try memory.transact {
                try $0.set(GlobalKeys.work(.purges), to: WorkEntry(holder: UUID(), count: 9).encoded())
            }
            MonotonicTime.pause(seconds: Self.leaseSeconds)
            #expect(!first.mayWork())
        }
        #expect(try entry()?.count == 9)
    }

    @Test("a round of one commit names no process, and one that only looks takes no lease")
    func costsNothing() throws {
        let before = first.store.statistics
        let result: Void? = try first.working(on: .purges) {
            _ = try first.read { try $0.store.contains(Self.mark) }
            try first.transact { transaction in
                try transaction.set(Self.mark, to: UsageEntry(byteCount: 1).encoded())
                first.willEndWork()
            }
        }
        #expect(result != nil)
        let used = first.store.statistics
        #expect(used.transactionsCommitted - before.transactionsCommitted == 1)
        #expect(used.cost.entriesWritten - before.cost.entriesWritten == 1)
        try first.working(on: .history) { _ = try first.read { try $0.store.contains(Self.mark) } }
        #expect(first.store.statistics.transactionsCommitted == used.transactionsCommitted)
    }

    @Test("an error that is the work's own is thrown, and the lease is given back")
    func throwsErrors() throws {
        #expect(throws: StoreError.self) {
            try first.working(on: .purges) {
                try Self.write(1, by: first)
                throw StoreError(.corruption, "planted")
            }
        }
        #expect(try entry()?.holder == nil)
        #expect(try second.working(on: .purges) { try Self.write(2, by: second) } != nil)
    }

    @Test("where one process writes, or one at a time has the store, work leaves no entries", arguments: [false, true])
    func alone(isShared: Bool) throws {
        let store = MemoryStore()
        var options = RecordEngineOptions()
        options.sharesWork = !isShared
        let engine = try RecordEngine(
            store: isShared ? TripStore(store) : store, options: options, incarnation: UUID())
        try engine.working(on: .purges) {
            try Self.write(1, by: engine)
            #expect(try store.read { try !$0.contains(GlobalKeys.work(.purges)) })
            #expect(engine.mayWork())
        }
    }
}
