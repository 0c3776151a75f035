// A plot as SVG text: logarithmic axes with a line for each power of ten, a curve for each series, names beside them.

import Foundation

/// Draws one plot.
struct PlotDrawing {
    private let plot: Plot
    private let xDecades: ClosedRange<Int>
    private let yDecades: ClosedRange<Int>

    private static let size = (width: 860.0, height: 420.0)
    private static let area = (left: 80.0, top: 40.0, right: 540.0, bottom: 360.0)
    private static let colours = [
        "#1565c0", "#c62828", "#2e7d32", "#6a1b9a", "#ef6c00", "#00838f", "#4e342e", "#ad1457", "#558b2f", "#37474f",
    ]

    init(_ plot: Plot) {
        self.plot = plot
        let points = plot.series.flatMap(\.points).filter { $0.x > 0 && $0.y > 0 }
        xDecades = Self.decades(points.map(\.x))
        yDecades = Self.decades(points.map(\.y))
    }

    var svg: String {
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Int(Self.size.width))\" height=\"\(Int(Self.size.height))\""
                + " font-family=\"sans-serif\" font-size=\"12\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
            text(plot.workload + ": " + plot.title, x: Self.area.left, y: 22, extra: " font-size=\"15\""),
        ]
        lines += xDecades.flatMap(verticalLine) + yDecades.flatMap(horizontalLine)
        let middle = (Self.area.left + Self.area.right) / 2
        lines.append(text(plot.xLabel, x: middle, y: Self.area.bottom + 42, extra: " text-anchor=\"middle\""))
        let turned = " text-anchor=\"middle\" transform=\"rotate(-90 20 200)\""
        lines.append(text(plot.yLabel, x: 20, y: 200, extra: turned))
        for (index, series) in plot.series.enumerated() {
            lines += curve(series, colour: Self.colours[index % Self.colours.count], line: index)
        }
        return lines.joined(separator: "\n") + "\n</svg>\n"
    }

    // MARK: Scales

    private static func decades(_ values: [Double]) -> ClosedRange<Int> {
        guard let least = values.min(), let most = values.max() else { return 0...1 }
        let low = Int(log10(least).rounded(.down))
        return low...max(low + 1, Int(log10(most).rounded(.up)))
    }

    private func x(_ value: Double) -> Double {
        let part = (log10(value) - Double(xDecades.lowerBound)) / Double(xDecades.count - 1)
        return Self.area.left + part * (Self.area.right - Self.area.left)
    }

    private func y(_ value: Double) -> Double {
        let part = (log10(value) - Double(yDecades.lowerBound)) / Double(yDecades.count - 1)
        return Self.area.bottom - part * (Self.area.bottom - Self.area.top)
    }

    // MARK: Parts

    private func verticalLine(_ decade: Int) -> [String] {
        let place = x(pow(10, Double(decade)))
        return [
            line(place, Self.area.top, place, Self.area.bottom),
            text(
                Figure.text(pow(10, Double(decade))), x: place, y: Self.area.bottom + 18,
                extra: " text-anchor=\"middle\""),
        ]
    }

    private func horizontalLine(_ decade: Int) -> [String] {
        let place = y(pow(10, Double(decade)))
        return [
            line(Self.area.left, place, Self.area.right, place),
            text(
                Figure.text(pow(10, Double(decade))), x: Self.area.left - 8, y: place + 4, extra: " text-anchor=\"end\""
            ),
        ]
    }

    private func curve(_ series: Series, colour: String, line number: Int) -> [String] {
        let places = series.points.filter { $0.x > 0 && $0.y > 0 }.map { (x: x($0.x), y: y($0.y)) }
        let path = places.map { "\(rounded($0.x)),\(rounded($0.y))" }.joined(separator: " ")
        let height = Self.area.top + 20 + Double(number) * 22
        // Peers are dashed where their curves stand beside several of ours.
        let dashes = series.name.hasSuffix(": GRDB") ? " stroke-dasharray=\"6 4\"" : ""
        var lines = ["<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\"\(dashes)/>"]
        lines += places.map {
            "<circle cx=\"\(rounded($0.x))\" cy=\"\(rounded($0.y))\" r=\"3\" fill=\"\(colour)\"/>"
        }
        lines.append("<rect x=\"556\" y=\"\(rounded(height - 9))\" width=\"12\" height=\"10\" fill=\"\(colour)\"/>")
        lines.append(text(series.name, x: 574, y: height))
        return lines
    }

    private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
        "<line x1=\"\(rounded(x1))\" y1=\"\(rounded(y1))\" x2=\"\(rounded(x2))\" y2=\"\(rounded(y2))\" stroke=\"#ccc\"/>"
    }

    private func text(_ text: String, x: Double, y: Double, extra: String = "") -> String {
        let safe = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        return "<text x=\"\(rounded(x))\" y=\"\(rounded(y))\"\(extra)>\(safe)</text>"
    }

    private func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
