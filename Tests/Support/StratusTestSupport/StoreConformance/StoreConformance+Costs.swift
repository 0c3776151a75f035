// All stores count costs in the same way, so that tests above the store protocol can compare them.

internal import StratusStore

private func cost(
    pointReads: Int = 0, seeks: Int = 0, cursorSteps: Int = 0, entriesWritten: Int = 0, bytesWritten: Int = 0
) -> StoreCost {
    var cost = StoreCost()
    cost.pointReads = pointReads
    cost.seeks = seeks
    cost.cursorSteps = cursorSteps
    cost.entriesWritten = entriesWritten
    cost.bytesWritten = bytesWritten
    return cost
}

extension StoreConformance {
    static let costChecks: [Check] = [
        Check("a reader's costs are its look-ups, its scans and the entries they visit") { store in
            try store.set((0..<10).map { Entry([$0], [$0]) })
            let before = store.statistics
            try store.read { reader in
                try requireEqual(reader.cost, cost(), "a new reader")
                _ = try reader.value(forKey: [1])
                _ = try reader.contains([99])
                _ = try reader.values(forKeys: [[1], [2], [98]])
                try requireEqual(reader.cost, cost(pointReads: 5), "after five look-ups")
                _ = try reader.entries(KeyRange(from: [2], upTo: [5]))
                try requireEqual(reader.cost, cost(pointReads: 5, seeks: 1, cursorSteps: 3), "after a scan")
                _ = try reader.entries(.everything, .backward, limit: 4)
                try requireEqual(reader.cost, cost(pointReads: 5, seeks: 2, cursorSteps: 7), "after a limited scan")
                try reader.scan(.everything) { _, _ in .stop }
                try requireEqual(reader.cost, cost(pointReads: 5, seeks: 3, cursorSteps: 8), "after a stopped scan")
                _ = try reader.entries(KeyRange(from: [50], upTo: [60]))
                try requireEqual(reader.cost, cost(pointReads: 5, seeks: 4, cursorSteps: 8), "after finding nothing")
                _ = try reader.entries(KeyRange(from: [5], upTo: [5]))
                _ = try reader.entries(.everything, limit: 0)
                try requireEqual(reader.cost, cost(pointReads: 5, seeks: 4, cursorSteps: 8), "after asking nothing")
            }
            let spent = store.statistics.cost - before.cost
            try requireEqual(spent, cost(pointReads: 5, seeks: 4, cursorSteps: 8), "statistics")
        },

        Check("a transaction's costs include what it writes, and its own writes cost like any other entry") { store in
            try store.set((0..<10).map { Entry([$0], [$0]) })
            let before = store.statistics
            let expected = cost(pointReads: 2, seeks: 2, cursorSteps: 19, entriesWritten: 5, bytesWritten: 15)
            try store.transact { transaction in
                try transaction.set([20], to: [1, 2, 3])
                try transaction.set([20], to: [4, 5, 6, 7])
                try transaction.delete([0])
                try transaction.delete([1])
                try transaction.set([2], to: [0, 0, 0])
                _ = try transaction.value(forKey: [20])
                _ = try transaction.contains([0])
                try requireEqual(try transaction.entries().count, 9, "entries")
                try requireEqual(try transaction.entries(.everything, .backward).count, 9, "entries backward")
                try transaction.scan(KeyRange(from: [0], upTo: [5])) { _, _ in .stop }
                var withStopped = expected
                withStopped.seeks += 1
                try requireEqual(transaction.cost, withStopped, "the transaction")
            }
            var withStopped = expected
            withStopped.seeks += 1
            try requireEqual(store.statistics.cost - before.cost, withStopped, "statistics")
            try requireEqual(
                store.statistics.transactionsCommitted - before.transactionsCommitted, 1, "transactions committed")
            try requireEqual(store.statistics.groupsCommitted - before.groupsCommitted, 1, "groups committed")
        },

        Check("a failed transaction costs what it asked for, and commits nothing") { store in
            let before = store.statistics
            do {
                try store.transact { transaction in
                    try transaction.set([1], to: [1, 2])
                    _ = try transaction.value(forKey: [1])
                    throw ConformanceFailure("planned")
                }
            } catch is ConformanceFailure {}
            _ = try store.transact { try $0.value(forKey: [1]) }
            let spent = store.statistics.cost - before.cost
            try requireEqual(spent, cost(pointReads: 2, entriesWritten: 1, bytesWritten: 3), "statistics")
            try requireEqual(store.statistics.transactionsCommitted, before.transactionsCommitted, "transactions")
            try requireEqual(store.statistics.groupsCommitted, before.groupsCommitted, "groups")
        },

        Check("a refused write costs nothing") { store in
            try store.transact { transaction in
                let tooLong = [UInt8](repeating: 0, count: StoreLimits.maximumKeyByteCount + 1)
                try requireStoreError(.tooLarge, "a long key") { try transaction.set(tooLong, to: []) }
                try requireStoreError(.tooLarge, "a long key") { try transaction.delete(tooLong) }
                try requireEqual(transaction.cost, cost(), "the transaction")
            }
        },
    ]
}
