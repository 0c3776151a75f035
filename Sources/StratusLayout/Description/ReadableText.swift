// Text as one safe, exact line: what is quoted here can be read back as the same bytes, and nothing in it can break a
// line, move a cursor or hide.
//
// Escaped as \u{…}: control, format, private and unassigned characters, line and paragraph separators, every space but
// U+0020, ignorable and blank characters, a mark that would join the quote, and the marks of U+0300…U+036F, so that
// composed and decomposed letters can be told apart.

import StratusModel

/// Quotes text and reads quoted text.
package enum ReadableText {
    /// The text in double quotes, escaped; of more than `limit` scalars the first ones and the number of bytes.
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

    /// Whether a scalar shows itself, and only itself, wherever a line is shown.
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
