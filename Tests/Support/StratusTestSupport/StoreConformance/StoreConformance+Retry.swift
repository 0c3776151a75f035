// Idempotent retry: with a marker, a transaction whose commit has an unknown outcome is applied exactly once. The store
// under test is wrapped so that commits fail before or after they are applied.

internal import StratusStore

private let marker: [UInt8] = [0xAA, 1]

private let lost = StoreError(.commitUnknown, "A planned fault: the outcome is unknown.")
private let conflict = StoreError(.conflict, "A planned fault: somebody else was first.")

/// Increments a number and returns the new number as the receipt.
private func increment(_ transaction: any StoreTransaction) throws -> [UInt8] {
    let number = try transaction.number(forKey: [1]) + 1
    try transaction.setNumber(number, forKey: [1])
    return [UInt8(number)]
}

private func requireAppliedOnce(_ store: any OrderedStore, _ receipt: [UInt8], _ what: String) throws {
    try requireEqual(receipt, [1], "the receipt \(what)")
    try requireEqual(
        try store.entries(), [Entry([1], [0, 0, 1]), Entry(marker, [1])], "entries \(what)")
}

extension StoreConformance {
    static let retryChecks: [Check] = [
        Check("a marker that is there gives its receipt, and its body is not run") { store in
            for receipt: [UInt8] in [[7, 8], []] {
                let marker = marker + receipt
                let first = try store.transactOnce(marker: marker) { transaction in
                    _ = try increment(transaction)
                    return receipt
                }
                let second = try store.transactOnce(marker: marker) { _ in throw ConformanceFailure("the body ran") }
                try requireEqual([first, second], [receipt, receipt], "receipts")
            }
            try requireEqual(try store.read { try $0.number(forKey: [1]) }, 2, "the number")
        },

        Check("threads with one marker apply its effects once, and all get its receipt") { store in
            let receipts = Locked<[[UInt8]]>([])
            try TestThreads.run(6) { _ in
                let receipt = try store.transactOnce(marker: marker) { try increment($0) }
                receipts.withLock { $0.append(receipt) }
            }
            try requireEqual(receipts.value, Array(repeating: [1], count: 6), "receipts")
            try requireAppliedOnce(store, [1], "")
        },

        Check("a commit of unknown outcome is applied once, whether it had been lost or not", plansFaults: true) {
            store in
            for point in [FaultPoint.commitNotApplied, .commitApplied] {
                let faulty = FaultInjectingStore(store, fault: Fault(point, at: 1, lost))
                let receipt = try faulty.transactOnce(marker: marker) { try increment($0) }
                try require(faulty.hasFired, "\(point) never struck")
                try requireAppliedOnce(store, receipt, "after \(point)")
                try store.transact { transaction in
                    try transaction.delete([1])
                    try transaction.delete(marker)
                }
            }
        },

        Check("conflicts are retried up to the limit, and then handed on", plansFaults: true) { store in
            let limit = IdempotentRetry.defaultAttemptLimit
            let failing = FaultInjectingStore(
                store, fault: Fault(.commitNotApplied, at: 1, conflict, repetitions: limit))
            try requireStoreError(.conflict, "as many conflicts as attempts") {
                _ = try failing.transactOnce(marker: marker) { try increment($0) }
            }
            try requireEqual(failing.count(of: .commitNotApplied), limit, "attempts")
            try requireEqual(try store.entries(), [], "entries")
            let succeeding = FaultInjectingStore(
                store, fault: Fault(.commitNotApplied, at: 1, conflict, repetitions: limit - 1))
            let receipt = try succeeding.transactOnce(marker: marker) { try increment($0) }
            try requireAppliedOnce(store, receipt, "after one conflict less")
        },

        Check("an unknown outcome stays unknown when the store refuses to go on", plansFaults: true) { store in
            for point in [FaultPoint.commitNotApplied, .commitApplied] {
                let faulty = FaultInjectingStore(store, fault: Fault(point, at: 1, lost, refusesAfterwards: true))
                try requireStoreError(.commitUnknown, "the refused retry after \(point)") {
                    _ = try faulty.transactOnce(marker: marker) { try increment($0) }
                }
                // A new wrapper corresponds to a reopened store.
                let receipt = try FaultInjectingStore(store).transactOnce(marker: marker) { try increment($0) }
                try requireAppliedOnce(store, receipt, "after reopening, \(point)")
                try store.transact { transaction in
                    try transaction.delete([1])
                    try transaction.delete(marker)
                }
            }
        },

        Check("a body's own error is handed on at once, also after a lost commit", plansFaults: true) { store in
            struct Planned: Error {}
            for fault in [nil, Fault(.commitNotApplied, at: 1, lost)] {
                let faulty = FaultInjectingStore(store, fault: fault)
                do {
                    _ = try faulty.transactOnce(marker: marker) { transaction in
                        let receipt = try increment(transaction)
                        if fault == nil || faulty.hasFired { throw Planned() }
                        return receipt
                    }
                    throw ConformanceFailure("nothing was thrown")
                } catch is Planned {}
                try requireEqual(try store.entries(), [], "entries")
            }
        },

        Check(
            "whichever operation fails, calling again with the same marker applies the effects once", plansFaults: true,
            onPlace: { place in
                let store = try place.open()
                defer { store.close() }
                let report = try FaultSweep.run(
                    makeStore: {
                        try store.transact { transaction in
                            for entry in try transaction.entries() { try transaction.delete(entry.key) }
                        }
                        return UnclosedStore(wrapped: store)
                    },
                    scenario: { store in
                        _ = try store.transactOnce(marker: marker) { transaction in
                            _ = try transaction.entries()
                            return try increment(transaction)
                        }
                    },
                    verify: { store, fault, thrown in
                        let receipt = try store.transactOnce(marker: marker) { try increment($0) }
                        try requireAppliedOnce(store, receipt, "after \(fault), thrown \(String(describing: thrown))")
                    })
                try requireEqual(
                    report.runCounts, [.read: 2, .write: 2, .commitNotApplied: 1, .commitApplied: 1], "runs")
            }),
    ]
}

/// Prevents a sweep from closing a store that is used again.
private final class UnclosedStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(wrapped: any OrderedStore) {
        self.wrapped = wrapped
    }

    func close() {}
}
