// The limits hold on every store, at the boundary: what fits is stored completely, what does not is refused and changes
// nothing.

internal import StratusStore

extension StoreConformance {
    static let limitChecks: [Check] = [
        Check("a key of the largest length is kept, one byte more is refused") { store in
            let largest = [UInt8](repeating: 0x61, count: StoreLimits.maximumKeyByteCount)
            try store.set([Entry(largest, [1])])
            try requireEqual(try store.entries(), [Entry(largest, [1])], "entries")
            for operation in ["set", "delete"] {
                try requireStoreError(.tooLarge, "\(operation) of a longer key") {
                    try store.transact { transaction in
                        if operation == "set" {
                            try transaction.set(largest + [0], to: [])
                        } else {
                            try transaction.delete(largest + [0])
                        }
                    }
                }
            }
            try requireEqual(try store.entries(), [Entry(largest, [1])], "entries afterwards")
        },

        Check("a value of the largest length is kept, one byte more is refused") { store in
            let largest = [UInt8](repeating: 0x62, count: StoreLimits.maximumValueByteCount)
            try store.set([Entry([1], largest)])
            try requireEqual(try store.entries(), [Entry([1], largest)], "entries")
            try requireStoreError(.tooLarge, "a longer value") { try store.set([Entry([1], largest + [0])]) }
            try requireEqual(try store.entries(), [Entry([1], largest)], "entries afterwards")
        },

        Check("a transaction of the largest size is committed, one byte more is refused") { store in
            // Each entry counts 100,000 bytes: its value, its key of four thrice, and 33.
            let value = [UInt8](repeating: 0x63, count: 99_955)
            let entryCount = StoreLimits.maximumTransactionByteCount / 100_000
            func fill(_ transaction: any StoreTransaction, lastValue: [UInt8]) throws {
                for index in 1..<entryCount { try transaction.set([9, 9, 9, UInt8(index)], to: value) }
                try transaction.set([9, 9, 9, 0], to: lastValue)
            }
            for refused in ["byte", "set", "delete"] {
                try requireStoreError(.tooLarge, "one more \(refused)") {
                    try store.transact { transaction in
                        try fill(transaction, lastValue: refused == "byte" ? value + [0] : value)
                        if refused == "set" {
                            try transaction.set([1], to: [])
                        } else {
                            try transaction.delete([1])
                        }
                    }
                }
                try requireEqual(try store.entries().count, 0, "entries after a refusal")
            }
            try store.transact { transaction in
                try fill(transaction, lastValue: value)
                try requireEqual(
                    transaction.countedByteCount, StoreLimits.maximumTransactionByteCount, "counted bytes")
            }
            try requireEqual(try store.entries().count, entryCount, "entries")
        },

        Check("a transaction counts its writes, and the ranges that it reads or writes, whatever they hold") { store in
            try store.set([Entry([1, 2, 3], [9])])
            try store.transact { try countEach($0) }
        },

        Check("a transaction that has read too much reads on, and its next write is refused") { store in
            let largest = [UInt8](repeating: 0x61, count: StoreLimits.maximumKeyByteCount)
            try store.transact { transaction in
                try transaction.set([1], to: [1])
                while transaction.countedByteCount <= StoreLimits.maximumTransactionByteCount {
                    _ = try transaction.contains(largest)
                }
                let count = transaction.countedByteCount
                try requireStoreError(.tooLarge, "a set") { try transaction.set([2], to: []) }
                try requireStoreError(.tooLarge, "a delete") { try transaction.delete([1]) }
                try requireEqual(transaction.countedByteCount, count, "counted bytes after two refusals")
                try requireEqual(try transaction.value(forKey: [1]), [1], "a value")
            }
            try requireEqual(try store.entries(), [Entry([1], [1])], "entries")
        },

        Check("a refused write changes nothing, and its transaction may go on") { store in
            try store.set([Entry([1], [1])])
            try store.transact { transaction in
                try transaction.set([2], to: [2])
                let tooLong = [UInt8](repeating: 0, count: StoreLimits.maximumValueByteCount + 1)
                try requireStoreError(.tooLarge, "a long value") { try transaction.set([1], to: tooLong) }
                try requireEqual(try transaction.value(forKey: [1]), [1], "the value in the transaction")
                try requireEqual(transaction.hasUnpublishedWrite(forKey: [1]), false, "an unpublished write")
            }
            try requireEqual(try store.entries(), [Entry([1], [1]), Entry([2], [2])], "entries")
        },
    ]
}

/// Does one thing after another in a transaction in which only the key 1 2 3 has a value, and compares what it counts.
private func countEach(_ transaction: any StoreTransaction) throws {
    var expected = 0
    func step(_ added: Int, _ what: String, _ body: () throws -> Void) throws {
        try body()
        expected += added
        try requireEqual(transaction.countedByteCount, expected, "counted bytes after \(what)")
    }
    let range = KeyRange(from: [1], upTo: [2, 2])
    try step(0, "nothing") {}
    try step((3 + 5 + 16) + (6 + 1 + 16), "a set") { try transaction.set([1, 2, 3], to: [1, 2, 3, 4, 5]) }
    try step((3 + 0 + 16) + (6 + 1 + 16), "a second set") { try transaction.set([1, 2, 3], to: []) }
    try step((2 + 16) + (4 + 1 + 16), "a delete") { try transaction.delete([1, 2]) }
    try step(6 + 1 + 16, "a look-up") { _ = try transaction.value(forKey: [1, 2, 3]) }
    try step(2 + 1 + 16, "a look-up of an absent key") { _ = try transaction.contains([7]) }
    try step(19 + 19 + 21, "three keys at once") { _ = try transaction.values(forKeys: [[7], [7], [1, 2]]) }
    try step(1 + 2 + 16, "a scan") { _ = try transaction.entries(range) }
    try step(1 + 2 + 16, "a scan that stops") { try transaction.scan(range, .backward) { _, _ in .stop } }
    try step(1 + 2 + 16, "a scan with a follower") {
        try transaction.scan(range, .forward, limit: 3, following: { _, _, _ in }, { _, _ in .next })
    }
    try step(0, "a scan of nothing") {
        _ = try transaction.entries(range, limit: 0)
        _ = try transaction.entries(KeyRange(from: [2], upTo: [2]))
        _ = try transaction.entries(KeyRange(from: [3], upTo: [2]))
    }
    try step(0, "what is no read") {
        transaction.prefetch([[1], [2]])
        transaction.prefetch(range, .forward, limit: 3)
        transaction.expectWrites(intoEmpty: KeyRange(from: [5], upTo: [6]))
        _ = transaction.hasUnpublishedWrite(forKey: [1])
        _ = transaction.hasUnpublishedWrite(in: range)
        _ = transaction.version
    }
    try step(0, "a write that is refused") {
        let tooLong = [UInt8](repeating: 0, count: StoreLimits.maximumValueByteCount + 1)
        try requireStoreError(.tooLarge, "a long value") { try transaction.set([1], to: tooLong) }
    }
}
