// How far something long has come: a bar on a terminal, plain lines now and then elsewhere.

/// Tells progress on standard error: how many, how fast, how long still.
final class Progress {
    private static let redrawInterval = Duration.milliseconds(100)
    private static let lineInterval = Duration.seconds(5)
    private static let barWidth = 24

    private let console: Console
    private let verb: String
    private var total: Int?
    /// What of the work is being done, where it has several parts. Rates are of the part.
    private var part: String?
    private var doneBefore = 0
    private let clock = ContinuousClock()
    private var started: ContinuousClock.Instant
    private var lastTold: ContinuousClock.Instant

    /// `verb` says what is being done ("importing"); without a total there is no bar and no time remaining.
    init(_ verb: String, total: Int?, on console: Console) {
        self.console = console
        self.verb = verb
        self.total = total
        started = clock.now
        lastTold = started
    }

    /// The same of one part of the work, with a total of its own: of nil nobody knows how much it will be.
    func update(_ part: String, _ done: Int, of total: Int?) {
        if part != self.part || total != self.total {
            (self.part, self.total) = (part, total)
            (started, doneBefore) = (clock.now, done)
        }
        update(done)
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
        let rate = Double(done - doneBefore) / seconds
        let speed = "\(Quantities.count(Int(rate)))/s"
        let verb = part.map { "\(self.verb) \($0)" } ?? self.verb
        guard let total, total > 0 else { return "\(verb): \(Quantities.count(done)), \(speed)" }
        // Of what was there when it began nobody knows yet how fast it goes.
        guard done > doneBefore else { return "\(verb): \(Quantities.count(done)) of \(Quantities.count(total))" }
        let fraction = min(1, Double(done) / Double(total))
        let left = max(0, total - done)
        let remaining = rate > 0 ? Quantities.duration(.seconds((Double(left) / rate).rounded(.up))) : "?"
        let counts = "\(Quantities.count(done)) of \(Quantities.count(total)), \(speed), \(remaining) left"
        let plain = "\(verb): \(counts)"
        guard console.drawsProgress else { return plain }
        let filled = Int(fraction * Double(Self.barWidth))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        let drawn = "\(verb) \(bar) \(Int(fraction * 100)) %  \(counts)"
        // How long it takes still matters more than the bar.
        return drawn.count <= console.progressWidth ? drawn : plain
    }
}
