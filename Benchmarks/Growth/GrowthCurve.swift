// A growth curve: what one thing costs at sizes that are powers of ten, in time and in counts. Times are shown; counts
// are held against what they may grow to.

import StratusStore
import StratusWorkloads

/// How a count may grow.
enum Growth {
    /// The same at every size, but for so many.
    case flat(slack: Int = 0)
    /// At most this for each of what the curve is drawn over, and a constant.
    case linear(each: Double, constant: Int)
    /// Shown only.
    case free
}

/// One thing's costs at every size.
struct GrowthCurve {
    let subject: String
    let growth: Growth
    private(set) var sizes: [Int] = []
    private(set) var seconds: [Double] = []
    private(set) var costs: [StoreCost] = []
    /// What the peer takes, where there is one.
    private(set) var peerSeconds: [(size: Int, seconds: Double)] = []

    init(_ subject: String, _ growth: Growth) {
        self.subject = subject
        self.growth = growth
    }

    /// Measures at one size. `pass` does the thing once; what it costs is counted in one pass, and the others are
    /// timed.
    mutating func measure(
        _ size: Int, on stratus: StratusSide, items: Int = 1, peer: (() throws -> Void)? = nil,
        _ pass: @escaping () throws -> Void
    ) throws {
        try pass()
        let cost = try stratus.cost(pass).cost
        let own = { try Stopwatch.seconds(pass) / Double(items) }
        guard let peer else { return add(size, try Stopwatch.medians(warmsUp: false, [own])[0], cost) }
        let medians = try Stopwatch.medians([own, { try Stopwatch.seconds(peer) / Double(items) }])
        add(size, medians[0], cost)
        peerSeconds.append((size, medians[1]))
    }

    mutating func add(_ size: Int, _ seconds: Double, _ cost: StoreCost) {
        sizes.append(size)
        self.seconds.append(seconds)
        costs.append(cost)
    }

    mutating func addPeer(_ size: Int, _ seconds: Double) { peerSeconds.append((size, seconds)) }

    var timeSeries: [Series] {
        var series = [Series(subject, zip(sizes, seconds).map { (Double($0), $1 * 1e6) })]
        if !peerSeconds.isEmpty {
            series.append(Series("\(subject): GRDB", peerSeconds.map { (Double($0.size), $0.seconds * 1e6) }))
        }
        return series
    }

    var countSeries: [Series] {
        var series: [Series] = []
        let kinds: [(String, KeyPath<StoreCost, Int>)] = [
            ("reads", \.reads), ("steps", \.cursorSteps), ("entries", \.entriesWritten),
        ]
        for (what, value) in kinds {
            let counts = costs.map { Double($0[keyPath: value]) }
            guard counts.contains(where: { $0 > 0 }) else { continue }
            series.append(Series("\(subject): \(what)", zip(sizes, counts).map { (Double($0), $1) }))
        }
        return series
    }

    /// The rows of the table: growth of the reads and entries, held against what is allowed.
    func figures(_ workload: String, per unit: String) -> [Figure] {
        guard let first = sizes.first, let last = sizes.last else { return [] }
        let range = "\(Figure.text(Double(first))) to \(Figure.text(Double(last))) \(unit)"
        var figures = [
            Figure(
                workload, "\(subject), \(range): time of the last", (seconds.last ?? .nan) * 1e6, "µs",
                against: "the first", (seconds.first ?? .nan) * 1e6, ratio: .ourShareOfTheirs, .none)
        ]
        for (what, counts) in [("reads", costs.map(\.reads)), ("entries", costs.map(\.entriesWritten))]
        where counts.contains(where: { $0 > 0 }) {
            switch growth {
            case .flat(let slack):
                figures.append(
                    Figure(
                        workload, "\(subject), \(range): \(what), most minus least", count: Double.spread(counts), what,
                        .atMost(Double(slack))))
            case .linear(let each, let constant):
                let part = zip(sizes, counts).map { Double($1) / (each * Double($0) + Double(constant)) }.max() ?? .nan
                figures.append(
                    Figure(
                        workload,
                        "\(subject), \(range): \(what), of \(Figure.text(each)) \(unit) and \(constant)",
                        count: part, "part", .atMost(1)))
            case .free:
                break
            }
        }
        return figures
    }
}

extension BenchmarkRun {
    /// Adds the rows of some curves over the same sizes, a plot of their times and one of their counts.
    func add(_ curves: [GrowthCurve], _ workload: String, _ title: String, per unit: String, note: String) {
        for figure in curves.flatMap({ $0.figures(workload, per: unit) }) { add(figure) }
        add(
            Plot(
                workload: workload, part: "time", title: "\(title): time", xLabel: unit, yLabel: "µs",
                series: curves.flatMap(\.timeSeries), note: note))
        add(
            Plot(
                workload: workload, part: "counts", title: "\(title): counts", xLabel: unit, yLabel: "number",
                series: curves.flatMap(\.countSeries)))
    }
}

/// Powers of ten.
enum PowersOfTen {
    static func from(_ first: Int, upTo last: Int) -> [Int] {
        var powers: [Int] = []
        var power = first
        while power <= last {
            powers.append(power)
            power *= 10
        }
        return powers
    }
}
