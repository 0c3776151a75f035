// Callers of one lane that commit together: each gets its own result, sees the earlier ones, and is not hurt by others.
// And what a store throws or returns rests on reads that were valid.

internal import StratusStore

private struct Planned: Error, Equatable { var number: Int }

private let shared: StoreLane? = StoreLane(name: [1])

/// Lanes for threads: all in one, each in its own, some without one.
private let arrangements: [@Sendable (_ thread: Int) -> StoreLane?] = [
    { _ in shared }, { StoreLane(name: [UInt8($0)]) }, { $0 % 3 == 0 ? nil : StoreLane(name: [UInt8($0 % 2)]) },
]

extension StoreConformance {
    static let sharedLaneChecks: [Check] = [
        Check("callers of one lane, and of several, lose no update, and each gets its own result once") { store in
            for lane in arrangements {
                try store.transact { try $0.delete([1]) }
                let results = Locked<[Int]>([])
                let threadCount = 16
                let roundCount = 8
                try TestThreads.run(threadCount) { thread in
                    for round in 0..<roundCount {
                        let result = try store.transact(lane: lane(thread)) { transaction in
                            let number = try transaction.number(forKey: [1]) + 1
                            // Something that only some bodies read before they write.
                            if (thread + round) % 3 == 0 { _ = try transaction.entries(limit: 3) }
                            try transaction.setNumber(number, forKey: [1])
                            try transaction.setNumber(number, forKey: [2, UInt8(thread), UInt8(round)])
                            return number
                        }
                        let own = try store.read { try $0.number(forKey: [2, UInt8(thread), UInt8(round)]) }
                        try requireEqual(own, result, "the number that thread \(thread) wrote in round \(round)")
                        results.withLock { $0.append(result) }
                    }
                }
                try requireEqual(
                    results.value.sorted(), Array(1...(threadCount * roundCount)), "results of all callers")
            }
        },

        Check("a body that throws changes nothing, and hurts no other caller of its lane") { store in
            for lane in arrangements {
                try store.transact { transaction in
                    for entry in try transaction.entries() { try transaction.delete(entry.key) }
                }
                let threadCount = 16
                let roundCount = 6
                try TestThreads.run(threadCount) { thread in
                    for round in 0..<roundCount {
                        let number = thread * roundCount + round
                        do {
                            try store.transact(lane: lane(thread)) { transaction in
                                let count = try transaction.number(forKey: [1]) + 1
                                try transaction.setNumber(count, forKey: [1])
                                try transaction.set([2, UInt8(number)], to: [])
                                try transaction.delete([3])
                                if number % 3 == 0 { throw Planned(number: number) }
                            }
                            try require(number % 3 != 0, "body \(number) was committed although it threw")
                        } catch let error as Planned {
                            try requireEqual(error, Planned(number: number), "the error")
                        }
                    }
                }
                let kept = (0..<threadCount * roundCount).filter { $0 % 3 != 0 }
                try store.read { reader in
                    try requireEqual(try reader.number(forKey: [1]), kept.count, "the number of commits")
                    let found = try reader.entries(KeyRange(from: [2], upTo: [3])).map { Int($0.key[1]) }
                    try requireEqual(found, kept, "what was committed")
                }
            }
        },

        Check("callers of one lane that write much are all committed, whole") { store in
            let value = [UInt8](repeating: 7, count: 90_000)
            let threadCount = 6
            let entryCount = 30
            try TestThreads.run(threadCount) { thread in
                try store.transact(lane: shared) { transaction in
                    let count = try transaction.number(forKey: [1])
                    try transaction.setNumber(count + 1, forKey: [1])
                    for index in 0..<entryCount { try transaction.set([2, UInt8(thread), UInt8(index)], to: value) }
                }
            }
            try requireEqual(try store.read { try $0.number(forKey: [1]) }, threadCount, "the number of commits")
            try requireEqual(try store.entries().count, threadCount * entryCount + 1, "entries")
        },

        Check("publish actions of callers of one lane run once for each commit, before it returns") { store in
            let log = Locked<[Int]>([])
            try TestThreads.run(8) { thread in
                for round in 0..<10 {
                    let number = thread * 10 + round
                    do {
                        try store.transact(lane: shared) { transaction in
                            try transaction.setNumber(try transaction.number(forKey: [1]) + 1, forKey: [1])
                            transaction.onPublish { _ in log.withLock { $0.append(number) } }
                            if number % 4 == 0 { throw Planned(number: number) }
                        }
                    } catch is Planned {}
                    let count = log.value.count { $0 == number }
                    try requireEqual(count, number % 4 == 0 ? 0 : 1, "actions of \(number) when it returned")
                }
            }
            try requireEqual(log.value.sorted(), (0..<80).filter { $0 % 4 != 0 }, "all actions")
        },

        Check("a refusal rests on valid reads: of two that rely on the other's key, exactly one refuses") { store in
            for round in 0..<30 {
                let lane = arrangements[round % arrangements.count]
                try store.set([Entry([1], [1]), Entry([2], [1])])
                let refusals = Locked(0)
                try TestThreads.run(2) { thread in
                    do {
                        try store.transact(lane: lane(thread)) { transaction in
                            let sum = try transaction.number(forKey: [1]) + transaction.number(forKey: [2])
                            TestThreads.yield()
                            if sum < 2 { throw Planned(number: thread) }
                            try transaction.set([UInt8(thread + 1)], to: [0])
                        }
                    } catch is Planned {
                        refusals.withLock { $0 += 1 }
                    }
                }
                try requireEqual(refusals.value, 1, "round \(round): refusals")
                let values = try store.entries().map { $0.value[0] }
                try requireEqual(values.sorted(), [0, 1], "round \(round): values")
            }
        },

        Check(
            "a body that ignores a conflict runs again, and nothing of its first run is there", needs: .faults,
            onPlace: { place in
                let store = try place.open()
                defer { store.close() }
                try store.set([Entry([1], [1])])
                for lane in [nil, shared] {
                    for throwsAfterwards in [false, true] {
                        let runCount = Locked<UInt8>(0)
                        place.failNextRead()
                        do {
                            let found = try store.transact(lane: lane) { transaction in
                                let run = runCount.withLock { count in
                                    count += 1
                                    return count
                                }
                                try transaction.set([2, run], to: [1])
                                let value = try? transaction.value(forKey: [1])
                                if throwsAfterwards { throw Planned(number: value == nil ? 0 : 1) }
                                return value
                            }
                            try requireEqual(found, [1], "what the body read")
                        } catch let error as Planned {
                            try requireEqual(error, Planned(number: 1), "what the body threw")
                        }
                        let last = runCount.value
                        try require(last > 1, "the body ran once")
                        let written = throwsAfterwards ? [] : [Entry([2, last], [1])]
                        try requireEqual(try store.entries(), [Entry([1], [1])] + written, "entries")
                        try store.transact { try $0.delete([2, last]) }
                    }
                }
            }),
    ]
}
