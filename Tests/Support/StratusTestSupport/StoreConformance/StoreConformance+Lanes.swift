// Lanes, scopes and watches: what callers say about their transactions and reads changes no result, and who watches a
// range learns of every commit in it.

internal import StratusStore

private struct Planned: Error {}

private let lanes: [StoreLane?] = [nil, StoreLane(name: [1]), StoreLane(name: [2])]

/// Returns when the store has called a watch because of a later commit, so that it has had time to call earlier ones.
private func awaitOtherWatch(_ store: any OrderedStore) throws {
    let isCalled = Gate("another watch to be called")
    let watch = store.watch(KeyRange(from: [0xEE], upTo: [0xEF])) { isCalled.open() }
    try store.set([Entry([0xEE], [1])])
    try isCalled.wait()
    watch.end()
}

extension StoreConformance {
    static let laneChecks: [Check] = [
        Check("a thread that learns that a transaction is done reads its writes, in any lane and scope") { store in
            // One after the other first: among many threads, later commits can hide that one came late.
            for (index, lane) in lanes.enumerated() {
                let key = [UInt8(100 + index)]
                try store.transact(lane: lane) { try $0.setNumber(1, forKey: key) }
                for scope in [ReadScope.page, .wholeStore] {
                    try TestThreads.run(1) { _ in
                        let found = try store.read(scope) { try $0.number(forKey: key) }
                        try require(found == 1, "\(found) was read after 1 was done")
                    }
                }
            }
            let done = Locked<[UInt8: Int]>([:])
            let missing = Locked(UInt8(lanes.count))
            try TestThreads.run(2 * lanes.count) { thread in
                let lane = lanes[thread % lanes.count]
                guard thread >= lanes.count else {
                    defer { missing.withLock { $0 -= 1 } }
                    let key = UInt8(thread)
                    for number in 1...30 {
                        try store.transact(lane: lane) { try $0.setNumber(number, forKey: [key]) }
                        done.withLock { $0[key] = number }
                    }
                    return
                }
                var isLast = false
                while !isLast {
                    isLast = missing.value == 0
                    for look in 0..<3 {
                        let known = done.value
                        func compare(_ reader: any StoreReader) throws {
                            for (key, number) in known {
                                let found = try reader.number(forKey: [key])
                                try require(found >= number, "\(found) was read after \(number) was done, look \(look)")
                            }
                        }
                        switch look {
                        case 0: try store.read { try compare($0) }
                        case 1: try store.read(.wholeStore) { try compare($0) }
                        default: try store.transact(lane: lane) { try compare($0) }
                        }
                    }
                }
            }
        },

        Check("a body that reads beside its transaction sees none of its writes, and does not wait for itself") {
            store in
            for lane in lanes {
                try store.set([Entry([1], [1])])
                try store.transact(lane: lane) { transaction in
                    try transaction.set([1], to: [2])
                    try transaction.set([2], to: [2])
                    try store.read { reader in
                        try requireEqual(try reader.entries(), [Entry([1], [1])], "entries beside the transaction")
                        try store.read { inner in
                            try requireEqual(try inner.value(forKey: [1]), [1], "a value in a third place")
                        }
                    }
                    try requireEqual(try transaction.value(forKey: [1]), [2], "the value in the transaction")
                    try transaction.delete([2])
                }
                try requireEqual(try store.entries(), [Entry([1], [2])], "entries afterwards")
            }
        },

        Check("a read of the whole store during writes shows one moment, or at least pages of one") { store in
            let keyCount = 10
            @Sendable func sum(_ reader: any StoreReader) throws -> [Entry] {
                let entries = try reader.entries()
                let amounts = entries.filter { $0.key.count == 1 }
                let sum = amounts.reduce(0) { $0 + Int($1.value[1]) << 8 + Int($1.value[2]) }
                try requireEqual(sum, keyCount * 100, "the sum of a page")
                return entries
            }
            try store.transact { transaction in
                for key in 0..<keyCount { try transaction.setNumber(100, forKey: [UInt8(key)]) }
            }
            let missing = Locked(2)
            try TestThreads.run(3) { thread in
                guard thread == 0 else {
                    defer { missing.withLock { $0 -= 1 } }
                    for number in 0..<40 {
                        let (source, target) = ([UInt8(number % keyCount)], [UInt8((number * 3 + 1) % keyCount)])
                        try store.transact(lane: lanes[thread]) { transaction in
                            let amount = min(9, try transaction.number(forKey: source))
                            try transaction.setNumber(transaction.number(forKey: source) - amount, forKey: source)
                            try transaction.setNumber(transaction.number(forKey: target) + amount, forKey: target)
                        }
                    }
                    return
                }
                var isLast = false
                while !isLast {
                    isLast = missing.value == 0
                    try store.read(.wholeStore) { reader in
                        let first = try sum(reader)
                        try store.transact(lane: lanes[0]) { try $0.setNumber(1, forKey: [0xEE, 1]) }
                        let second = try sum(reader)
                        if store.snapshotsLast { try requireEqual(second, first, "the same entries later") }
                        try store.transact(lane: lanes[0]) { try $0.delete([0xEE, 1]) }
                    }
                }
            }
        },
    ]

