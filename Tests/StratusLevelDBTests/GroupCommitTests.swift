// Many writers, few syncs; and the effects of a failed write. Flushes are held by the test hook: nothing sleeps, and
// all counts are exact.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

private struct PlannedFault: Error, CustomStringConvertible {
    var description = "IO error: 000003.log: No space left on device"
}

private struct Refusal: Error {}

@Suite struct GroupCommitTests {
    @Test("64 writers that wait for one flush share the next sync")
    func sharesSyncs() async throws {
        try await TestThreads.offPool {
            let bodies = Locked(0)
            let isHeld = Latch("the first group to be written")
            let allRan = Latch("64 bodies to run")
            let store = try Self.store { transactionCount in
                if transactionCount == 1 {
                    isHeld.open()
                    try allRan.wait()
                }
            }
            defer { store.value.close() }
            try TestThreads.run(65) { thread in
                if thread > 0 { try isHeld.wait() }
                try store.value.transact { transaction in
                    try transaction.set([UInt8(thread)], to: [1])
                    guard thread > 0 else { return }
                    let count = bodies.withLock { count in
                        count += 1
                        return count
                    }
                    if count == 64 { allRan.open() }
                }
                let own = try store.value.read { try $0.value(forKey: [UInt8(thread)]) }
                if own == nil { throw Refusal() }
            }
            let statistics = store.value.statistics
            #expect(statistics.transactionsCommitted == 65)
            #expect(statistics.groupsCommitted == 2)
            #expect(statistics.syncs == 2)
            #expect(try store.value.read { $0.version } == 2)
        }
    }

    @Test("writers that wait when a flush could begin are included in it")
    func takesAlongWhoStandsAtTheLane() async throws {
        try await TestThreads.offPool {
            let arrivals = Locked(0)
            let groups = Locked<[Int]>([])
            let isHeld = Latch("the first group to be written")
            let hasFlusher = Latch("a body of the next group to have run")
            let isInside = Latch("a body to hold the lane")
            let allStand = Latch("the others to stand at the lane")
            let isDecided = Latch("the next flush to wait for them, or to go on without them")
            let store = try Self.store {
                $0.testHooks.gathersWithoutBound = true
                $0.testHooks.willGather = { isDecided.open() }
                $0.testHooks.didArrive = {
                    let count = arrivals.withLock { count in
                        count += 1
                        return count
                    }
                    if count == 11 { allStand.open() }
                    if count > 3 { try? isDecided.wait() }
                }
            } willWriteGroup: { transactionCount in
                let count = groups.withLock { groups in
                    groups.append(transactionCount)
                    return groups.count
                }
                if count > 1 { isDecided.open() }
                isHeld.open()
                try isInside.wait()
            }
            defer { store.value.close() }
            try TestThreads.run(11) { thread in
                if thread > 0 { try isHeld.wait() }
                if thread > 1 { try hasFlusher.wait() }
                if thread > 2 { try isInside.wait() }
                try store.value.transact { transaction in
                    try transaction.set([UInt8(thread)], to: [1])
                    if thread == 1 { hasFlusher.open() }
                    guard thread == 2 else { return }
                    isInside.open()
                    try allStand.wait()
                }
            }
            #expect(groups.value == [1, 10])
        }
    }

    @Test("no writer waits for those that have had a turn, however it ended")
    func countsTurns() async throws {
        try await TestThreads.offPool {
            let fails = Locked(false)
            let store = try Self.store {
                $0.groupByteCount = 1_000
                $0.testHooks.gathersWithoutBound = true
                $0.testHooks.goesOnAfterFailedWrites = true
            } willWriteGroup: { _ in
                if fails.value { throw PlannedFault() }
            }
            // A thread that waits forever ends the test in the end.
            try TestThreads.run(1) { _ in
                func save(_ key: UInt8, byteCount: Int = 1) throws {
                    try store.value.transact { try $0.set([key], to: [UInt8](repeating: 0, count: byteCount)) }
                }
                #expect(throws: Refusal.self) { try store.value.transact { _ in throw Refusal() } }
                try save(1)
                let isThere = try store.value.transact { try $0.contains([1]) }
                #expect(isThere)
                try save(2, byteCount: 2_000)
                try save(3)
                fails.withLock { $0 = true }
                #expect(try storeError { try save(4) }.code == .commitUnknown)
                fails.withLock { $0 = false }
                try save(5)
                #expect(store.value.statistics.groupsCommitted == 4)
                store.value.close()
                #expect(try storeError { try save(6) }.code == .closed)
            }
        }
    }

