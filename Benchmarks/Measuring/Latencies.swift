// How long single calls take: not their mean, but what one in two, in a hundred and in a thousand of them exceeds.

import Foundation
import StratusWorkloads
import Synchronization

/// Times of single calls, gathered by several threads.
final class Latencies: Sendable {
    private let gathered = Mutex<[Double]>([])

    func add(_ seconds: [Double]) { gathered.withLock { $0 += seconds } }

    var all: [Double] { gathered.withLock { $0 } }

    var count: Int { gathered.withLock { $0.count } }

    /// The time in seconds that this part of the calls stays below.
    func quantile(_ part: Double) -> Double {
        let sorted = gathered.withLock { $0.sorted() }
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(sorted.count - 1, Int((Double(sorted.count) * part).rounded(.down)))]
    }

    var longest: Double { gathered.withLock { $0.max() ?? .nan } }

    /// How many calls took longer.
    func count(above seconds: Double) -> Int { gathered.withLock { $0.count { $0 > seconds } } }
}