    static let watchChecks: [Check] = [
        Check("a watch is called after a commit in its range, which can then be read") { store in
            for number in UInt8(0)..<20 {
                let key: [UInt8] = [2, number / 2]
                let value: [UInt8]? = number % 2 == 0 ? [number] : nil
                // Late calls because of earlier commits are over.
                try awaitOtherWatch(store)
                let isCalled = Gate("the watch to be called")
                let watch = store.watch(KeyRange(from: key, upTo: key + [0])) { isCalled.open() }
                try TestThreads.run(2) { thread in
                    if thread == 0 {
                        try store.transact(lane: lanes[Int(number) % lanes.count]) { transaction in
                            if let value { try transaction.set(key, to: value) } else { try transaction.delete(key) }
                        }
                    } else {
                        try isCalled.wait()
                        let found = try store.read { try $0.value(forKey: key) }
                        try requireEqual(found, value, "the value after the watch was called, number \(number)")
                    }
                }
                watch.end()
            }
        },

        Check("a watch is called for nothing but commits in its range, and not after its end") { store in
            let callCount = Locked(0)
            let isCalled = Gate("the watch to be called")
            let watch = store.watch(KeyRange(from: [2], upTo: [4])) {
                callCount.withLock { $0 += 1 }
                isCalled.open()
            }
            try store.set([Entry([1, 9], [1]), Entry([4], [1])])
            _ = try store.transact { try $0.value(forKey: [2]) }
            do {
                try store.transact { transaction in
                    try transaction.set([2], to: [1])
                    throw Planned()
                }
            } catch is Planned {}
            try awaitOtherWatch(store)
            try requireEqual(callCount.value, 0, "calls without a commit in the range")

            try store.set([Entry([2], [1])])
            try isCalled.wait()
            watch.end()
            watch.end()
            let count = callCount.value
            try store.set([Entry([3], [1])])
            try awaitOtherWatch(store)
            try requireEqual(callCount.value, count, "calls after the end")
        },

        Check("a watch ends when it is released, also inside its own call") { store in
            let callCount = Locked(0)
            let range = KeyRange(from: [2], upTo: [4])
            _ = store.watch(range) { callCount.withLock { $0 += 1 } }
            try store.set([Entry([2], [1])])
            try awaitOtherWatch(store)
            try requireEqual(callCount.value, 0, "calls of a watch that nobody keeps")

            let held = Locked<StoreWatch?>(nil)
            let isCalled = Gate("the watch to be called")
            func hold() {
                let watch = store.watch(range) {
                    held.withLock { $0 = nil }
                    callCount.withLock { $0 += 1 }
                    isCalled.open()
                }
                held.withLock { $0 = watch }
            }
            hold()
            try store.set([Entry([3], [1])])
            try isCalled.wait()
            try store.set([Entry([3], [2])])
            try awaitOtherWatch(store)
            try requireEqual(callCount.value, 1, "calls of a watch that its first call released")
        },

        Check("who reads once after beginning to watch, and after each call, sees the last of many commits") { store in
            let last = 60
            try TestThreads.run(4) { thread in
                guard thread > 0 else {
                    for number in 1...last { try store.transact { try $0.setNumber(number, forKey: [2]) } }
                    return
                }
                // One after the other, so that watches begin and end between commits.
                for target in [1, last / 2, last] {
                    let isCalled = Gate("the watch to be called")
                    let watch = store.watch(KeyRange(from: [2], upTo: [3])) { isCalled.open() }
                    while try store.read({ try $0.number(forKey: [2]) }) < target { try isCalled.wait() }
                    watch.end()
                }
            }
        },
    ]
}
