// Counts, sizes and durations as people read them.

import FoundationEssentials

enum Quantities {
    /// 1234567 → "1,234,567".
    static func count(_ value: some BinaryInteger) -> String {
        let digits = Array(String(value.magnitude).utf8)
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.unicodeScalars.append(Unicode.Scalar(digit))
        }
        return text
    }

    /// "1 record", "2 records".
    static func count(_ value: some BinaryInteger, _ noun: String) -> String { count(value, noun, noun + "s") }

    /// "1 entry", "2 entries".
    static func count(_ value: some BinaryInteger, _ one: String, _ many: String) -> String {
        "\(count(value)) \(value == 1 ? one : many)"
    }

    /// 1536 → "1.5 KiB".
    static func bytes(_ value: some BinaryInteger) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var scaled = Double(value)
        var unit = 0
        while scaled >= 1_024, unit < units.count - 1 {
            scaled /= 1_024
            unit += 1
        }
        return unit == 0 ? "\(value) B" : "\(decimal(scaled, places: 1)) \(units[unit])"
    }

    /// 0.00123 → "1.23 ms", 75 → "1 min 15 s".
    static func duration(_ duration: Duration) -> String {
        let seconds = self.seconds(duration)
        if seconds < 0.001 { return "\(Int((seconds * 1_000_000).rounded())) µs" }
        if seconds < 1 { return "\(decimal(seconds * 1_000, places: seconds < 0.1 ? 2 : 0)) ms" }
        if seconds < 60 { return "\(decimal(seconds, places: 2)) s" }
        let whole = Int(seconds.rounded())
        if whole < 3_600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
    }

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    static func milliseconds(_ duration: Duration) -> JSONValue {
        .number((seconds(duration) * 1e6).rounded() / 1e3)
    }

    static func decimal(_ value: Double, places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard scaled.magnitude < 9e15 else { return "\(value)" }
        let whole = Int64(scaled)
        guard places > 0 else { return "\(whole)" }
        let digits = String(whole.magnitude)
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.utf8.count)) + digits
        return (whole < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }

    /// A date in universal time, to the second: "2026-01-31 12:00:00".
    static func date(_ date: Date) -> String {
        let text = date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space))
        return text.hasSuffix("Z") ? String(text.dropLast()) : text
    }

    /// A date for other programs: "2026-01-31T12:00:00.000Z".
    static func timestamp(_ date: Date) -> JSONValue {
        .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
