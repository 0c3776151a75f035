// What is told of long work: how much is done, how fast, how long still. No clock is read here and nothing written.

/// What is counted of long work.
enum ProgressUnit {
    case items
    case bytes

    fileprivate func text(_ value: Int) -> String {
        switch self {
        case .items: Quantities.count(value)
        case .bytes: Quantities.bytes(value)
        }
    }
}

/// Long work, or a part of it with a total of its own.
struct ProgressText {
    private static let barWidth = 24
    /// So much of the verb stays where a terminal is too narrow for it.
    private static let shortestVerbWidth = 8
    /// Nobody waits for longer, and more would fit into no duration.
    private static let longestSeconds = 1e9

    /// What is being done ("importing"). Names of zones may stand in it, which may hold anything.
    var verb: String
    var unit = ProgressUnit.items
    /// Without a total there is no bar and no time remaining.
    var total: Int?
    /// Whether there may be less to do than the total.
    var isTotalBound = false
    /// How much was done when its clock began: of that nobody knows how long it took.
    var doneBefore = 0

    /// The line that tells of it, and one line only. With a `width`, that of a terminal, there is a bar where it fits, and no
    /// more characters.
    func line(done: Int, elapsedSeconds: Double, width: Int?) -> String {
        let verb = VisibleText.of(verb)
        let figures = figures(done, elapsedSeconds)
        let plain = "\(verb): \(figures)"
        guard let width else { return plain }
        // How long it takes still matters more than the bar, and than the end of a long name.
        if let drawn = bar(done).map({ "\(verb) \($0)  \(figures)" }), drawn.count <= width { return drawn }
        let ending = "…: \(figures)"
        let room = width - ending.count
        guard plain.count > width, room >= Self.shortestVerbWidth else { return String(plain.prefix(width)) }
        return String(verb.prefix(room)) + ending
    }

    private func figures(_ done: Int, _ elapsedSeconds: Double) -> String {
        var text = unit.text(done)
        let total = self.total.flatMap { $0 > 0 ? $0 : nil }
        let atMost = isTotalBound ? "at most " : ""
        if let total { text += " of \(atMost)\(unit.text(max(total, done)))" }
        guard elapsedSeconds > 0, done > doneBefore else { return text }
        let rate = Double(done - doneBefore) / elapsedSeconds
        text += ", \(unit.text(Int(rate.rounded(.down).clamped(to: 0...Self.longestSeconds * Self.longestSeconds))))/s"
        guard let total else { return text }
        let seconds = (Double(max(0, total - done)) / rate).rounded(.up)
        return text + ", \(atMost)\(Self.duration(seconds)) left"
    }

    private func bar(_ done: Int) -> String? {
        guard let total, total > 0 else { return nil }
        let fraction = (Double(done) / Double(total)).clamped(to: 0...1)
        let filled = Int(fraction * Double(Self.barWidth))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        return "\(bar) \(Int(fraction * 100)) %"
    }

    /// Whole seconds need no digits behind the point.
    private static func duration(_ seconds: Double) -> String {
        seconds < 60 ? "\(Int(seconds)) s" : Quantities.duration(.seconds(min(seconds, longestSeconds)))
    }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
