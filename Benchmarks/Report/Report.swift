// The table of a run, as text, Markdown and JSON.

import Foundation

/// What a run has found.
struct Report: Codable {
    let figures: [Figure]
    let plots: [Plot]
    let recordCount: Int
    let date: String
    let machine: String
    let minutes: Double
    /// The workloads that were still to come when this was written.
    let notRun: [String]

    init(_ run: BenchmarkRun, recordCount: Int, minutes: Double, notRun: [String]) {
        figures = run.figures
        plots = run.plots
        self.recordCount = recordCount
        date = Date.now.formatted(.iso8601.year().month().day())
        machine =
            "\(ProcessInfo.processInfo.activeProcessorCount) cores, \(ProcessInfo.processInfo.operatingSystemVersionString)"
        self.minutes = minutes
        self.notRun = notRun
    }

    var missed: [Figure] { figures.filter { $0.isMet == false } }

    private static let header = ["workload", "subject", "Stratus", "unit", "peer", "its figure", "ratio", "bar", "met"]

    private var rows: [[String]] {
        figures.map { figure in
            [
                figure.workload, figure.subject, Figure.text(figure.stratus), figure.unit, figure.peer ?? "–",
                figure.peerValue.map(Figure.text) ?? "–", Figure.text(figure.ratio), figure.bar,
                figure.isMet.map { $0 ? "yes" : "NO" } ?? "–",
            ]
        }
    }

    /// The table in columns, for a terminal.
    var table: String {
        let lines = [Self.header] + rows
        let widths = Self.header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        }
        .joined(separator: "\n")
    }

    var markdown: String {
        var lines = [
            "# Benchmarks of \(date)", "",
            "\(Figure.text(Double(recordCount))) records, \(machine), \(Figure.text(minutes)) minutes.",
            "Times are beside the point; ratios are medians of rounds in alternation, in one process. What the workloads",
            "are is in `Docs/BENCHMARKS.md`.", "",
        ]
        if !notRun.isEmpty { lines += ["Not run: \(notRun.joined(separator: ", ")).", ""] }
        for line in [Self.header, Self.header.map { _ in "---" }] + rows {
            lines.append("| " + line.joined(separator: " | ") + " |")
        }
        for plot in plots {
            lines += ["", "## \(plot.workload): \(plot.title)", "", "![\(plot.title)](\(plot.fileName))"]
            if let note = plot.note { lines += ["", note] }
        }
        guard figures.contains(where: { $0.peer == "SQLite in C" }) else { return lines.joined(separator: "\n") + "\n" }
        lines += ["", "## SQLite in C: the schema and the statements", "", "```sql", SQLiteInCPeer.text, "```"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Writes `benchmarks.json`, `README.md` and the plots of the workloads that draw one.
    func write(to folder: String) throws {
        let url = URL(fileURLWithPath: folder)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        try (try encoder.encode(self)).write(to: url.appendingPathComponent("benchmarks.json"))
        try Data(markdown.utf8).write(to: url.appendingPathComponent("README.md"))
        for plot in plots {
            try Data(PlotDrawing(plot).svg.utf8).write(to: url.appendingPathComponent(plot.fileName))
        }
    }
}
