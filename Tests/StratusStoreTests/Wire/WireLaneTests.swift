// Transactions over a wire: what is tried again and what is not, and callers of one lane that commit together.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

private let lane = StoreLane(name: [1])

private func makeStore(_ configure: (inout TripStore.Options) -> Void = { _ in }) -> TripStore {
    var options = TripStore.Options()
    configure(&options)
    return TripStore(options: options)
}

extension StoreReader {
    fileprivate func number(_ key: [UInt8]) throws -> Int { Int(try value(forKey: key)?.first ?? 0) }
}

extension StoreTransaction {
    fileprivate func insert(_ key: [UInt8], _ value: [UInt8]) throws { try insert(key.span, value.span) }

    /// Adds one to a number, and returns the new one.
    @discardableResult
    fileprivate func increment(_ key: [UInt8]) throws -> Int {
        let number = try number(key) + 1
        try set(key, to: [UInt8(number)])
        return number
    }
}

/// Holds the lane by a transaction until so many others have rehearsed, and then lets all end.
private func hold(
    _ store: TripStore, until count: Int, first: @escaping @Sendable (any StoreTransaction) throws -> Void = { _ in },
    _ others: @escaping @Sendable (_ index: Int) throws -> Void
) throws {
    let isHeld = Latch("the lane to be taken")
    let before = store.statistics.rehearsals
    try TestThreads.run(count + 1) { thread in
        guard thread == 0 else {
            try isHeld.wait()
            return try others(thread - 1)
        }
        try store.transact(lane: lane) { transaction in
            isHeld.open()
            while store.statistics.rehearsals < before + count { TestThreads.yield() }
            try first(transaction)
        }
    }
}

@Suite("Transactions over a wire")
struct WireTransactionTests {
    @Test(
        "a body runs again after a conflict or a lost connection, wherever it happens, and is applied once",
        arguments: [StoreLane?.none, lane], [TripFault.Point.fetch, .commit])
    func again(lane: StoreLane?, point: TripFault.Point) throws {
        for kind in [TripFault.Kind.conflict, .lost] {
            let store = makeStore()
            store.plan(TripFault(point, kind, repetitions: 3))
            var runCount = 0
            let number = try store.transact(lane: lane) { transaction in
                runCount += 1
                return try transaction.increment([1])
            }
            #expect(number == 1)
            #expect(runCount == 4)
            #expect(try store.read { try $0.number([1]) } == 1)
            let isConflict = if case .conflict = kind { true } else { false }
            #expect(store.statistics.conflicts == (isConflict ? 3 : 0))
            #expect(store.statistics.cost.pointReads == 2)
            #expect(store.statistics.transactionsCommitted == 1)
        }
    }

    @Test("a commit whose answer was lost is applied once, and its caller does not notice")
    func lostAnswer() throws {
        let store = makeStore()
        store.plan(TripFault(.commit, .lostAnswer))
        #expect(try store.transact { try $0.increment([1]) } == 1)
        #expect(try store.read { try $0.number([1]) } == 1)
        #expect(store.statistics.unknownOutcomes == 1)
    }

    @Test("an error that another run would not help comes out as it is, and nothing is written")
    func fatal() throws {
        for point in [TripFault.Point.fetch, .commit] {
            let store = makeStore()
            store.plan(TripFault(point, .fatal(.diskFull)))
            let error = #expect(throws: StoreError.self) { try store.transact { try $0.increment([1]) } }
            #expect(error?.code == .diskFull)
            #expect(try store.transact { try $0.increment([1]) } == 1)
        }
    }

