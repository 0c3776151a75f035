// Times and medians. A single time decides nothing: contestants run alternately, in one process, and the medians of
// their rounds are compared.

/// Measures reliably on a machine with other tenants.
package enum Stopwatch {
    /// Rounds of every comparison: the least that a median of "at least five runs" allows.
    package static let roundCount = 5

    /// The seconds `body` takes.
    package static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return start.duration(to: .now).inSeconds
    }

    /// The seconds each of `count` answers takes: `body` computes all of them, repeatedly for at least 20 ms.
    package static func secondsEach(_ count: Int, _ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        var passes = 0
        while true {
            try body()
            passes += 1
            let seconds = start.duration(to: .now).inSeconds
            if seconds >= 0.02 { return seconds / Double(passes * count) }
        }
    }

    /// Runs the contestants one after the other, `rounds` times, after a round that does not count, and returns the
    /// median of each. A contestant returns its own figure, seconds as a rule.
    package static func medians(
        rounds: Int = roundCount, warmsUp: Bool = true, _ contestants: [() throws -> Double]
    ) throws -> [Double] {
        if warmsUp {
            for contestant in contestants { _ = try contestant() }
        }
        var figures = contestants.map { _ in [Double]() }
        for round in 0..<rounds {
            // Every other round runs backwards, so that the order of neighbours varies.
            let order = round.isMultiple(of: 2) ? Array(contestants.indices) : contestants.indices.reversed()
            for index in order { figures[index].append(try contestants[index]()) }
        }
        return figures.map(median)
    }

    package static func median(_ figures: [Double]) -> Double {
        guard !figures.isEmpty else { return .nan }
        let sorted = figures.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

extension Duration {
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
