// Opening, closing and the contents afterwards.

internal import StratusStore

extension StoreConformance {
    static let lifecycleChecks: [Check] = [
        Check(
            "reopening finds exactly what was committed",
            onPlace: { place in
                var store = try place.open()
                let largest = [UInt8](repeating: 0xA5, count: StoreLimits.maximumValueByteCount)
                var expected = (0..<100).map { Entry([$0, 0xFF], [$0]) }
                expected[7].value = []
                expected[8].value = largest
                try store.set(expected + [Entry([0xEE], [1])])
                try store.transact { try $0.delete([0xEE]) }
                for round in UInt8(0)..<3 {
                    do {
                        try store.transact { transaction in
                            try transaction.set([0xEF], to: [1])
                            try transaction.delete([0, 0xFF])
                            throw ConformanceFailure("planned")
                        }
                    } catch is ConformanceFailure {}
                    store.close()
                    store = try place.open()
                    try requireEqual(try store.entries(), expected, "entries after reopening \(round + 1) times")
                    expected[20].value = [round, round]
                    try store.set([expected[20]])
                }
                store.close()
            }),

        Check("a closed store refuses everything with closed, and may be closed again") { store in
            try store.set([Entry([1], [1])])
            let statistics = store.statistics
            store.close()
            store.close()
            try requireStoreError(.closed, "read") {
                try store.read { _ in throw ConformanceFailure("the body of a read ran") }
            }
            try requireStoreError(.closed, "transact") {
                try store.transact { _ in throw ConformanceFailure("the body of a transaction ran") }
            }
            try requireStoreError(.closed, "transactOnce") {
                _ = try store.transactOnce(marker: [1]) { _ in throw ConformanceFailure("the body ran") }
            }
            try requireEqual(store.statistics, statistics, "statistics")
        },

        Check(
            "closing finishes the transaction that is running",
            onPlace: { place in
                let store = try place.open()
                let hasStarted = Latch("the transaction to start")
                let isClosing = Latch("the store to be closing")
                try TestThreads.run(2) { thread in
                    if thread == 0 {
                        try store.transact { transaction in
                            try transaction.set([1], to: [1])
                            hasStarted.open()
                            try isClosing.wait()
                            for _ in 0..<100 { TestThreads.yield() }
                            try requireEqual(try transaction.value(forKey: [1]), [1], "an own write while closing")
                        }
                    } else {
                        try hasStarted.wait()
                        isClosing.open()
                        store.close()
                    }
                }
                let reopened = try place.open()
                defer { reopened.close() }
                try requireEqual(try reopened.entries(), [Entry([1], [1])], "entries after reopening")
            }),
    ]
}
