// The words of a text for full-text search: whole, in lower case, without marks on letters, without the words that
// every English text has.
//
// A word is a run of letters, digits and marks. Folded words are on disk and must always be found, so nothing here
// depends on a locale or on the Unicode version of the tools. The table of marked letters never changes. It holds the
// small Latin, Greek and Cyrillic letters whose canonical decomposition is one letter and marks, and the sigma.

/// Splits texts into folded words.
package enum SearchWords {
    /// Words that are never indexed.
    static let ignored: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    /// The bytes of a word that count. A longer word is cut there.
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

/// Letters without their marks.
enum DiacriticFolding {
    /// A letter, and the same letter with marks.
    private static let groups: [(base: Unicode.Scalar, marked: String)] = [
        ("a", "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ"),
        ("b", "ḃḅḇ"),
        ("c", "çćĉċčḉ"),
        ("d", "ďḋḍḏḑḓ"),
        ("e", "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ"),
        ("f", "ḟ"),
        ("g", "ĝğġģǧǵḡ"),
        ("h", "ĥȟḣḥḧḩḫẖ"),
        ("i", "ìíîïĩīĭįǐȉȋḭḯỉị"),
        ("j", "ĵǰ"),
        ("k", "ķǩḱḳḵ"),
        ("l", "ĺļľḷḹḻḽ"),
        ("m", "ḿṁṃ"),
        ("n", "ñńņňǹṅṇṉṋ"),
        ("o", "òóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ"),
        ("p", "ṕṗ"),
        ("r", "ŕŗřȑȓṙṛṝṟ"),
        ("s", "śŝşšșṡṣṥṧṩ"),
        ("t", "ţťțṫṭṯṱẗ"),
        ("u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự"),
        ("v", "ṽṿ"),
        ("w", "ŵẁẃẅẇẉẘ"),
        ("x", "ẋẍ"),
        ("y", "ýÿŷȳẏẙỳỵỷỹ"),
        ("z", "źżžẑẓẕ"),
        ("æ", "ǣǽ"),
        ("ø", "ǿ"),
        ("ſ", "ẛ"),
        ("ʒ", "ǯ"),
        ("α", "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
        ("ε", "έἐἑἒἓἔἕὲέ"),
        ("η", "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
        ("ι", "ΐίϊἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"),
        ("ο", "όὀὁὂὃὄὅὸό"),
        ("ρ", "ῤῥ"),
        ("υ", "ΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"),
        ("ω", "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
        ("а", "ӑӓ"),
        ("г", "ѓ"),
        ("е", "ѐёӗ"),
        ("ж", "ӂӝ"),
        ("з", "ӟ"),
        ("и", "йѝӣӥ"),
        ("к", "ќ"),
        ("о", "ӧ"),
        ("у", "ўӯӱӳ"),
        ("ч", "ӵ"),
        ("ы", "ӹ"),
        ("э", "ӭ"),
        ("і", "ї"),
        ("ѵ", "ѷ"),
        ("ә", "ӛ"),
        ("ө", "ӫ"),
    ]

    private static let bases: [Unicode.Scalar: Unicode.Scalar] = Dictionary(
        groups.flatMap { group in group.marked.unicodeScalars.map { ($0, group.base) } }
    ) { first, _ in first }

    /// The letter without its marks.
    static func base(of letter: Unicode.Scalar) -> Unicode.Scalar {
        letter.value < 0xDF ? letter : bases[letter] ?? letter
    }
}
