// Transactions are serialisable: the result of concurrent threads equals that of some sequential order. Bodies yield
// between reading and writing, so that possible races happen.

internal import StratusStore

private let roundCount = 25

extension StoreConformance {
    static let serializabilityChecks: [Check] = [
        Check("no update is lost when many threads increment one number") { store in
            let threadCount = 8
            let incrementCount = 25
            try TestThreads.run(threadCount) { _ in
                for _ in 0..<incrementCount {
                    try store.transact { transaction in
                        let number = try transaction.number(forKey: [1])
                        TestThreads.yield()
                        try transaction.setNumber(number + 1, forKey: [1])
                    }
                }
            }
            let total = try store.read { try $0.number(forKey: [1]) }
            try requireEqual(total, threadCount * incrementCount, "the number")
        },

        Check("no update is lost when threads append to one another's keys") { store in
            // Each transaction writes after the last entry it finds: a lost one leaves a hole or a missing entry.
            try TestThreads.run(4) { thread in
                for _ in 0..<roundCount {
                    try store.transact { transaction in
                        let last = try transaction.entries(.everything, .backward, limit: 1).first?.key[0] ?? 0
                        TestThreads.yield()
                        try transaction.set([last + 1], to: [UInt8(thread)])
                    }
                }
            }
            let entries = try store.entries()
            try requireEqual(entries.map(\.key), (1...(4 * roundCount)).map { [UInt8($0)] }, "keys")
            for thread in 0..<4 {
                try requireEqual(entries.count { $0.value == [UInt8(thread)] }, roundCount, "entries of \(thread)")
            }
        },

        Check("no write skew: of two that each rely on the other's key, one sees the other's write") { store in
            for round in 0..<roundCount {
                try store.set([Entry([1], [1]), Entry([2], [1])])
                try TestThreads.run(2) { thread in
                    try store.transact { transaction in
                        let sum = try transaction.number(forKey: [1]) + transaction.number(forKey: [2])
                        TestThreads.yield()
                        if sum == 2 { try transaction.set([UInt8(thread + 1)], to: [0]) }
                    }
                }
                let values = try store.entries().map(\.value)
                try require(values.contains([1]), "round \(round): both keys were given up: \(values)")
            }
        },

        Check("no phantom by insert: two that find a range empty do not both fill it") { store in
            for round in 0..<roundCount {
                try TestThreads.run(2) { thread in
                    try store.transact { transaction in
                        let isEmpty = try transaction.entries(KeyRange(from: [1], upTo: [9])).isEmpty
                        TestThreads.yield()
                        if isEmpty { try transaction.set([UInt8(thread * 3 + 2)], to: []) }
                    }
                }
                let entries = try store.entries()
                try requireEqual(entries.count, 1, "round \(round): entries")
                try store.transact { transaction in
                    for entry in entries { try transaction.delete(entry.key) }
                }
            }
        },

        Check("no phantom by delete: two that find two entries do not both delete theirs") { store in
            for round in 0..<roundCount {
                try store.set([Entry([2], []), Entry([5], [])])
                try TestThreads.run(2) { thread in
                    try store.transact { transaction in
                        let count = try transaction.entries(KeyRange(from: [1], upTo: [9])).count
                        TestThreads.yield()
                        if count == 2 { try transaction.delete([UInt8(thread * 3 + 2)]) }
                    }
                }
                try requireEqual(try store.entries().count, 1, "round \(round): entries")
            }
        },
    ]
}
