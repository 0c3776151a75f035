// A transaction sees its own writes, merged with existing entries, by look-ups and by scans.

internal import StratusStore

extension StoreConformance {
    static let ownWriteChecks: [Check] = [
        Check("a transaction finds what it wrote, and misses what it deleted") { store in
            try store.set([Entry([1], [1]), Entry([2], [2])])
            try store.transact { transaction in
                try transaction.set([1], to: [11])
                try transaction.delete([2])
                try transaction.set([3], to: [33])
                try requireEqual(
                    try transaction.values(forKeys: [[1], [2], [3]]), [[11], nil, [33]], "after the first writes")
                try transaction.set([2], to: [22])
                try transaction.delete([3])
                try requireEqual(
                    try transaction.values(forKeys: [[1], [2], [3]]), [[11], [22], nil], "after the second writes")
            }
            try requireEqual(try store.entries(), [Entry([1], [11]), Entry([2], [22])], "entries")
        },

        Check("a scan merges a transaction's sets and deletes with what was there") { store in
            try store.set((0..<10).map { Entry([$0 * 2], [0]) })
            let expected: [Entry] = [
                Entry([1], [1]), Entry([4], [0]), Entry([6], [2]), Entry([7], [1]), Entry([10], [0]), Entry([12], [0]),
                Entry([16], [0]), Entry([19], [1]),
            ]
            try store.transact { transaction in
                for key: UInt8 in [1, 7, 19] { try transaction.set([key], to: [1]) }
                try transaction.set([6], to: [2])
                // At both ends, two in a row, and one that the transaction itself had set.
                for key: UInt8 in [0, 2, 8, 14, 18] { try transaction.delete([key]) }
                try transaction.set([5], to: [1])
                try transaction.delete([5])
                try requireEqual(try transaction.entries(), expected, "forward")
                try requireEqual(try transaction.entries(.everything, .backward), expected.reversed(), "backward")
                for limit in 1...expected.count {
                    try requireEqual(
                        try transaction.entries(limit: limit), Array(expected.prefix(limit)), "limit \(limit)")
                    try requireEqual(
                        try transaction.entries(.everything, .backward, limit: limit),
                        Array(expected.reversed().prefix(limit)), "limit \(limit) backward")
                }
                for lower in UInt8(0)...20 {
                    let range = KeyRange(from: [lower], upTo: [15])
                    let part = expected.filter { $0.key[0] >= lower && $0.key[0] < 15 }
                    try requireEqual(try transaction.entries(range), part, "from \(lower)")
                    try requireEqual(try transaction.entries(range, .backward), part.reversed(), "down to \(lower)")
                }
            }
            try requireEqual(try store.entries(), expected, "entries")
        },

        Check("a scan forgets neither its transaction's deletes nor what lies behind them") { store in
            try store.set((0..<200).map { Entry([$0], [$0]) })
            try store.transact { transaction in
                for key in UInt8(1)..<199 { try transaction.delete([key]) }
                let expected = [Entry([0], [0]), Entry([199], [199])]
                try requireEqual(try transaction.entries(), expected, "forward")
                try requireEqual(try transaction.entries(.everything, .backward), expected.reversed(), "backward")
            }
        },

        Check("a scan sees what had been written when it began, whatever its visitor writes") { store in
            let entries = (0..<60).map { Entry([$0 * 2], [0]) }
            for direction in [ScanDirection.forward, .backward] {
                try store.set(entries)
                try store.transact { transaction in
                    try transaction.set([40], to: [4])
                    var visited: [Entry] = []
                    try transaction.scan(KeyRange(from: [0], upTo: [120]), direction) { key, value in
                        let number = key[0]
                        visited.append(Entry([number], [UInt8](copying: value)))
                        // Deletes the entry, its neighbour on either side, and puts new ones in between.
                        try transaction.delete([number])
                        if number >= 2 { try transaction.delete([number - 2]) }
                        try transaction.delete([number + 2])
                        try transaction.set([number + 1], to: [1])
                        try transaction.set([40], to: [5])
                        return .next
                    }
                    var expected = entries
                    expected[20].value = [4]
                    try requireEqual(
                        visited, direction == .forward ? expected : expected.reversed(), "visited \(direction)")
                }
                let odd = (0..<60).map { Entry([$0 * 2 + 1], [1]) }
                let afterwards = try store.entries()
                try requireEqual(
                    afterwards, (odd + [Entry([40], [5])]).sorted { $0.key[0] < $1.key[0] }, "entries \(direction)")
                try store.transact { transaction in
                    for entry in afterwards { try transaction.delete(entry.key) }
                }
            }
        },

        Check("a scan sees none of its visitor's writes, also where they are its transaction's first") { store in
            for direction in [ScanDirection.forward, .backward] {
                let leftBehind = try store.entries()
                try store.transact { transaction in
                    for entry in leftBehind { try transaction.delete(entry.key) }
                }
                try store.set((0..<20).map { Entry([$0 * 2], [0]) })
                try store.transact { transaction in
                    var visited: [UInt8] = []
                    try transaction.scan(KeyRange(from: [0], upTo: [100]), direction) { key, value in
                        visited.append(key[0])
                        try require(value[0] == 0, "\(key[0]) was changed by the visitor, \(direction)")
                        // The entries next to this one on both sides, new ones between them, and one that is deleted.
                        for number in [key[0] &- 2, key[0] &- 1, key[0] + 1, key[0] + 2] where number < 100 {
                            try transaction.set([number], to: [1])
                        }
                        try transaction.delete([20])
                        return .next
                    }
                    let expected = (0..<20).map { UInt8($0 * 2) }
                    try requireEqual(visited, direction == .forward ? expected : expected.reversed(), "visited")
                    try requireEqual(try transaction.value(forKey: [1]), [1], "a write of the visitor")
                }
            }
        },

        Check("an error of a body undoes everything it wrote and comes out as it is") { store in
            struct Planned: Error, Equatable { var number: Int }
            try store.set([Entry([1], [1]), Entry([2], [2])])
            let version = try store.read { $0.version }
            do {
                try store.transact { transaction in
                    try transaction.set([1], to: [11])
                    try transaction.delete([2])
                    try transaction.set([3], to: [3])
                    throw Planned(number: 5)
                }
                throw ConformanceFailure("nothing was thrown")
            } catch let error as Planned {
                try requireEqual(error, Planned(number: 5), "the error")
            }
            try store.transact { transaction in
                try requireEqual(
                    try transaction.entries(), [Entry([1], [1]), Entry([2], [2])], "entries in the next transaction")
                for key: UInt8 in [1, 2, 3] {
                    try requireEqual(transaction.hasUnpublishedWrite(forKey: [key]), false, "an unpublished write")
                }
            }
            try store.read { reader in
                try requireEqual(try reader.entries(), [Entry([1], [1]), Entry([2], [2])], "entries")
                try requireEqual(reader.version, version, "the version")
            }
        },
    ]
}
