// Planted faults of stores at the other end of a wire: of what is remembered, of groups, and of the moment of a commit.

import StratusStore
import StratusTestSupport

extension Plant {
    static let wire: [Plant] = [
        Plant(
            "a buffer answers for a range beyond what was fetched of it",
            foundBy: [
                "announced, partly announced and other reads give the same, at random",
                "own writes win over announced reads, before and after them, at random",
            ]
        ) { memory in
            var options = TripStore.Options()
            options.plant = .claimsCompletePages
            return TripStore(memory, options: options)
        },
        Plant(
            "a buffer wins over its transaction's deletes",
            foundBy: ["a delete hides an announced entry, and a scan shows announced and own entries in order"]
        ) { memory in
            let store = TripStore(memory)
            return HookedStore(store) {
                let deleted = Locked<Set<[UInt8]>>([])
                return Hooks(
                    visitValue: { reader, key, body in
                        guard deleted.withLock({ $0.contains(key) }) else {
                            return try reader.visitValue(forKey: key, body)
                        }
                        return try store.read { try $0.visitValue(forKey: key, body) }
                    },
                    delete: { transaction, key in
                        try transaction.delete(key)
                        deleted.withLock { _ = $0.insert(key) }
                    })
            }
        },
        Plant(
            "a group keeps what a body wrote that threw",
            foundBy: ["a body that throws changes nothing, and hurts no other caller of its lane"]
        ) { memory in
            HookedStore(TripStore(memory)) { Hooks(keepsFailedWrites: true) }
        },
        Plant(
            "a lane returns before its commit",
            foundBy: [
                "a thread that learns that a transaction is done reads its writes, in any lane and scope",
                "callers of one lane, and of several, lose no update, and each gets its own result once",
            ]
        ) { memory in
            var options = TripStore.Options()
            options.plant = .returnsBeforeCommits
            return TripStore(memory, options: options)
        },
        Plant(
            "a watch is called before the commit",
            foundBy: ["a watch is called after a commit in its range, which can then be read"]
        ) { EagerWatchStore(TripStore($0)) },
        ignoredConflict,
    ]

    /// The body gets the conflict, and what it makes of it is committed.
    private static var ignoredConflict: Plant {
        let failsNext = Locked(false)
        return Plant(
            "a conflict that a body ignores is committed",
            foundBy: ["a body that ignores a conflict runs again, and nothing of its first run is there"],
            failNextRead: { failsNext.withLock { $0 = true } }
        ) { memory in
            HookedStore(TripStore(memory)) {
                Hooks(visitValue: { reader, key, body in
                    let fails = failsNext.withLock { failsNext in
                        defer { failsNext = false }
                        return failsNext
                    }
                    if fails { throw StoreError(.conflict, "A planted fault: somebody else was first.") }
                    return try reader.visitValue(forKey: key, body)
                })
            }
        }
    }
}

/// Calls all watches when a body has returned.
private final class EagerWatchStore: StoreWrapper {
    let wrapped: any OrderedStore
    private let watches = WatchList()

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        watches.add(range, onChange)
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try wrapped.transact(lane: lane) { transaction in
            let result = try body(transaction)
            watches.note { transaction.hasUnpublishedWrite(in: $0) }
            for _ in 0..<200 { TestThreads.yield() }
            return result
        }
    }
}
