// How far something long has come: a bar on a terminal, plain lines now and then elsewhere.

/// Tells progress on standard error: how many, how fast, how long still.
final class Progress {
    private static let redrawInterval = Duration.milliseconds(100)
    private static let lineInterval = Duration.seconds(5)
    private static let barWidth = 24

    private let console: Console
    private let verb: String
    private let total: Int?
    private let clock = ContinuousClock()
    private let started: ContinuousClock.Instant
    private var lastTold: ContinuousClock.Instant

    /// `verb` says what is being done ("importing"); without a total there is no bar and no time remaining.
    init(_ verb: String, total: Int?, on console: Console) {
        self.console = console
        self.verb = verb
        self.total = total
        started = clock.now
        lastTold = started
    }

    /// Tells that `done` of the total are done, if it is time to tell.
    func update(_ done: Int) {
        let now = clock.now
        guard now - lastTold >= (console.drawsProgress ? Self.redrawInterval : Self.lineInterval) else { return }
        lastTold = now
        let text = text(done, after: now - started)
        if console.drawsProgress { console.redraw(text) } else { console.note(text) }
    }

    /// Takes the bar away.
    func finish() {
        if console.drawsProgress { console.clearProgressLine() }
    }

    private func text(_ done: Int, after elapsed: Duration) -> String {
        let seconds = max(Quantities.seconds(elapsed), 0.001)
        let rate = Double(done) / seconds
        let speed = "\(Quantities.count(Int(rate)))/s"
        guard let total, total > 0 else { return "\(verb): \(Quantities.count(done)), \(speed)" }
        let fraction = min(1, Double(done) / Double(total))
        let left = max(0, total - done)
        let remaining = rate > 0 ? Quantities.duration(.seconds((Double(left) / rate).rounded(.up))) : "?"
        let counts = "\(Quantities.count(done)) of \(Quantities.count(total)), \(speed), \(remaining) left"
        guard console.drawsProgress else { return "\(verb): \(counts)" }
        let filled = Int(fraction * Double(Self.barWidth))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        return "\(verb) \(bar) \(Int(fraction * 100)) %  \(counts)"
    }
}
