// How far something long has come: a bar on a terminal, plain lines now and then elsewhere.

/// Tells progress on standard error: how many, how fast, how long still.
final class Progress {
    private static let redrawInterval = Duration.milliseconds(100)
    private static let lineInterval = Duration.seconds(5)

    private let console: Console
    private let verb: String
    private var text: ProgressText
    /// What of the work is being done, where it has several parts. Rates are of the part.
    private var part: String?
    private let clock = ContinuousClock()
    private var started: ContinuousClock.Instant
    private var lastTold: ContinuousClock.Instant
    private var lastDone = 0

    /// `verb` says what is being done ("importing"); without a total there is no bar and no time remaining.
    init(_ verb: String, total: Int?, unit: ProgressUnit = .items, on console: Console) {
        self.console = console
        self.verb = verb
        text = ProgressText(verb: verb, unit: unit, total: total)
        started = clock.now
        lastTold = started
    }

    /// The same of one part of the work, with a total of its own.
    func update(_ part: String, _ done: Int, of total: Int, _ unit: ProgressUnit) {
        update(part, done, of: total, unit, isBound: false)
    }

    /// The same of a part of which single things are counted.
    func update(_ part: String, _ done: Int, of total: Int) { update(part, done, of: total, .items) }

    /// The same of a part of which only a bound is known.
    func update(_ part: String, _ done: Int, ofAtMost bound: Int) {
        update(part, done, of: bound, .items, isBound: true)
    }

    private func update(_ part: String, _ done: Int, of total: Int, _ unit: ProgressUnit, isBound: Bool) {
        // A part that comes again begins anew.
        if part != self.part || total != text.total || done < lastDone {
            self.part = part
            text = ProgressText(
                verb: "\(verb) \(part)", unit: unit, total: total, isTotalBound: isBound, doneBefore: done)
            started = clock.now
        }
        update(done)
    }

    /// Tells at once of a part of which nothing more is told until it is done.
    func begin(_ part: String) {
        self.part = part
        text = ProgressText(verb: "\(verb) \(part)", total: nil)
        (started, lastDone) = (clock.now, 0)
        lastTold = started
        tell("\(verb) \(part)")
    }

    /// The same of work whose total turns out as it begins.
    func update(_ done: Int, of total: Int?) {
        text.total = total
        update(done)
    }

    /// The same of work of which only a bound is known.
    func update(_ done: Int, ofAtMost bound: Int) {
        text.isTotalBound = true
        update(done, of: bound)
    }

    /// Tells that `done` of the total are done, if it is time to tell.
    func update(_ done: Int) {
        lastDone = done
        let now = clock.now
        guard now - lastTold >= (console.drawsProgress ? Self.redrawInterval : Self.lineInterval) else { return }
        lastTold = now
        let line = text.line(
            done: done, elapsedSeconds: Quantities.seconds(now - started),
            width: console.drawsProgress ? console.progressWidth : nil)
        tell(line)
    }

    private func tell(_ line: String) {
        if console.drawsProgress { console.redraw(line) } else { console.note(line) }
    }

    /// Takes the bar away.
    func finish() {
        if console.drawsProgress { console.clearProgressLine() }
    }
}