    @Test("closing, and a full group, end the wait for other writers")
    func endsGathering() async throws {
        try await TestThreads.offPool {
            for isClosing in [false, true] {
                let arrivals = Locked(0)
                let isStuck = Latch("two to be stuck before the lane")
                let isGathering = Latch("a body to have run")
                let mayGoOn = Latch("the others to be through")
                let store = try Self.store {
                    $0.groupByteCount = 1_000
                    $0.testHooks.gathersWithoutBound = true
                    $0.testHooks.didArrive = {
                        let count = arrivals.withLock { count in
                            count += 1
                            return count
                        }
                        guard count <= 2 else { return }
                        if count == 2 { isStuck.open() }
                        try? mayGoOn.wait()
                    }
                } willWriteGroup: { _ in
                }
                try TestThreads.run(4) { thread in
                    switch thread {
                    case 0, 1:
                        do { try store.value.transact { try $0.set([0], to: [1]) } } catch let error as StoreError {
                            #expect(isClosing)
                            #expect(error.code == .closed)
                        }
                    case 2:
                        try isStuck.wait()
                        try store.value.transact { transaction in
                            try transaction.set([1], to: [1])
                            isGathering.open()
                        }
                        mayGoOn.open()
                    default:
                        try isGathering.wait()
                        if isClosing {
                            // It waits for the group, and so for the turns that it refuses, if it came first, which is
                            // usual.
                            try TestThreads.run(2) { part in
                                guard part == 0 else { return store.value.close() }
                                for _ in 0..<1_000 { TestThreads.yield() }
                                mayGoOn.open()
                            }
                        } else {
                            // The group is full with it, so the stuck ones would find no room.
                            try store.value.transact { try $0.set([2], to: [UInt8](repeating: 0, count: 2_000)) }
                        }
                    }
                }
                store.value.close()
            }
        }
    }

    @Test("closing while one group is written and the next one forms makes both durable")
    func closesBehindForming() async throws {
        let directory = try TemporaryDirectory()
        try await TestThreads.offPool {
            let isHeld = Latch("the first group to be written")
            let hasRun = Latch("a body of the next group to have run")
            let mayGoOn = Latch("the first group to go on")
            var options = LevelDBOptions()
            options.testHooks.willWriteGroup = { _ in
                isHeld.open()
                try mayGoOn.wait()
            }
            let store = try LevelDBStore.open(at: directory.path, options: options)
            try TestThreads.run(3) { thread in
                switch thread {
                case 0: try store.transact { try $0.set([0], to: [1]) }
                case 1:
                    try isHeld.wait()
                    try store.transact { transaction in
                        try transaction.set([1], to: [1])
                        hasRun.open()
                    }
                default:
                    try hasRun.wait()
                    try TestThreads.run(2) { part in
                        guard part == 0 else { return store.close() }
                        // `close` has most likely begun by then.
                        for _ in 0..<1_000 { TestThreads.yield() }
                        mayGoOn.open()
                    }
                }
            }
            let reopened = try LevelDBStore.open(at: directory.path)
            defer { reopened.close() }
            #expect(try contents(reopened) == [[0]: [1], [1]: [1]])
        }
    }

