// Reads that are asked for or announced together give what single reads give.

internal import StratusStore

/// A key for each number, in their order.
private func key(_ number: Int) -> [UInt8] {
    [7] + (0..<3).map { UInt8(truncatingIfNeeded: number >> (16 - 8 * $0)) }
}

extension StoreConformance {
    static let prefetchingChecks: [Check] = [
        Check("thousands of keys at once, repeated, absent, just written or deleted, give what each gives alone") {
            store in
            let keys = (0..<3_000).map(key)
            try store.set(keys.indices.filter { $0 % 3 != 0 }.map { Entry(keys[$0], [1, UInt8($0 & 0xFF)]) })
            var random = SplitMix64(seed: 4)
            let asked = keys.shuffled(using: &random) + [keys[1], keys[1], keys[0], [6]]
            func compare(_ reader: any StoreReader, _ place: String) throws {
                let expected = try asked.map { try reader.value(forKey: $0) }
                let before = reader.cost.pointReads
                let found = try reader.values(forKeys: asked)
                try requireEqual(reader.cost.pointReads - before, asked.count, "point reads \(place)")
                for index in asked.indices {
                    try requireEqual(found[index], expected[index], "value \(index) \(place)")
                }
                try requireEqual(try reader.values(forKeys: []).count, 0, "the values of no keys \(place)")
            }
            try store.read { try compare($0, "in a reader") }
            try store.transact { transaction in
                try compare(transaction, "in a transaction")
                for index in stride(from: 0, to: keys.count, by: 7) { try transaction.set(keys[index], to: [2]) }
                for index in stride(from: 1, to: keys.count, by: 11) { try transaction.delete(keys[index]) }
                try compare(transaction, "after its own writes")
            }
            try store.read { try compare($0, "afterwards") }
        },

        Check("announcing reads costs nothing and changes no answer, however much is announced") { store in
            let entries = (UInt8(0)..<6).map { Entry([$0], [$0]) }
            try store.set(entries)
            func look(_ reader: any StoreReader, _ place: String) throws {
                let before = reader.cost
                announceMuch(to: reader)
                try requireEqual(reader.cost, before, "the cost of announcing \(place)")
                try requireEqual(try reader.values(forKeys: [[2], [99]]), [[2], nil], "values \(place)")
                try requireEqual(try reader.entries(), entries, "entries \(place)")
                try requireEqual(try reader.entries(.everything, .backward), entries.reversed(), "backward \(place)")
                let spent = reader.cost - before
                try requireEqual(
                    [spent.pointReads, spent.seeks, spent.cursorSteps], [2, 2, 12], "the cost of reading \(place)")
            }
            try store.read { try look($0, "in a reader") }
            try store.transact { try look($0, "in a transaction") }

            let before = store.statistics
            try store.read { announceMuch(to: $0) }
            try store.transact { transaction in
                announceMuch(to: transaction)
                try requireEqual(transaction.countedByteCount, 0, "counted bytes")
            }
            let after = store.statistics
            try requireEqual(after.cost, before.cost, "the cost of announcing alone")
            try requireEqual(after.transactionsCommitted, before.transactionsCommitted, "transactions committed")
        },
    ]
}

private func announceMuch(to reader: any StoreReader) {
    reader.prefetch([[1], [1], [99], []])
    reader.prefetch([])
    reader.prefetch(.everything, .forward, limit: 4)
    reader.prefetch(.everything, .backward, limit: .max)
    reader.prefetch(KeyRange(from: [3], upTo: [3]), .forward, limit: 2)
    reader.prefetch(KeyRange(from: [3], upTo: [2]), .backward, limit: 0)
    var plan = ReadPlan()
    reader.prefetch(plan)
    plan.add([3])
    plan.add(KeyRange(from: [2], upTo: [5]), limit: 2)
    plan.add(KeyRange(from: [2], upTo: [5]), .backward, limit: 2)
    reader.prefetch(plan)
    for part in 0..<100 { reader.prefetch((0..<1_000).map { key(1_000 * part + $0) }) }
}
