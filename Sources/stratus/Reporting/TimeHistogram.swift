// How often something happened, over whatever time it happened in, in few bars and one pass.
//
// Nobody knows beforehand whether a store was filled within a second or over ten years. So the bars begin a second wide and
// are put together into wider ones when there would be too many; each width is a multiple of the one before, and bars begin
// at multiples of their width, so that nothing is counted into two.

import FoundationEssentials

struct TimeHistogram: Hashable {
    static let barCount = 60
    static let leastBarCount = 12
    /// Seconds; the last is about 92 years.
    static let widths: [Int64] = [
        1, 5, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_419_200, 29_030_400, 2_903_040_000,
    ]
    private static let names = [
        "a second", "5 seconds", "10 seconds", "a minute", "10 minutes", "an hour", "6 hours", "a day", "a week",
        "4 weeks", "48 weeks", "92 years",
    ]

    private var width = 0
    /// Counts by the number of the bar since the reference date: saved and deleted.
    private var bars: [Int64: Bar] = [:]

    struct Bar: Hashable {
        var saved = 0
        var deleted = 0
        var count: Int { saved + deleted }
    }

    mutating func note(_ date: Date, isDeletion: Bool = false) {
        // Dates of thousands of years from now are counted at the end of what can be told.
        let seconds = date.timeIntervalSinceReferenceDate
        let second = Int64(min(max(seconds.isFinite ? seconds.rounded(.down) : 0, -1e11), 1e11))
        let number = Self.bar(second, Self.widths[width])
        if isDeletion { bars[number, default: Bar()].deleted += 1 } else { bars[number, default: Bar()].saved += 1 }
        while isTooWide, width + 1 < Self.widths.count { widen() }
    }

    private static func bar(_ second: Int64, _ width: Int64) -> Int64 {
        second >= 0 ? second / width : (second - width + 1) / width
    }

    private var isTooWide: Bool {
        guard bars.count > 1, let first = bars.keys.min(), let last = bars.keys.max() else { return false }
        return last - first >= Int64(Self.barCount)
    }

    private mutating func widen() {
        let old = Self.widths[width]
        width += 1
        var wider: [Int64: Bar] = [:]
        for (number, bar) in bars {
            let target = Self.bar(number * old, Self.widths[width])
            wider[target, default: Bar()].saved += bar.saved
            wider[target, default: Bar()].deleted += bar.deleted
        }
        bars = wider
    }

    /// "10 minutes": what one bar stands for.
    var widthText: String { Self.names[width] }

    /// The bars up to the last with anything in it, those between that hold nothing among them.
    var rows: [(start: Date, bar: Bar)] {
        guard let earliest = bars.keys.min(), let last = bars.keys.max() else { return [] }
        // Few bars are shown with the nothing that was before them.
        let first = min(earliest, last - Int64(Self.leastBarCount) + 1)
        // Beyond the widest bars gaps are left out, or there would be too many.
        let numbers = last - first < Int64(Self.barCount) ? Array(first...last) : bars.keys.sorted()
        return numbers.map { number in
            let start = Date(timeIntervalSinceReferenceDate: Double(number * Self.widths[width]))
            return (start, bars[number] ?? Bar())
        }
    }
}

/// How many records changed last how long ago.
struct AgeCounts: Hashable {
    static let spans: [(title: String, seconds: Double)] = [
        ("the last hour", 3_600), ("the last day", 86_400), ("the last 7 days", 604_800),
        ("the last 30 days", 2_592_000), ("the last 365 days", 31_536_000), ("all time", .infinity),
    ]

    private(set) var counts = [Int](repeating: 0, count: spans.count)

    mutating func note(_ date: Date, now: Date) {
        let age = now.timeIntervalSince(date)
        for (index, span) in Self.spans.enumerated() where age <= span.seconds { counts[index] += 1 }
    }

    /// (when, how many, how many an hour).
    var rows: [(title: String, count: Int, rate: String)] {
        zip(Self.spans, counts).map { span, count in
            let rate = Double(count) / (span.seconds / 3_600)
            let text = rate < 10 ? Quantities.decimal(rate, places: 2) : Quantities.count(Int(rate.rounded()))
            return (span.title, count, span.seconds.isFinite ? text : "")
        }
    }
}
