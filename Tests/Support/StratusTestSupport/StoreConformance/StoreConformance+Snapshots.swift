// A reader sees exactly the commits up to its version, whatever is written meanwhile, and does not wait for writers.

internal import StratusStore

extension StoreConformance {
    static let snapshotChecks: [Check] = [
        Check("a snapshot stays as it was while others write") { store in
            let before = (0..<40).map { Entry([$0 * 2], [1]) }
            try store.set(before)
            try store.read { reader in
                let version = reader.version
                try requireEqual(try reader.entries(), before, "before the writes")
                for round in UInt8(0)..<3 {
                    try store.transact { transaction in
                        try transaction.set([round * 2], to: [9])
                        try transaction.delete([40 + round * 2])
                        try transaction.set([round * 2 + 1], to: [9])
                    }
                    try requireEqual(try reader.entries(), before, "forward after write \(round)")
                    try requireEqual(try reader.entries(.everything, .backward), before.reversed(), "backward")
                    try requireEqual(try reader.value(forKey: [round * 2]), [1], "a replaced value")
                    try requireEqual(try reader.value(forKey: [40 + round * 2]), [1], "a deleted value")
                    try requireEqual(try reader.value(forKey: [round * 2 + 1]), nil, "a new value")
                    try requireEqual(reader.version, version, "the version")
                }
            }
            try requireEqual(try store.entries().count, 40, "entries afterwards")
        },

        Check("a scan stays as it was while others write between its steps") { store in
            let before = (0..<40).map { Entry([$0 * 2], [1]) }
            for direction in [ScanDirection.forward, .backward] {
                try store.set(before)
                var visited: [Entry] = []
                try store.read { reader in
                    try reader.scan(KeyRange(from: [0], upTo: [80]), direction) { key, value in
                        visited.append(Entry([UInt8](copying: key), [UInt8](copying: value)))
                        if visited.count == 3 {
                            try store.transact { transaction in
                                for key in UInt8(0)..<80 { try transaction.delete([key]) }
                                try transaction.set([41], to: [2])
                            }
                        }
                        return .next
                    }
                }
                try requireEqual(visited, direction == .forward ? before : before.reversed(), "\(direction)")
                try requireEqual(try store.entries(), [Entry([41], [2])], "entries afterwards")
                try store.transact { try $0.delete([41]) }
            }
        },

        Check("every reader sees whole transactions only, while threads move amounts between keys") { store in
            let keyCount = 10
            try store.transact { transaction in
                for key in 0..<keyCount { try transaction.setNumber(100, forKey: [UInt8(key)]) }
            }
            let missing = Locked(2)
            try TestThreads.run(4) { thread in
                if thread < 2 {
                    defer { missing.withLock { $0 -= 1 } }
                    var random = SplitMix64(seed: UInt64(thread))
                    for _ in 0..<40 { try moveAmount(in: store, keyCount: keyCount, &random) }
                } else {
                    var isLast = false
                    while !isLast {
                        // One more round after the writers have ended, so that every reader reads at least once.
                        isLast = missing.value == 0
                        try store.read { reader in
                            let forward = try reader.entries()
                            let backward = try reader.entries(.everything, .backward)
                            try requireEqual(backward, forward.reversed(), "one snapshot in both directions")
                            let sum = forward.reduce(0) { $0 + Int($1.value[1]) << 8 + Int($1.value[2]) }
                            try requireEqual(sum, keyCount * 100, "the sum")
                        }
                    }
                }
            }
        },

        Check("a reader neither waits for a running transaction nor sees what it has written") { store in
            try store.set([Entry([1], [1])])
            let hasWritten = Latch("the transaction to write")
            let hasRead = Latch("the reader to end")
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try store.transact { transaction in
                        try transaction.set([1], to: [2])
                        hasWritten.open()
                        try hasRead.wait()
                    }
                } else {
                    defer { hasRead.open() }
                    try hasWritten.wait()
                    try requireEqual(try store.entries(), [Entry([1], [1])], "entries while the transaction runs")
                }
            }
            try requireEqual(try store.entries(), [Entry([1], [2])], "entries afterwards")
        },

        Check("who has been told that a transaction is done reads its writes") { store in
            for number in 1...10 {
                try store.transact { try $0.setNumber(number, forKey: [1]) }
                let seen = Locked(0)
                try TestThreads.run(1) { _ in
                    let number = try store.read { try $0.number(forKey: [1]) }
                    seen.withLock { $0 = number }
                }
                try requireEqual(seen.value, number, "the number another thread read")
            }
        },
    ]
}

private func moveAmount(in store: any OrderedStore, keyCount: Int, _ random: inout SplitMix64) throws {
    let source = [UInt8.random(in: 0..<UInt8(keyCount), using: &random)]
    let target = [UInt8.random(in: 0..<UInt8(keyCount), using: &random)]
    try store.transact { transaction in
        let amount = min(7, try transaction.number(forKey: source))
        try transaction.setNumber(try transaction.number(forKey: source) - amount, forKey: source)
        try transaction.setNumber(try transaction.number(forKey: target) + amount, forKey: target)
    }
}
