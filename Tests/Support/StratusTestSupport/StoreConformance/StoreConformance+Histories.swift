// Random histories against a naive model. A failure names the seed and the step, which reproduce the history.

internal import StratusStore

extension StoreConformance {
    /// Histories of one run of a check; `StoreHistory` runs others.
    private static let historyCount = 20
    private static let stepCount = 60

    static let historyChecks: [Check] = [
        Check(
            "random histories of reads, scans, transactions and reopenings give what a dictionary gives",
            onPlace: { place in try runHistories(on: place) { $0 } }),

        Check(
            "random histories give the same with every body run twice",
            onPlace: { place in try runHistories(on: place) { TwiceRunningStore($0) } }),
    ]

    private static func runHistories(
        on place: any StorePlace, _ wrap: @escaping (any OrderedStore) -> any OrderedStore
    ) throws {
        let random = SplitMix64.announced("store histories")
        for index in 0..<historyCount {
            let seed = random.generator(forCase: index).seed
            try StoreHistory.run(seed: seed, stepCount: stepCount, on: place, wrap: wrap)
        }
    }
}