    @Test("a flush does not wait for a writer that arrives and never has a turn")
    func waitsNoLongerThanAFlush() async throws {
        try await TestThreads.offPool {
            let arrivals = Locked(0)
            let isStuck = Latch("somebody to be stuck before the lane")
            let mayGoOn = Latch("the others to be through")
            let store = try Self.store {
                $0.testHooks.didArrive = {
                    let count = arrivals.withLock { count in
                        count += 1
                        return count
                    }
                    guard count == 2 else { return }
                    isStuck.open()
                    try? mayGoOn.wait()
                }
            } willWriteGroup: { _ in
            }
            defer { store.value.close() }
            try store.value.transact { try $0.set([0], to: [1]) }
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try store.value.transact { try $0.set([1], to: [1]) }
                    return
                }
                try isStuck.wait()
                try store.value.transact { try $0.set([2], to: [1]) }
                #expect(try contents(store.value) == [[0]: [1], [2]: [1]])
                mayGoOn.open()
            }
            #expect(store.value.statistics.groupsCommitted == 3)
        }
    }

    @Test("readers see the previous version while a group is written, and transactions see the group")
    func readersDoNotWait() async throws {
        try await TestThreads.offPool {
            let isHeld = Latch("the group to be written")
            let isRead = Latch("the reads to be made")
            let store = try Self.store { _ in
                isHeld.open()
                try isRead.wait()
            }
            defer { store.value.close() }
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try store.value.transact { try $0.set([1], to: [1]) }
                    return
                }
                try isHeld.wait()
                #expect(try store.value.read { try $0.contains([1]) } == false)
                #expect(try store.value.read { $0.version } == 0)
                try store.value.transact { transaction in
                    let seesGroup = try transaction.contains([1])
                    #expect(seesGroup)
                    #expect(transaction.version == 0)
                    #expect(transaction.hasUnpublishedWrite(forKey: [1]))
                    #expect(transaction.hasUnpublishedWrite(in: KeyRange(from: [0], upTo: [2])))
                    #expect(!transaction.hasUnpublishedWrite(in: KeyRange(from: [0], upTo: [1])))
                    #expect(!transaction.hasUnpublishedWrite(in: KeyRange(from: [1, 0], upTo: [2])))
                    isRead.open()
                }
                #expect(try store.value.read { try $0.contains([1]) })
            }
        }
    }

    @Test("a failed write ends its group, and everything validated on it, with commitUnknown")
    func endsWithCommitUnknown() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let isHeld = Latch("the group to be written")
            let bodies = Locked(0)
            let allRan = Latch("the other bodies to run")
            let mayFail = Locked(false)
            var options = LevelDBOptions()
            options.testHooks.willWriteGroup = { _ in
                guard mayFail.value else { return }
                isHeld.open()
                try allRan.wait()
                throw PlannedFault()
            }
            let store = try LevelDBStore.open(at: directory.path(of: "store"), options: options)
            try store.transact { try $0.set([0], to: [0]) }
            mayFail.withLock { $0 = true }
            let actions = Locked(0)
            // A writer whose group fails; one that builds on it; a refusal; a body that only reads.
            try TestThreads.run(4) { thread in
                if thread > 0 { try isHeld.wait() }
                let error = try storeError {
                    try store.transact { transaction in
                        defer {
                            let count = bodies.withLock { count in
                                count += 1
                                return count
                            }
                            if count == 4 { allRan.open() }
                        }
                        transaction.onPublish { _ in actions.withLock { $0 += 1 } }
                        if thread < 2 { try transaction.set([1], to: [1]) }
                        if thread > 0 { #expect(try transaction.contains([1])) }
                        if thread == 2 { throw Refusal() }
                    }
                }
                #expect(error.code == .commitUnknown)
                #expect(error.cause == PlannedFault().description)
                #expect(error.fields["reason"] == "diskFull")
            }
            #expect(actions.value == 0)
            let refused = try storeError { try store.transact { try $0.set([2], to: [2]) } }
            #expect(refused.code == .unavailable)
            #expect(refused.cause == PlannedFault().description)
            #expect(try contents(store) == [[0]: [0]])
            #expect(store.statistics.transactionsCommitted == 1)
            store.close()
            #expect(try storeError { try store.transact { _ in } }.code == .closed)
        }
    }

    @Test("a result that depends on a group in flight is returned after the group is durable")
    func waitsForWhatItRead() async throws {
        try await TestThreads.offPool {
            let events = Locked<[String]>([])
            let isHeld = Latch("the group to be written")
            let hasRead = Latch("the refusing body to run")
            let store = try Self.store { _ in
                isHeld.open()
                try hasRead.wait()
                for _ in 0..<1_000 { TestThreads.yield() }
                events.withLock { $0.append("written") }
            }
            defer { store.value.close() }
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try store.value.transact { try $0.set([1], to: [1]) }
                } else {
                    try isHeld.wait()
                    do {
                        try store.value.transact { transaction in
                            hasRead.open()
                            if try transaction.contains([1]) { throw Refusal() }
                        }
                    } catch is Refusal {
                        events.withLock { $0.append("refused") }
                    }
                }
            }
            #expect(events.value == ["written", "refused"])
        }
    }

    @Test("a full group makes later transactions wait for the flush")
    func boundsGroups() async throws {
        try await TestThreads.offPool {
            let groups = Locked<[Int]>([])
            let store = try Self.store({ $0.groupByteCount = 1_000 }) { count in groups.withLock { $0.append(count) } }
            defer { store.value.close() }
            try TestThreads.run(16) { thread in
                for number in 0..<20 {
                    try store.value.transact { transaction in
                        try transaction.set([UInt8(thread), UInt8(number)], to: [UInt8](repeating: 0, count: 500))
                    }
                }
            }
            #expect(groups.value.reduce(0, +) == 320)
            // One transaction may begin while the group holds less than the bound, so two fit.
            #expect((groups.value.max() ?? 0) <= 2)
        }
    }

    private static func store(
        _ change: (inout LevelDBOptions) -> Void = { _ in },
        willWriteGroup: @escaping @Sendable (Int) throws -> Void
    ) throws -> OpenStore {
        var options = LevelDBOptions()
        change(&options)
        options.testHooks.willWriteGroup = willWriteGroup
        return try OpenStore(options)
    }
}

/// A store with its directory.
private final class OpenStore: Sendable {
    let value: LevelDBStore
    private let directory: TemporaryDirectory

    init(_ options: LevelDBOptions) throws {
        directory = try TemporaryDirectory()
        value = try LevelDBStore.open(at: directory.path(of: "store"), options: options)
    }
}