    @Test("a caller never gets the store's own conflicts, but unavailable when its time is over")
    func deadline() throws {
        for lane in [nil, lane] {
            let store = makeStore { $0.wire.deadlineSeconds = 0.05 }
            store.plan(TripFault(.commit, .conflict, repetitions: 100_000))
            let error = #expect(throws: StoreError.self) {
                try store.transact(lane: lane) { try $0.set([1], to: []) }
            }
            #expect(error?.code == .unavailable)
            #expect((error?.fields["attempts"]).flatMap { Int($0) } ?? 0 > 0)
        }
    }

    @Test("a key that was read and is absent is inserted, alone or in a range, and any other is set")
    func inserts() throws {
        let store = makeStore()
        try store.transact { try $0.set([1], to: [1]) }
        #expect(store.inserts.done == 0)
        try store.transact { transaction in
            _ = try transaction.values(forKeys: [[1], [2]])
            try transaction.scan(KeyRange(from: [5], upTo: [6]), .forward, limit: 10) { _, _ in .next }
            for key: [UInt8] in [[1], [2], [3], [5, 7]] { try transaction.set(key, to: [2]) }
        }
        #expect(store.inserts == (2, 0))
        for key: [UInt8] in [[1], [2], [3], [5, 7]] { #expect(try store.read { try $0.number(key) } == 2) }
    }

    @Test("a key that its writer calls new is inserted without a look-up, unless the group has written it before")
    func newKeys() throws {
        let store = makeStore()
        try store.transact { try $0.set([2], to: [1]) }
        try store.transact { transaction in
            try transaction.insert([1], [1])
            try transaction.delete([2])
            try transaction.insert([2], [2])
            try transaction.insert([3], [3])
            try transaction.delete([3])
        }
        #expect(store.inserts == (1, 0))
        #expect(store.statistics.conflicts == 0)
        #expect(try store.read { try [$0.number([1]), $0.number([2])] } == [1, 2])
        #expect(try store.read { try $0.value(forKey: [3]) } == nil)
    }

    @Test("an entry that its writer wrongly calls new costs a conflict, and is written")
    func wronglyNew() throws {
        let store = makeStore()
        try store.transact { try $0.set([1], to: [1]) }
        try store.transact { try $0.insert([1], [2]) }
        #expect(try store.read { try $0.number([1]) } == 2)
        #expect(store.inserts == (0, 1))
        #expect(store.statistics.conflicts == 1)
    }

    @Test("a division is made with the writes of its body, and not if the body throws")
    func divisions() throws {
        struct Refusal: Error {}
        let store = makeStore()
        // The other one of the group commits.
        try hold(store, until: 2) { index in
            guard index == 0 else { return try store.transact(lane: lane) { try $0.set([7], to: []) } }
            #expect(throws: Refusal.self) {
                try store.transact(lane: lane) { writer in
                    writer.divide(at: [1], true)
                    try writer.set([1], to: [])
                    throw Refusal()
                }
            }
        }
        #expect(store.divisions == [])
        try store.transact { writer in
            writer.divide(at: [2], true)
            try writer.set([2], to: [])
        }
        #expect(store.divisions == [[2]])
        try store.transact { writer in
            writer.divide(at: [2], false)
            try writer.delete([2])
        }
        #expect(store.divisions == [])
    }

    @Test("a conflict that a body itself throws is not tried again")
    func ownConflict() throws {
        let store = makeStore()
        var runCount = 0
        let error = #expect(throws: StoreError.self) {
            try store.transact { _ in
                runCount += 1
                throw StoreError(.conflict, "The body's own.")
            }
        }
        #expect(error?.code == .conflict)
        #expect(runCount == 1)
    }
}

@Suite("Callers of one lane over a wire")
struct WireLaneTests {
    @Test("callers that wait commit together: two trips for all, each body on its own thread")
    func together() throws {
        let store = makeStore()
        let results = Locked<[Int]>([])
        let strangers = Locked(0)
        try hold(store, until: 8) { _ in
            let own = ObjectIdentifier(Thread.current)
            let result = try store.transact(lane: lane) { transaction in
                if ObjectIdentifier(Thread.current) != own { strangers.withLock { $0 += 1 } }
                return try transaction.increment([1])
            }
            results.withLock { $0.append(result) }
        }
        #expect(results.value.sorted() == Array(1...8))
        #expect(strangers.value == 0)
        #expect(store.statistics.rehearsals == 8)
        #expect(store.statistics.trips == 2)
        #expect(store.statistics.groupsCommitted == 1)
        #expect(store.statistics.transactionsCommitted == 8)
        #expect(try store.read { try $0.number([1]) } == 8)
    }

    @Test("what a group needs first is fetched in one trip, although each caller needs something else")
    func union() throws {
        let store = makeStore()
        try hold(store, until: 6) { index in
            try store.transact(lane: lane) { transaction in
                transaction.prefetch([[2, UInt8(index)], [3, UInt8(index)]])
                try transaction.increment([2, UInt8(index)])
                try transaction.increment([3, UInt8(index)])
            }
        }
        #expect(store.statistics.trips == 2)
        #expect(store.takeLog().count == 2)
        #expect(try store.read { try $0.number([3, 5]) } == 1)
    }

