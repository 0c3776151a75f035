// Reads that were announced, in part or not at all, give what a store in memory gives, whatever was fetched before.

internal import StratusStore

extension StoreConformance {
    static let fetchedReadChecks: [Check] = [
        Check("announced, partly announced and other reads give the same, at random") { store in
            for round in 0..<12 {
                var random = SplitMix64(seed: UInt64(round))
                let model = MemoryStore()
                try fill(store, model, &random)
                let script = ReadScript(seed: random.next(), stepCount: 80)
                try store.read { reader in try model.read { try script.compare(reader, $0) } }
                try store.transact { transaction in try model.read { try script.compare(transaction, $0) } }
            }
        },

        Check("own writes win over announced reads, before and after them, at random") { store in
            struct Undo: Error {}
            for round in 0..<12 {
                var random = SplitMix64(seed: 100 + UInt64(round))
                let model = MemoryStore()
                try fill(store, model, &random)
                let script = ReadScript(seed: random.next(), stepCount: 80)
                try store.transact { transaction in
                    var compared: Result<Void, any Error>?
                    do {
                        try model.transact { other in
                            compared = Result { try script.compare(transaction, other, writing: (transaction, other)) }
                            throw Undo()
                        }
                    } catch is Undo {}
                    try compared?.get()
                }
            }
        },

        Check("a delete hides an announced entry, and a scan shows announced and own entries in order") { store in
            try store.set((0..<8).map { Entry([$0 * 2], [0]) })
            let expected = [Entry([2], [0]), Entry([3], [1]), Entry([6], [2]), Entry([8], [0])]
            try store.transact { transaction in
                try transaction.set([3], to: [1])
                transaction.prefetch([[2], [3], [4], [6]])
                transaction.prefetch(KeyRange(from: [2], upTo: [9]), .forward, limit: 3)
                transaction.prefetch(KeyRange(from: [2], upTo: [9]), .backward, limit: 2)
                _ = try transaction.value(forKey: [0])
                try transaction.delete([4])
                try transaction.set([6], to: [2])
                try requireEqual(
                    try transaction.values(forKeys: [[2], [3], [4], [6]]), [[0], [1], nil, [2]], "values")
                let range = KeyRange(from: [2], upTo: [9])
                try requireEqual(try transaction.entries(range), expected, "entries")
                try requireEqual(try transaction.entries(range, .backward), expected.reversed(), "entries backward")
                for limit in 1...4 {
                    try requireEqual(
                        try transaction.entries(range, limit: limit), Array(expected.prefix(limit)), "limit \(limit)")
                }
            }
        },

        Check("reads that are announced after others have written show the snapshot") { store in
            let before = (0..<6).map { Entry([$0], [0]) }
            try store.set(before)
            try store.read { reader in
                _ = try reader.value(forKey: [0])
                try store.transact { transaction in
                    for key in UInt8(1)..<12 { try transaction.set([key], to: [1]) }
                    try transaction.delete([2])
                }
                reader.prefetch([[1], [2], [9]])
                reader.prefetch(.everything, .forward, limit: 20)
                try requireEqual(try reader.values(forKeys: [[1], [2], [9]]), [[0], [0], nil], "values")
                try requireEqual(try reader.entries(), before, "entries")
                try requireEqual(try reader.entries(.everything, .backward), before.reversed(), "entries backward")
            }
        },

        Check("a following scan visits what a plain scan visits, and reads what its entries lead to") { store in
            try store.set((0..<100).map { Entry([1, $0], [$0]) } + (0..<50).map { Entry([2, $0 * 2], [$0]) })
            let range = KeyRange(from: [1], upTo: [2])
            func look(_ reader: any StoreReader, _ direction: ScanDirection, limit: Int, stopAfter: Int) throws {
                let plain = try reader.entries(range, direction, limit: limit).prefix(stopAfter)
                let before = reader.cost
                var visited: [Entry] = []
                try reader.scan(range, direction, limit: limit, following: lead) { key, value in
                    visited.append(Entry([UInt8](copying: key), [UInt8](copying: value)))
                    let found = try reader.value(forKey: [2, value[0]])
                    try requireEqual(found, value[0] % 2 == 0 ? [value[0] / 2] : nil, "what \(value[0]) leads to")
                    return visited.count == stopAfter ? .stop : .next
                }
                try requireEqual(visited, Array(plain), "\(direction), limit \(limit), stopped after \(stopAfter)")
                let spent = reader.cost - before
                try requireEqual(
                    [spent.seeks, spent.cursorSteps, spent.pointReads], [1, visited.count, visited.count], "costs")
            }
            for direction in [ScanDirection.forward, .backward] {
                for (limit, stopAfter) in [(Int.max, 200), (40, 200), (1, 1), (Int.max, 33), (60, 7)] {
                    try store.read { try look($0, direction, limit: limit, stopAfter: stopAfter) }
                    try store.transact { try look($0, direction, limit: limit, stopAfter: stopAfter) }
                }
            }
        },

        Check("a following scan names thousands of reads without harm, and an error of its follower ends it") { store in
            struct Planned: Error {}
            try store.set((0..<40).map { Entry([1, $0], [$0]) })
            let range = KeyRange(from: [1], upTo: [2])
            try store.read { reader in
                var count = 0
                try reader.scan(range, .forward, limit: .max) { key, _, reads in
                    for number in 0..<10_000 { reads.add([3, key[1], UInt8(number >> 8), UInt8(number & 0xFF)]) }
                    for number in 0..<600 {
                        reads.add(KeyRange(from: [4, UInt8(number >> 8)], upTo: [5]), limit: number)
                    }
                } visit: { _, _ in
                    count += 1
                    return .next
                }
                try requireEqual(count, 40, "visited entries")

                // Stores that fetch nothing do not call it.
                guard reader.gainsFromPrefetching else { return }
                var visited: [UInt8] = []
                do {
                    try reader.scan(range, .forward, limit: .max) { key, _, _ in
                        if key[1] == 20 { throw Planned() }
                    } visit: { key, _ in
                        visited.append(key[1])
                        return .next
                    }
                    throw ConformanceFailure("nothing was thrown")
                } catch is Planned {}
                try requireEqual(visited, Array(0..<20), "entries before the error")
            }
        },
    ]
}

