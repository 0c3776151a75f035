// Names as a terminal may see them: what could move a cursor, change a colour or hide text is spelled out.

/// Text in which every character that a terminal would act on stands as `\u{…}`.
enum VisibleText {
    static func of(_ text: String) -> String {
        // Most text is ASCII: looking at its bytes costs next to nothing.
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        var visible = ""
        for scalar in text.unicodeScalars {
            if isDangerous(scalar) {
                visible += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                visible.unicodeScalars.append(scalar)
            }
        }
        return visible
    }

    /// Control characters, format characters that turn the direction of text or cannot be seen, and what is no character.
    static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar.value != 0x200D && scalar.value != 0x200C
        default: (0xFDD0...0xFDEF).contains(scalar.value)
        }
    }
}

extension VisibleText {
    /// The same for a text of several lines, whose ends stay.
    static func ofLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { of(String($0)) }.joined(separator: "\n")
    }
}
