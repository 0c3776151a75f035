// Text and dates as one safe, exact line: quoted text can be read back as the same bytes, and nothing in it can break a
// line, move a cursor or hide.
//
// Escaped as \u{…}: control, format, private and unassigned characters, line and paragraph separators, every space but
// U+0020, ignorable and blank characters, a mark that would join the quote, and the marks of U+0300…U+036F, so that
// composed and decomposed letters look different.

import FoundationEssentials
import StratusModel

/// Quotes text.
package enum ReadableText {
    /// The text in double quotes, escaped. Of more than `limit` scalars it shows the first ones and the number of
    /// bytes.
    package static func quoted(_ text: String, limit: Int = .max) -> String {
        var line = "\""
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < limit else { return line + "\"… (\(text.utf8.count.counting("byte")))" }
            count += 1
            append(scalar, isFirst: count == 1, to: &line)
        }
        return line + "\""
    }

    private static func append(_ scalar: Unicode.Scalar, isFirst: Bool, to line: inout String) {
        switch scalar {
        case "\"": line += "\\\""
        case "\\": line += "\\\\"
        default:
            if isSafe(scalar, isFirst: isFirst) {
                line.unicodeScalars.append(scalar)
            } else {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
    }

    /// Whether a scalar shows itself, and only itself, on any display.
    static func isSafe(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7F }
        if (0x300...0x36F).contains(scalar.value) || scalar.value == 0x2800 { return false }
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned: return false
        case .lineSeparator, .paragraphSeparator, .spaceSeparator: return false
        case .nonspacingMark, .enclosingMark, .spacingMark: return !isFirst
        default: return true
        }
    }
}

/// Shows dates with any bits, in UTC. A calendar's own formatter may trap on a date outside its calendar.
enum ReadableDate {
    /// 2001-01-01 counted in days from 1970-01-01.
    private static let referenceDay = 11_323
    private static let secondsPerDay = 86_400

    /// For example `2026-03-01T12:00:00.250Z`; outside the years 1 to 9999 the seconds since 2001.
    static func text(_ date: Date) -> String {
        let seconds = date.timeIntervalSinceReferenceDate
        // The years 1 to 9999 begin and end here; the comparison is false for NaN too.
        guard seconds >= -63_113_904_000, seconds < 252_423_993_600 else { return "date(\(seconds))" }
        let milliseconds = Int((seconds * 1_000).rounded(.down))
        let day = floorDivided(milliseconds, by: secondsPerDay * 1_000)
        let rest = milliseconds - day * secondsPerDay * 1_000
        let (year, month, dayOfMonth) = civil(fromDay: day + referenceDay)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60].map { padded($0, 2) }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))T"
            + "\(time.joined(separator: ":")).\(padded(rest % 1_000, 3))Z"
    }

    /// Year, month and day of the proleptic Gregorian calendar, for days counted from 1970-01-01.
    ///
    /// Years are counted from March, so that the leap day is the last of its year and months follow one formula.
    private static func civil(fromDay day: Int) -> (year: Int, month: Int, day: Int) {
        let marchDay = day + 719_468
        let era = floorDivided(marchDay, by: 146_097)
        let dayOfEra = marchDay - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func floorDivided(_ value: Int, by divisor: Int) -> Int {
        (value >= 0 ? value : value - divisor + 1) / divisor
    }

    private static func padded(_ number: Int, _ digitCount: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digitCount - text.count)) + text
    }
}
