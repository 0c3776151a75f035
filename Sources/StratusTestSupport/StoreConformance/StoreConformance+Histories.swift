// Random histories against a naive model. A failure names the seed and the step, which give the same history again.

internal import StratusStore

extension StoreConformance {
    /// Histories of one run of the suite; `StoreHistory` runs others.
    private static let seeds: ClosedRange<UInt64> = 1...20
    private static let stepCount = 60

    static let historyChecks: [Check] = [
        Check(
            "random histories of reads, scans, transactions and reopenings give what a dictionary gives",
            onPlace: { place in
                for seed in seeds { try StoreHistory.run(seed: seed, stepCount: stepCount, on: place) }
            }),

        Check(
            "random histories give the same with every body run twice",
            onPlace: { place in
                for seed in seeds {
                    try StoreHistory.run(seed: seed, stepCount: stepCount, on: place) { TwiceRunningStore($0) }
                }
            }),
    ]
}
