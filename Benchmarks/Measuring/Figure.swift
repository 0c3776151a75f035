// One row of the table, and whether its bar is met.

/// What a row must reach.
enum Bar: Sendable {
    case atLeast(Double)
    case atMost(Double)
    /// Shown, not gated.
    case none

    var text: String {
        switch self {
        case .atLeast(let bound): "≥ \(Figure.text(bound))"
        case .atMost(let bound): "≤ \(Figure.text(bound))"
        case .none: "–"
        }
    }

    func isMet(by value: Double) -> Bool? {
        switch self {
        case .atLeast(let bound): value >= bound
        case .atMost(let bound): value <= bound
        case .none: nil
        }
    }
}

/// A row: *workload · Stratus · peer · ratio · bar · met*.
struct Figure: Codable, Sendable {
    var workload: String
    /// What exactly was measured.
    var subject: String
    /// Our figure and the peer's, in `unit`. The peer may be our own other self: one caller beside 64.
    var stratus: Double
    var unit: String
    var peer: String?
    var peerValue: Double?
    /// What is held against the bar.
    var ratio: Double
    var bar: String
    var isMet: Bool?

    /// A comparison: `ratio` says how it is counted.
    init(
        _ workload: String, _ subject: String, _ stratus: Double, _ unit: String, against peer: String,
        _ peerValue: Double, ratio: Ratio, _ bar: Bar
    ) {
        let value =
            switch ratio {
            case .ourShareOfTheirs: stratus / peerValue
            case .theirsOverOurs: peerValue / stratus
            }
        self.init(workload, subject, stratus, unit, peer: peer, peerValue, value, bar)
    }

    /// A figure that is held against its bar itself: a count, a size.
    init(_ workload: String, _ subject: String, count: Double, _ unit: String, _ bar: Bar) {
        self.init(workload, subject, count, unit, peer: nil, nil, count, bar)
    }

    private init(
        _ workload: String, _ subject: String, _ stratus: Double, _ unit: String, peer: String?, _ peerValue: Double?,
        _ ratio: Double, _ bar: Bar
    ) {
        self.workload = workload
        self.subject = subject
        self.stratus = stratus
        self.unit = unit
        self.peer = peer
        self.peerValue = peerValue
        self.ratio = ratio
        self.bar = bar.text
        self.isMet = bar.isMet(by: ratio)
    }

    /// How a ratio is counted.
    enum Ratio {
        /// Ours divided by theirs: a time that may be at most a part of theirs, a throughput that must be a multiple.
        case ourShareOfTheirs
        /// Theirs divided by ours: how many times faster we are, from times.
        case theirsOverOurs
    }

    /// Three significant digits.
    static func text(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let magnitude = abs(value)
        if magnitude >= 100 || magnitude == magnitude.rounded() && magnitude < 1e15 {
            return grouped(Int(value.rounded()))
        }
        let places = magnitude >= 10 ? 10.0 : magnitude >= 1 ? 100 : magnitude >= 0.1 ? 1_000 : 10_000
        return "\((value * places).rounded() / places)"
    }

    private static func grouped(_ number: Int) -> String {
        let digits = Array("\(abs(number))")
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }
}

/// A curve of a plot.
struct Series: Codable, Sendable {
    var name: String
    var points: [Point]

    struct Point: Codable, Sendable {
        var x: Double
        var y: Double
    }

    init(_ name: String, _ points: [(x: Double, y: Double)]) {
        self.name = name
        self.points = points.map { Point(x: $0.x, y: $0.y) }
    }
}

/// A plot with logarithmic axes; points at or below zero are left out.
struct Plot: Codable, Sendable {
    var workload: String
    /// What tells it from other plots of the same workload: its file's name is workload and part.
    var part: String?
    var title: String
    var xLabel: String
    var yLabel: String
    var series: [Series]
    /// Why a curve is as it is, where that does not go without saying.
    var note: String?

    var fileName: String { part.map { "\(workload)-\($0).svg" } ?? "\(workload).svg" }
}
