// Names as pictures and pages show them: on one line, of bounded length, with nothing that hides or turns text.

/// Text in which everything that a reader could not see, or that would run over its neighbours, is spelled out.
enum DisplayText {
    /// Scalars of a name that are shown, unless another limit is asked for.
    static let scalarLimit = 200
    /// Marks on one letter that are drawn; those beyond would climb over the lines above and below.
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
                // A mark at the beginning would sit on whatever stands before the name.
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

    /// How many cells of a fixed-width font the text takes: two for wide letters and pictures, none for marks.
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

    /// The text, cut to so many cells.
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
