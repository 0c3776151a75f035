// The progress of long work, for given clocks, and the output to a terminal.

import StratusModel
import Testing

@testable import stratus

@Suite("progress of long work")
struct ProgressTests {
    private func line(
        _ done: Int, of total: Int?, after seconds: Double, width: Int? = nil, unit: ProgressUnit = .items,
        doneBefore: Int = 0
    ) -> String {
        ProgressText(verb: "importing", unit: unit, total: total, doneBefore: doneBefore)
            .line(done: done, elapsedSeconds: seconds, width: width)
    }

    @Test("a line shows how much is done, how fast, and the remaining time")
    func rateAndRest() {
        #expect(line(2_500, of: 10_000, after: 5) == "importing: 2,500 of 10,000, 500/s, 15 s left")
        #expect(line(1, of: 101, after: 10) == "importing: 1 of 101, 0/s, 16 min 40 s left")
        #expect(line(1, of: 1_001, after: 10) == "importing: 1 of 1,001, 0/s, 2 h 46 min left")
        #expect(
            line(3 << 20, of: 8 << 20, after: 2, unit: .bytes)
                == "importing: 3.0 MiB of 8.0 MiB, 1.5 MiB/s, 4 s left")
    }

    @Test("without a total there is neither a remaining time nor a bar")
    func noTotal() {
        for total in [nil, 0] {
            #expect(line(2_500, of: total, after: 5) == "importing: 2,500, 500/s")
            #expect(line(2_500, of: total, after: 5, width: 80) == "importing: 2,500, 500/s")
        }
    }

    @Test("if only a bound is known, the total and the rest are shown as bounds")
    func bounds() {
        let text = ProgressText(verb: "counting", total: 10_000, isTotalBound: true)
        #expect(
            text.line(done: 2_500, elapsedSeconds: 5, width: nil)
                == "counting: 2,500 of at most 10,000, 500/s, at most 15 s left")
    }

    @Test("before any time has passed, or without any progress, no rate is shown")
    func noRate() {
        #expect(line(5, of: 10, after: 0) == "importing: 5 of 10")
        #expect(line(5, of: nil, after: 0) == "importing: 5")
        #expect(line(0, of: 10, after: 3) == "importing: 0 of 10")
        #expect(line(5, of: 10, after: 3, doneBefore: 5) == "importing: 5 of 10")
        #expect(line(9, of: 10, after: 2, doneBefore: 5) == "importing: 9 of 10, 2/s, 1 s left")
    }

    @Test("progress beyond the predicted total raises the total")
    func moreThanTotal() {
        #expect(line(12, of: 10, after: 2) == "importing: 12 of 12, 6/s, 0 s left")
        #expect(line(12, of: 10, after: 2, width: 80).contains("█ 100 %  12 of 12"))
        #expect(line(10, of: 10, after: 2) == "importing: 10 of 10, 5/s, 0 s left")
    }

    @Test("a terminal gets a bar if it fits, and never more characters than its width")
    func width() {
        let drawn = "importing ██████░░░░░░░░░░░░░░░░░░ 25 %  2,500 of 10,000, 500/s, 15 s left"
        #expect(line(2_500, of: 10_000, after: 5, width: 80) == drawn)
        #expect(line(2_500, of: 10_000, after: 5, width: drawn.count) == drawn)
        let plain = "importing: 2,500 of 10,000, 500/s, 15 s left"
        #expect(line(2_500, of: 10_000, after: 5, width: drawn.count - 1) == plain)
        #expect(line(2_500, of: 10_000, after: 5, width: 20) == String(plain.prefix(20)))
        let text = ProgressText(verb: "verifying " + String(repeating: "zone ", count: 40), total: 10)
        #expect(text.line(done: 5, elapsedSeconds: 1, width: 80).count == 80)
        #expect(text.line(done: 5, elapsedSeconds: 1, width: nil).count > 200)
    }

    @Test("a text that is too long for a terminal makes room for the remaining time")
    func longNames() {
        let text = ProgressText(verb: "looking for /share/doc/README", total: 1_000_000, isTotalBound: true)
        let figures = "400,000 of at most 1,000,000, 400,000/s, at most 2 s left"
        func line(_ width: Int) -> String { text.line(done: 400_000, elapsedSeconds: 1, width: width) }
        #expect(line(88) == "looking for /share/doc/README: \(figures)")
        #expect(line(79) == "looking for /share/…: \(figures)")
        #expect(line(68) == "looking …: \(figures)")
        #expect(line(67) == String("looking for /share/doc/README: \(figures)".prefix(67)))
    }

    @Test("whatever a zone's name, its progress stays on one line that moves no cursor")
    func hostileNames() {
        let name = "a\nerror: all is lost\u{1B}[2J"
        let visible = "a\\u{a}error: all is lost\\u{1b}[2J"
        let text = ProgressText(verb: "verifying records of \(name)", total: 10)
        #expect(text.line(done: 5, elapsedSeconds: 1, width: nil).hasPrefix("verifying records of \(visible): 5 of 10"))
        #expect(text.line(done: 5, elapsedSeconds: 1, width: 200).hasPrefix("verifying records of \(visible) █"))
        #expect(text.line(done: 5, elapsedSeconds: 1, width: 30) == "verifying records of a\\u{a}err")
        #expect(
            Rebuild.closedNote(of: ZoneName(name))
                == "interrupted: zone \(visible) takes no requests until it is rebuilt: run the same command again")
    }

    @Test("a line replaces the bar if one is drawn, and removes nothing otherwise")
    func barLine() {
        var bar = BarLine()
        let sent = [
            bar.note("first"), bar.clearing(), bar.drawing("half\nbar", width: 9), bar.drawing("bar", width: 9),
            bar.note("second\nand third"), bar.note("fourth"), bar.drawing("bar", width: 2), bar.clearing(),
            bar.clearing(),
        ]
        #expect(
            sent == [
                "first\n", "", "\r\u{1B}[Khalf\\u{a}", "\r\u{1B}[Kbar", "\r\u{1B}[Ksecond\nand third\n",
                "fourth\n", "\r\u{1B}[Kba", "\r\u{1B}[K", "",
            ])
    }

    @Test("no figures are too large or too small to be shown")
    func extremes() {
        #expect(line(.max, of: .max, after: 1e-9, width: 80).count <= 80)
        #expect(line(1, of: .max, after: 1e9).hasSuffix(" h 46 min left"))
    }
}
