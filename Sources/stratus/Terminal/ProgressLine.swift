// How far something long has come: a bar on a terminal, plain lines now and then elsewhere.

import StratusLayout
import StratusRecords
import StratusStore

/// Tells progress on standard error: how many, how fast, how long still.
final class ProgressLine {
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

// How many records, databases or zones were looked at, told now and then.

/// Counts records as they are looked at.
final class LookCounter {
    /// Looking at a record takes little longer than asking a clock, which is what is done where it is told.
    private static let countBetweenTellings = 256

    private let tell: (_ count: Int) -> Void
    private var count = 0

    init(_ tell: @escaping (_ count: Int) -> Void) { self.tell = tell }

    /// Tells how many of a zone's records were looked at.
    convenience init(_ progress: ProgressLine, of zone: ZoneReader) throws {
        let bound = try zone.recordBound()
        self.init { progress.update($0, ofAtMost: bound) }
    }

    /// Counts one more.
    func add() {
        count += 1
        if count.isMultiple(of: Self.countBetweenTellings) { tell(count) }
    }
}

/// Counts the databases of a store, or its zones, as they are looked at.
final class PlaceProgress {
    private let progress: ProgressLine
    private var count = 0

    init(_ verb: String, total: Int, _ console: Console) {
        progress = ProgressLine(verb, total: total, on: console)
    }

    convenience init(databasesOf reader: RecordReader, _ console: Console) throws {
        try self.init("looking at databases", total: reader.entryCount(in: GlobalKeys.databases), console)
    }

    /// `verb` says what is done with zones.
    convenience init(zonesOf reader: RecordReader, _ verb: String, _ console: Console) throws {
        var total = 0
        try reader.visitZones { _, _ in
            total += 1
            return .next
        }
        self.init(verb, total: total, console)
    }

    /// Counts one more.
    func add() {
        count += 1
        progress.update(count)
    }

    func finish() { progress.finish() }
}
