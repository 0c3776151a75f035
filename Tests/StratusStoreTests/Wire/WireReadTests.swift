// What reads over a wire cost in trips, and what happens to a reader whose connection is lost. The conformance suite
// tests what every store must do.

import StratusStore
import StratusTestSupport
import Testing

private let range = KeyRange(from: [1], upTo: [2])

/// A store with keys from [1, 0, 0] on, each with its number as its value.
private func makeStore(
    _ count: Int = 0, configure: (inout TripStore.Options) -> Void = { _ in }
) throws -> TripStore {
    var options = TripStore.Options()
    configure(&options)
    let memory = MemoryStore()
    try memory.transact { transaction in
        for number in 0..<count { try transaction.set(key(number), to: [UInt8(number & 0xFF)]) }
    }
    return TripStore(memory, options: options)
}

private func key(_ number: Int) -> [UInt8] { [1, UInt8(number >> 8), UInt8(number & 0xFF)] }

extension OrderedStore {
    /// The trips of a call.
    fileprivate func trips(_ body: () throws -> Void) rethrows -> Int {
        let before = statistics.trips
        try body()
        return statistics.trips - before
    }
}

@Suite("Reads over a wire")
struct WireReadTests {
    @Test("announced reads need one trip together, reads that were not announced one each")
    func announcing() throws {
        let store = try makeStore(10)
        let announced = try store.trips {
            try store.read { reader in
                reader.prefetch([key(1), key(2), key(90)])
                reader.prefetch(range, .backward, limit: 3)
                #expect(try reader.value(forKey: key(2)) == [2])
                #expect(try reader.values(forKeys: [key(1), key(90), key(2)]) == [[1], nil, [2]])
                try reader.scan(range, .backward, limit: 3) { _, _ in .next }
                // Keys between the last three are known too.
                #expect(try reader.contains(key(8) + [0]) == false)
            }
        }
        #expect(announced == 1)
        let single = try store.trips {
            try store.read { reader in
                for number in [1, 2, 90] { _ = try reader.value(forKey: key(number)) }
            }
        }
        #expect(single == 3)
    }

    /// Follows an entry to the one that is twice as far on.
    private static let doubling: FetchFollower = { entry, _, reads in
        let number = Int(entry[1]) << 8 | Int(entry[2])
        reads.add(key(2 * number), following: doubling)
    }

    @Test("what follows from fetched entries is fetched with the next trip, for all entries together")
    func followingEntries() throws {
        let store = try makeStore(1_000)
        let trips = try store.trips {
            try store.read { reader in
                var plan = ReadPlan()
                for number in [1, 3, 5, 7] { plan.add(key(number), following: Self.doubling) }
                plan.add(KeyRange(from: key(500), upTo: key(510)), limit: 2) { entry, _, reads in
                    reads.add(key(Int(entry[2]) + 300))
                }
                reader.prefetch(plan)
                for number in [1, 3, 5, 7, 2, 6, 10, 14, 4, 12, 20, 28] {
                    let value = try reader.value(forKey: key(number))
                    #expect(value == [UInt8(number)])
                }
                // 500 and 501 are 244 and 245 beyond 256.
                #expect(try reader.values(forKeys: [key(544), key(545)]) == [[0x20], [0x21]])
            }
        }
        #expect(trips == 3)
    }

    @Test("what follows from an entry that is known already is announced at once, and a circle of entries has an end")
    func followingKnown() throws {
        let store = try makeStore(10)
        let trips = try store.trips {
            try store.read { reader in
                try reader.scan(range, .forward, limit: .max) { _, _ in .next }
                var plan = ReadPlan()
                // It follows from itself.
                plan.add(key(0), following: Self.doubling)
                plan.add(key(1)) { _, _, reads in reads.add(KeyRange(from: [2], upTo: [3]), limit: 1) }
                reader.prefetch(plan)
                #expect(try reader.contains([3]) == false)
                #expect(try reader.contains([2]) == false)
            }
        }
        #expect(trips == 2)
    }

    @Test("large scans wait for the next trip when a plan has as many bytes as a reader remembers")
    func largeScans() throws {
        let store = try makeStore(9) { $0.wire.bufferByteCount = 1_000 }
        let trips = try store.trips {
            try store.read { reader in
                var plan = ReadPlan()
                for number in 0..<9 {
                    plan.add(KeyRange(from: key(number), upTo: key(number + 1)), limit: 1, byteCount: 300)
                }
                reader.prefetch(plan)
                for number in 0..<9 {
                    let value = try reader.value(forKey: key(number))
                    #expect(value == [UInt8(number)])
                }
            }
        }
        #expect(trips == 3)
    }