    @Test("a group that meets a conflict runs again as a whole, those included that had thrown")
    func conflict() throws {
        struct Refused: Error {}
        let store = makeStore()
        // The first commit is the group's: who holds the lane writes and reads nothing.
        store.plan(TripFault(.commit, .conflict, repetitions: 2))
        let runCount = Locked(0)
        let refusedCount = Locked(0)
        try hold(store, until: 6) { index in
            do {
                try store.transact(lane: lane) { transaction in
                    let number = try transaction.increment([1])
                    runCount.withLock { $0 += 1 }
                    if index % 2 == 0 { throw Refused() }
                    try transaction.set([2, UInt8(index)], to: [UInt8(number)])
                }
            } catch is Refused {
                refusedCount.withLock { $0 += 1 }
            }
        }
        #expect(runCount.value == 18)
        #expect(refusedCount.value == 3)
        #expect(store.statistics.conflicts == 2)
        #expect(try store.read { try $0.number([1]) } == 3)
    }

    @Test("a conflict in the middle of a group that a body ignores throws away the whole attempt")
    func ignoredConflict() throws {
        let store = makeStore()
        // The second fetch is that of a body, after the first one of all.
        store.plan(TripFault(.fetch, .conflict, at: 2))
        try hold(store, until: 4) { index in
            try store.transact(lane: lane) { transaction in
                try transaction.increment([1])
                _ = try? transaction.value(forKey: [2, UInt8(index)])
                try transaction.set([3, UInt8(index)], to: [])
            }
        }
        #expect(store.statistics.conflicts == 1)
        #expect(store.statistics.transactionsCommitted == 4)
        #expect(try store.read { try $0.number([1]) } == 4)
    }

    @Test("an error that another run would not help strikes one caller, and the others run alone")
    func fatal() throws {
        let store = makeStore()
        store.plan(TripFault(.commit, .fatal(.inputOutput), repetitions: 2))
        let failures = Locked<[StoreError.Code]>([])
        try hold(store, until: 5) { _ in
            do {
                _ = try store.transact(lane: lane) { try $0.increment([1]) }
            } catch let error as StoreError {
                failures.withLock { $0.append(error.code) }
            }
        }
        #expect(failures.value == [.inputOutput])
        #expect(try store.read { try $0.number([1]) } == 4)
        #expect(store.statistics.groupsCommitted == 4)
    }

    @Test("an unknown outcome is never run again: all callers of the group get it")
    func unknown() throws {
        let store = makeStore()
        store.plan(TripFault(.commit, .fatal(.commitUnknown)))
        let failures = Locked<[StoreError.Code]>([])
        try hold(store, until: 5) { _ in
            do {
                _ = try store.transact(lane: lane) { try $0.increment([1]) }
            } catch let error as StoreError {
                failures.withLock { $0.append(error.code) }
            }
        }
        #expect(failures.value == Array(repeating: .commitUnknown, count: 5))
    }

