// The words of a text, as full-text search knows them: whole, in lower case, without marks on letters, without the words
// that every English text has.
//
// A word is a run of letters, digits and marks. What is stored under a word must be found by it for ever, so nothing here
// depends on a locale.

/// Splits texts into words, and folds them.
package enum SearchWords {
    /// Words that are never searched for.
    static let ignored: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    /// Of a longer word so many bytes count: its beginning stands for it.
    static let maximumWordByteCount = 64

    /// The different words of a text.
    package static func words(of text: String) -> Set<String> {
        var words: Set<String> = []
        var word = ""
        func end() {
            guard !word.isEmpty else { return }
            if !ignored.contains(word) { words.insert(word) }
            word = ""
        }
        for scalar in text.unicodeScalars {
            if scalar.value < 0x80 {
                switch scalar.value {
                case 0x30...0x39, 0x61...0x7A: append(scalar, to: &word)
                case 0x41...0x5A: append(Unicode.Scalar(UInt8(scalar.value + 0x20)), to: &word)
                default: end()
                }
                continue
            }
            switch scalar.properties.generalCategory {
            case .nonspacingMark: continue
            case .uppercaseLetter, .titlecaseLetter, .lowercaseLetter:
                for lower in scalar.properties.lowercaseMapping.unicodeScalars
                where lower.properties.generalCategory != .nonspacingMark {
                    append(DiacriticFolding.base(of: lower), to: &word)
                }
            case .otherLetter, .modifierLetter, .decimalNumber, .letterNumber, .otherNumber, .spacingMark:
                append(scalar, to: &word)
            default: end()
            }
        }
        end()
        return words
    }

    private static func append(_ scalar: Unicode.Scalar, to word: inout String) {
        guard word.utf8.count + UTF8.width(scalar) <= maximumWordByteCount else { return }
        word.unicodeScalars.append(scalar)
    }
}
