// A numbered rule of behaviour, such as S-05, as messages, documents and the names of tests cite it.

/// One of the rules in `Docs/Compatibility/rules.tsv`. The tool carries their texts (`texts`), because it reads no documents.
struct BehaviourRule: Sendable {
    let number: String
    let text: String
    /// Whether Stratus decided what CloudKit leaves open.
    let isChoice: Bool
    /// The full wording of a ruling (X).
    let wording: String?

    /// What stands before the dash.
    var family: Substring { number.prefix { $0 != "-" } }

    /// All rules, by family and number.
    static func all() -> [BehaviourRule] {
        var rules: [BehaviourRule] = []
        var lines = texts.split(separator: "\n")[...]
        while let line = lines.popFirst() {
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3 else { continue }
            let text = continued(words[2], &lines)
            var wording: String?
            if let next = lines.first, next.hasPrefix("= ") {
                lines.removeFirst()
                wording = continued(next.dropFirst(2), &lines)
            }
            rules.append(
                BehaviourRule(number: String(words[0]), text: text, isChoice: words[1] == "choice", wording: wording))
        }
        return rules
    }

    /// A text with the lines that continue it.
    private static func continued(_ start: Substring, _ lines: inout ArraySlice<Substring>) -> String {
        var text = String(start)
        while let line = lines.first, line.hasPrefix("  ") {
            text += line.dropFirst()
            lines.removeFirst()
        }
        return text
    }

    /// The number in a text as somebody copied it from a message: in any case, with the brackets around it or without.
    static func number(in text: String) -> String {
        let signs = text.drop { "[(".contains($0) }.reversed().drop { "])".contains($0) }.reversed()
        return String(signs).uppercased()
    }
}