/// The follower of the check above: the value of an entry names a key.
private func lead(_ key: Span<UInt8>, _ value: Span<UInt8>, _ reads: inout ReadPlan) { reads.add([2, value[0]]) }

extension StoreReader {
    fileprivate func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, _ follow: EntryFollower,
        visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try scan(range, direction, limit: limit, following: follow, visit)
    }
}

// MARK: Random reads

private func drawKey(_ random: inout SplitMix64) -> [UInt8] {
    (0..<Int.random(in: 1...2, using: &random)).map { _ in UInt8.random(in: 0..<24, using: &random) }
}

/// Replaces the contents of both stores with the same random entries.
private func fill(_ store: any OrderedStore, _ model: MemoryStore, _ random: inout SplitMix64) throws {
    let entries = (0..<Int.random(in: 0...150, using: &random)).map { _ in
        Entry(drawKey(&random), [UInt8.random(in: 0...9, using: &random)])
    }
    try store.transact { transaction in
        for entry in try transaction.entries() { try transaction.delete(entry.key) }
        for entry in entries { try transaction.set(entry.key, to: entry.value) }
    }
    try model.set(entries)
}

/// Random reads and announcements, the same each time it runs.
private struct ReadScript {
    let seed: UInt64
    let stepCount: Int

    /// Runs the steps on both readers, and requires equal answers. With transactions, it also writes the same to both.
    func compare(
        _ reader: any StoreReader, _ model: any StoreReader,
        writing: (any StoreTransaction, any StoreTransaction)? = nil
    ) throws {
        var random = SplitMix64(seed: seed)
        for step in 0..<stepCount {
            do {
                try take(reader, model, writing, &random, nesting: 0)
            } catch {
                throw ConformanceFailure("seed \(seed), step \(step): \(error)")
            }
        }
        try requireEqual(try reader.entries(), try model.entries(), "seed \(seed): everything")
        try requireEqual(
            try reader.entries(.everything, .backward), try model.entries(.everything, .backward),
            "seed \(seed): everything backward")
    }

    private func take(
        _ reader: any StoreReader, _ model: any StoreReader, _ writing: (any StoreTransaction, any StoreTransaction)?,
        _ random: inout SplitMix64, nesting: Int
    ) throws {
        switch Int.random(in: 0..<(writing == nil ? 12 : 16), using: &random) {
        case 0...1: reader.prefetch((0..<Int.random(in: 1...12, using: &random)).map { _ in drawKey(&random) })
        case 2...3:
            reader.prefetch(drawRange(&random), drawDirection(&random), limit: Int.random(in: 0...20, using: &random))
        case 4...5:
            let key = drawKey(&random)
            try requireEqual(try reader.value(forKey: key), try model.value(forKey: key), "the value of \(key)")
        case 6:
            let keys = (0..<Int.random(in: 0...12, using: &random)).map { _ in drawKey(&random) }
            try requireEqual(
                try reader.values(forKeys: keys), try model.values(forKeys: keys), "the values of \(keys)")
        case 7...11: try scan(reader, model, writing, &random, nesting: nesting)
        case 12: writing?.0.expectWrites(intoEmpty: drawRange(&random))
        case 13:
            let key = drawKey(&random)
            try writing?.0.delete(key)
            try writing?.1.delete(key)
        default:
            let (key, value) = (drawKey(&random), [UInt8.random(in: 10...99, using: &random)])
            try writing?.0.set(key, to: value)
            try writing?.1.set(key, to: value)
        }
    }

    private func scan(
        _ reader: any StoreReader, _ model: any StoreReader, _ writing: (any StoreTransaction, any StoreTransaction)?,
        _ random: inout SplitMix64, nesting: Int
    ) throws {
        let (range, direction) = (drawRange(&random), drawDirection(&random))
        let limit = Bool.random(using: &random) ? .max : Int.random(in: 0...8, using: &random)
        let follows = Bool.random(using: &random)
        var expected = try model.entries(range, direction, limit: limit)[...]
        var generator = random
        let visit = { (key: Span<UInt8>, value: Span<UInt8>) throws -> ScanStep in
            let found = Entry([UInt8](copying: key), [UInt8](copying: value))
            try requireEqual(found, expected.popFirst(), "an entry of \(range) \(direction) limit \(limit)")
            if nesting < 2, Int.random(in: 0..<6, using: &generator) == 0 {
                try take(reader, model, writing, &generator, nesting: nesting + 1)
            }
            return .next
        }
        if follows {
            try reader.scan(range, direction, limit: limit, following: { $2.add([UInt8](copying: $0) + [1]) }, visit)
        } else {
            try reader.scan(range, direction, limit: limit, visit)
        }
        random = generator
        try requireEqual(Array(expected), [], "missing entries of \(range) \(direction) limit \(limit)")
    }

    private func drawDirection(_ random: inout SplitMix64) -> ScanDirection {
        Bool.random(using: &random) ? .forward : .backward
    }

    private func drawRange(_ random: inout SplitMix64) -> KeyRange {
        if Int.random(in: 0..<6, using: &random) == 0 { return .everything }
        return KeyRange(from: drawKey(&random), upTo: drawKey(&random))
    }
}
