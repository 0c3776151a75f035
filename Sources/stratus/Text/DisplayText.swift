// Text for people: names for pictures and pages, names for terminals, quantities and tables.

import FoundationEssentials

/// Text for pictures and pages: one line of bounded length. Characters that a reader cannot see, or that would overlap
/// their neighbours, are spelled out.
enum DisplayText {
    /// The default limit of scalars.
    static let scalarLimit = 200
    /// How many marks on one letter are drawn; more would overlap the lines above and below.
    private static let markLimit = 6

    /// The text, at most `limit` scalars of it and then "…".
    static func of(_ text: String, limit: Int = Self.scalarLimit) -> String {
        var shown = ""
        var (count, markCount) = (0, 0)
        for scalar in text.unicodeScalars {
            guard count < limit else { return shown + "…" }
            count += 1
            let isMark = isMark(scalar)
            markCount = isMark ? markCount + 1 : 0
            if VisibleText.isDangerous(scalar) || isNoncharacter(scalar) || markCount > markLimit {
                shown += spelled(scalar)
            } else {
                // A mark at the beginning would combine with the character before the name.
                if isMark, count == 1 { shown += "\u{25CC}" }
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown.isEmpty ? "(empty)" : shown
    }

    /// A scalar by its number: `\u{202e}`.
    static func spelled(_ scalar: Unicode.Scalar) -> String { "\\u{" + String(scalar.value, radix: 16) + "}" }

    static func isNoncharacter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value & 0xFFFE == 0xFFFE || (0xFDD0...0xFDEF).contains(scalar.value)
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x300 else { return false }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark: return true
        default: return false
        }
    }

    /// The width of the text in cells of a fixed-width font: two for wide letters and emoji, none for marks.
    static func columnCount(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { sum, scalar in
            if isMark(scalar) || scalar.value == 0x200C || scalar.value == 0x200D { return sum }
            return sum + (isWide(scalar) ? 2 : 1)
        }
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F000...0x1FAFF, 0x20000...0x3FFFD:
            true
        default: scalar.properties.isEmojiPresentation
        }
    }

    /// The text, cut to a width in cells.
    static func fitting(_ text: String, columns: Int) -> String {
        guard columnCount(of: text) > columns else { return text }
        var shown = ""
        var width = 0
        for character in text {
            let next = columnCount(of: String(character))
            guard width + next <= columns - 1 else { break }
            shown.append(character)
            width += next
        }
        return shown + "…"
    }
}

/// Text for terminals: characters that could move a cursor, change a colour or hide text are written as `\u{…}`.
enum VisibleText {
    static func of(_ text: String) -> String {
        // Most text is ASCII, which is checked quickly.
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        return text.replacingScalars { isDangerous($0) ? DisplayText.spelled($0) : nil }
    }

    /// Whether the scalar is a control character, an invisible or direction-changing format character, or a
    /// noncharacter.
    static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar.value != 0x200D && scalar.value != 0x200C
        default: (0xFDD0...0xFDEF).contains(scalar.value)
        }
    }

    /// The visible text of several lines. Line ends stay.
    static func ofLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { of(String($0)) }.joined(separator: "\n")
    }
}

extension String {
    /// The text with other text in place of each scalar for which `replacement` returns some.
    func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var text = ""
        for scalar in unicodeScalars {
            if let other = replacement(scalar) { text += other } else { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}

/// Counts, sizes, durations and dates for people.
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

    static func milliseconds(_ duration: Duration) -> Double {
        (seconds(duration) * 1e6).rounded() / 1e3
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

    /// A date in UTC, to the second: "2026-01-31 12:00:00".
    static func date(_ date: Date) -> String {
        let text = date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space))
        return text.hasSuffix("Z") ? String(text.dropLast()) : text
    }

    /// A date for programs: "2026-01-31T12:00:00.000Z".
    static func timestamp(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

/// A table of names, on the left, and numbers, aligned on the right. It is in memory as a whole: use it for summaries,
/// never for lists of records.
struct Table {
    let titles: [String]
    var rows: [[String]] = []

    var lines: [String] {
        let widths = titles.indices.map { index in ([titles] + rows).map { $0[index].count }.max() ?? 0 }
        let rule = widths.map { String(repeating: "-", count: $0) }
        return ([titles, rule] + rows).map { cells in
            let padded = cells.indices.map { index in
                let padding = String(repeating: " ", count: widths[index] - cells[index].count)
                return index == 0 ? cells[index] + padding : padding + cells[index]
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
