// The progress of long work: a bar on a terminal, a plain line every few seconds elsewhere.
//
// Why no library: swift-argument-parser draws no progress, and a package for the bar alone would replace about 40 of
// these lines. The rest would stay: totals that are only bounds, control characters in names, plain lines without a
// terminal, and the line that `Console` shares with notes of the signal thread. `ProgressText` is pure: it reads no
// clock, writes nothing.

import StratusRecords

/// Shows on standard error how much of the work is done, how fast it goes, and how long it still takes. Removes the bar
/// when nothing refers to it.
final class ProgressLine {
    private static let redrawInterval = Duration.milliseconds(100)
    private static let lineInterval = Duration.seconds(5)

    private let console: Console
    private let verb: String
    private var text: ProgressText
    /// The current part of work that has several. Rates are those of the part.
    private var part: String?
    private var started = ContinuousClock.now
    private var lastShown: ContinuousClock.Instant
    private var lastDone = 0

    /// `verb` is the work ("importing"). Without a total there is no bar and no remaining time.
    init(_ verb: String, total: Int? = nil, unit: ProgressUnit = .items, on console: Console) {
        self.console = console
        self.verb = verb
        text = ProgressText(verb: verb, unit: unit, total: total)
        lastShown = started
    }

    /// Shows that `done` of the total are done, if the last update was long enough ago.
    func update(_ done: Int) {
        lastDone = done
        let now = ContinuousClock.now
        guard now - lastShown >= (console.drawsProgress ? Self.redrawInterval : Self.lineInterval) else { return }
        lastShown = now
        show(
            text.line(
                done: done, elapsedSeconds: Quantities.seconds(now - started),
                width: console.drawsProgress ? console.progressWidth : nil))
    }

    /// Shows that one more is done.
    func add() { update(lastDone + 1) }

    /// Updates work whose total becomes known when it begins.
    func update(_ done: Int, of total: Int?) {
        text.total = total
        update(done)
    }

    /// Updates work with an upper bound instead of a known total.
    func update(_ done: Int, ofAtMost bound: Int) {
        text.isTotalBound = true
        update(done, of: bound)
    }

    /// Updates one part of the work, which has its own total.
    func update(_ part: String, _ done: Int, of total: Int, _ unit: ProgressUnit = .items, isBound: Bool = false) {
        // A part may occur again: its clock starts again too.
        if part != self.part || total != text.total || done < lastDone {
            self.part = part
            text = ProgressText(
                verb: "\(verb) \(part)", unit: unit, total: total, isTotalBound: isBound, doneBefore: done)
            started = .now
        }
        update(done)
    }

    /// Shows immediately a part of the work that has no updates.
    func begin(_ part: String) {
        self.part = part
        text = ProgressText(verb: "\(verb) \(part)", total: nil)
        (started, lastDone) = (.now, 0)
        lastShown = started
        show("\(verb) \(part)")
    }

    /// Updates a part with an upper bound instead of a known total.
    func update(_ part: String, _ done: Int, ofAtMost bound: Int) { update(part, done, of: bound, isBound: true) }

    private func show(_ line: String) {
        if console.drawsProgress { console.redraw(line) } else { Console.note(line) }
    }

    deinit { console.clearProgressLine() }
}

/// The unit of progress.
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

/// The text about long work, or about a part of it.
struct ProgressText {
    private static let barWidth = 24
    /// The characters of the verb that stay on a narrow terminal.
    private static let shortestVerbWidth = 8
    /// The longest remaining time that is shown; more would not fit into a `Duration`.
    private static let longestSeconds = 1e9

    /// The work ("importing"). It may contain names of zones, which may contain anything.
    var verb: String
    var unit = ProgressUnit.items
    /// Without a total there is no bar and no remaining time.
    var total: Int?
    /// Whether there may be less to do than the total.
    var isTotalBound = false
    /// How much was done when the clock started. It does not count for the rate.
    var doneBefore = 0

    /// One line of text. With the `width` of a terminal the line is never longer, and has a bar if that fits.
    func line(done: Int, elapsedSeconds: Double, width: Int?) -> String {
        let verb = VisibleText.of(verb)
        let figures = figures(done, elapsedSeconds)
        let plain = "\(verb): \(figures)"
        guard let width else { return plain }
        // The remaining time is more important than the bar and the end of a long name.
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
        text += ", \(unit.text(Int(min(rate.rounded(.down), Self.longestSeconds * Self.longestSeconds))))/s"
        guard let total else { return text }
        let seconds = (Double(max(0, total - done)) / rate).rounded(.up)
        return text + ", \(atMost)\(Self.duration(seconds)) left"
    }

    private func bar(_ done: Int) -> String? {
        guard let total, total > 0 else { return nil }
        let fraction = min(max(Double(done) / Double(total), 0), 1)
        let filled = Int(fraction * Double(Self.barWidth))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        return "\(bar) \(Int(fraction * 100)) %"
    }

    /// Whole seconds have no decimals.
    private static func duration(_ seconds: Double) -> String {
        seconds < 60 ? "\(Int(seconds)) s" : Quantities.duration(.seconds(min(seconds, longestSeconds)))
    }
}

/// Counts records as a verb looks at them.
final class LookCounter {
    /// Looking at a record costs little more than reading a clock, so only every 256th record updates the progress.
    private static let updateInterval = 256

    private let update: (_ count: Int) -> Void
    private var count = 0

    init(_ update: @escaping (_ count: Int) -> Void) { self.update = update }

    /// Shows how many records of a zone were read.
    convenience init(_ verb: String, of zone: ZoneReader, on console: Console) throws {
        let (progress, bound) = (ProgressLine(verb, on: console), try zone.recordBound())
        self.init { progress.update($0, ofAtMost: bound) }
    }

    /// Counts one more.
    func add() {
        count += 1
        if count.isMultiple(of: Self.updateInterval) { update(count) }
    }
}