    @Test("a caller that waits too long for its lane leaves with unavailable, and the lane goes on")
    func deadline() throws {
        let store = makeStore { $0.wire.deadlineSeconds = 0.1 }
        let isHeld = Latch("the lane to be taken")
        let hasLeft = Latch("the other caller to leave")
        try TestThreads.run(2) { thread in
            if thread == 0 {
                try store.transact(lane: lane) { transaction in
                    isHeld.open()
                    try hasLeft.wait()
                    try transaction.increment([1])
                }
            } else {
                defer { hasLeft.open() }
                try isHeld.wait()
                let error = #expect(throws: StoreError.self) {
                    _ = try store.transact(lane: lane) { try $0.increment([1]) }
                }
                #expect(error?.code == .unavailable)
            }
        }
        #expect(try store.transact(lane: lane) { try $0.increment([1]) } == 2)
    }

    @Test("when every commit of a lane fails until all deadlines, all callers leave with unavailable")
    func everybodysDeadline() throws {
        let store = makeStore { $0.wire.deadlineSeconds = 0.1 }
        store.plan(TripFault(.commit, .conflict, repetitions: 1_000_000))
        let failures = Locked<[StoreError.Code]>([])
        try TestThreads.run(8) { thread in
            for _ in 0..<3 {
                do {
                    _ = try store.transact(lane: lane) { try $0.increment([UInt8(thread)]) }
                } catch let error as StoreError {
                    failures.withLock { $0.append(error.code) }
                }
            }
        }
        #expect(failures.value == Array(repeating: .unavailable, count: 24))
        #expect(store.statistics.transactionsCommitted == 0)
    }

    @Test("callers of a group whose leader has no time left go on with what time they have")
    func leadersDeadline() throws {
        let store = makeStore { $0.wire.deadlineSeconds = 2 }
        let isHeld = Latch("the lane to be taken")
        let before = store.statistics.rehearsals
        let codes = Locked<[Int: StoreError.Code]>([:])
        try TestThreads.run(5) { thread in
            if thread == 0 {
                try store.transact(lane: lane) { transaction in
                    isHeld.open()
                    while store.statistics.rehearsals < before + 4 { TestThreads.yield() }
                    store.plan(TripFault(.beginning, .lost))
                    try transaction.increment([1])
                }
                return
            }
            try isHeld.wait()
            // The others come a second later than their leader.
            if thread > 1 {
                while store.statistics.rehearsals == before { TestThreads.yield() }
                Thread.sleep(forTimeInterval: 1)
            }
            do {
                _ = try store.transact(lane: lane) { try $0.increment([1]) }
            } catch let error as StoreError {
                codes.withLock { $0[thread] = error.code }
            }
        }
        #expect(codes.value == [1: .unavailable])
        #expect(try store.read { try $0.number([1]) } == 4)
    }

    @Test("a group is never larger than a transaction may be, and callers that write much go one after another")
    func largeGroups() throws {
        let store = makeStore { $0.wire.groupByteCount = 100_000_000 }
        let value = [UInt8](repeating: 1, count: 90_000)
        try hold(store, until: 6) { index in
            try store.transact(lane: lane) { transaction in
                try transaction.increment([1])
                for part in 0..<40 { try transaction.set([2, UInt8(index), UInt8(part)], to: value) }
            }
        }
        #expect(store.largestCommitByteCount <= StoreLimits.maximumTransactionByteCount)
        #expect(store.statistics.groupsCommitted == 3)
        #expect(try store.read { try $0.number([1]) } == 6)

        let small = makeStore { $0.wire.groupByteCount = 1_000 }
        try hold(small, until: 6) { _ in
            try small.transact(lane: lane) { transaction in
                try transaction.increment([1])
                try transaction.set([2], to: [UInt8](repeating: 0, count: 2_000))
            }
        }
        #expect(small.statistics.groupsCommitted == 6)
    }

    @Test("a group takes no more callers than it has room for")
    func room() throws {
        let store = makeStore { $0.wire.groupMemberCount = 3 }
        try hold(store, until: 7) { _ in _ = try store.transact(lane: lane) { try $0.increment([1]) } }
        #expect(store.statistics.groupsCommitted == 3)
        #expect(try store.read { try $0.number([1]) } == 7)
    }

    @Test("closing waits for the callers that queue, and refuses later ones")
    func closing() throws {
        let store = makeStore()
        let doneCount = Locked(0)
        let isHeld = Latch("the lane to be taken")
        try TestThreads.run(6) { thread in
            switch thread {
            case 0:
                try store.transact(lane: lane) { transaction in
                    isHeld.open()
                    while store.statistics.rehearsals < 4 { TestThreads.yield() }
                    for _ in 0..<200 { TestThreads.yield() }
                    try transaction.increment([1])
                }
            case 1:
                try isHeld.wait()
                while store.statistics.rehearsals < 4 { TestThreads.yield() }
                store.close()
                #expect(doneCount.value == 4)
                let error = #expect(throws: StoreError.self) { try store.transact(lane: lane) { _ in } }
                #expect(error?.code == .closed)
            default:
                try isHeld.wait()
                try store.transact(lane: lane) { transaction in
                    try transaction.increment([1])
                    transaction.onPublish { _ in doneCount.withLock { $0 += 1 } }
                }
            }
        }
    }

    @Test("a rehearsal writes nothing, publishes nothing, and its errors are ignored")
    func rehearsals() throws {
        let store = makeStore()
        let runs = Locked<[Int]>([])
        let actionCount = Locked(0)
        try hold(store, until: 1, first: { try $0.set([9], to: [7]) }) { _ in
            let run = Locked(0)
            let found = try store.transact(lane: lane) { transaction in
                let number = run.withLock { number in
                    number += 1
                    return number
                }
                try transaction.set([8, UInt8(number)], to: [])
                transaction.onPublish { _ in actionCount.withLock { $0 += 1 } }
                return try transaction.number([9])
            }
            runs.withLock { $0 = [run.value, found] }
        }
        #expect(runs.value == [2, 7])
        #expect(actionCount.value == 1)
        #expect(try store.read { try $0.contains([8, 1]) } == false)
        #expect(try store.read { try $0.contains([8, 2]) })
    }
}