    @Test("several keys at once need one trip, and a reader that reads nothing needs none")
    func values() throws {
        let store = try makeStore(3_000)
        #expect(try store.trips { try store.read { _ = try $0.values(forKeys: (0..<3_000).map(key)) } } == 1)
        #expect(try store.trips { try store.read { $0.prefetch([key(1)]) } } == 0)
    }

    @Test("a range that was found empty answers every look-up in it")
    func emptyRange() throws {
        let store = try makeStore()
        let trips = try store.trips {
            try store.transact { transaction in
                transaction.expectWrites(intoEmpty: range)
                for number in 0..<400 where try !transaction.contains(key(number)) {
                    try transaction.set(key(number), to: [])
                }
            }
        }
        #expect(trips == 2)
        #expect(try store.read { try $0.contains(key(399)) })
    }

    @Test("a scan that nobody announced doubles its pages, and one with a limit fetches no more than that")
    func pages() throws {
        let store = try makeStore(1_000)
        let all = try store.trips { try store.read { try $0.scan(range) { _, _ in .next } } }
        #expect(all == 6)  // 32, 32, 64, 128, 256, 488 of 512
        _ = store.takeLog()
        try store.read { try $0.scan(range, .forward, limit: 5) { _, _ in .next } }
        #expect(store.takeLog().count == 1)
    }

    @Test("a following scan needs one trip for its page and one for all that its entries lead to")
    func following() throws {
        let store = try makeStore(600)
        let trips = try store.trips {
            try store.read { reader in
                reader.prefetch(KeyRange(from: key(0), upTo: key(300)), .forward, limit: 257)
                var count = 0
                try reader.scan(KeyRange(from: key(0), upTo: key(300)), .forward, limit: 257) { key, _, reads in
                    reads.add([1, key[1] + 1, key[2]])
                } _: { key, _ in
                    count += 1
                    _ = try reader.value(forKey: [1, key[1] + 1, key[2]])
                    return .next
                }
                #expect(count == 257)
            }
        }
        #expect(trips == 2)
    }

    @Test("own writes need no trip, writes alone need one, and a transaction without either none")
    func transactions() throws {
        let store = try makeStore(3)
        let writes = try store.trips {
            try store.transact { transaction in
                try transaction.set(key(1), to: [9])
                #expect(try transaction.value(forKey: key(1)) == [9])
                try transaction.delete(key(2))
                #expect(try transaction.contains(key(2)) == false)
            }
        }
        #expect(writes == 1)
        #expect(try store.trips { _ = try store.transact { try $0.value(forKey: key(0)) } } == 2)
        #expect(try store.trips { try store.transact { _ in } } == 0)
    }

    @Test("a connection that is lost before its first answer is replaced, and the body runs once")
    func lostEarly() throws {
        let store = try makeStore(3)
        store.plan(TripFault(.fetch, .lost, repetitions: 2))
        var runCount = 0
        let value = try store.read { reader in
            runCount += 1
            return try reader.value(forKey: key(1))
        }
        #expect(value == [1])
        #expect(runCount == 1)
        #expect(store.statistics.trips == 3)
    }

    @Test("a connection that is lost later ends the snapshot, whose known part can still be read")
    func lostLate() throws {
        let store = try makeStore(3)
        store.plan(TripFault(.fetch, .lost, at: 2))
        try store.read { reader in
            let first = try reader.value(forKey: key(1))
            #expect(first == [1])
            for _ in 0..<2 {
                let error = #expect(throws: StoreError.self) { try reader.value(forKey: key(2)) }
                #expect(error?.code == .snapshotEnded)
            }
            #expect(try reader.value(forKey: key(1)) == [1])
        }
        #expect(try store.read { try $0.value(forKey: key(2)) } == [2])
    }

    @Test("a reader gives up when no connection answers before its deadline, and says how often it tried")
    func readersDeadline() throws {
        let store = try makeStore(3) { $0.wire.deadlineSeconds = 0.05 }
        store.plan(TripFault(.fetch, .lost, repetitions: 100_000))
        let error = #expect(throws: StoreError.self) { try store.read { try $0.value(forKey: key(1)) } }
        #expect(error?.code == .unavailable)
        #expect(error?.fields["attempts"] != nil)
    }

    @Test("a buffer that is full forgets, and reads on")
    func room() throws {
        let store = try makeStore(2_000) { $0.wire.bufferByteCount = 8 << 10 }
        try store.read { reader in
            for _ in 0..<2 {
                var count = 0
                try reader.scan(range) { key, _ in
                    count += 1
                    // Drops the scan's page from the buffer.
                    if count % 50 == 0 { _ = try reader.values(forKeys: (0..<200).map { [5, UInt8($0)] + [key[2]] }) }
                    return .next
                }
                #expect(count == 2_000)
            }
        }
    }
}
