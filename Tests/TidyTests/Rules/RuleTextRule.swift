// The list of rules defines numbers such as S-05. The tool contains a copy of the texts, which scripts/compatibility
// writes; this compares the two, and looks for cited numbers without a definition.

enum RuleTextRule {
    static let list = "Docs/Compatibility/rules.tsv"
    static let embedded = "Sources/stratus/Text/RuleTexts.swift"

    struct Line: Hashable {
        let number: String
        let text: String
        let strength: String
        let wording: String?
    }

    /// The lines of the list, without comments and without lines that do not have three cells.
    static func lines(of list: String) -> [Line] {
        list.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            let cells = line.split(separator: "\t").map(String.init)
            guard cells.count >= 3 else { return nil }
            return Line(number: cells[0], text: cells[1], strength: cells[2], wording: cells.count > 3 ? cells[3] : nil)
        }
    }

    static func findings(list: String, embedded text: String) -> [Finding] {
        let wanted = Set(lines(of: list)), carried = Set(embeddedLines(of: text))
        let differing = Set(wanted.symmetricDifference(carried).map { line in line.number })
        return differing.sorted().map { number in
            Finding(embedded, "\(number) differs from \(self.list): run scripts/compatibility")
        }
    }

    /// The lines as the tool's source has them: number, strength and text; '=' before a wording; deeper lines continue.
    private static func embeddedLines(of text: String) -> [Line] {
        var lines: [Line] = []
        var current: (head: [String], text: String, wording: String?)?
        func end() {
            guard let ended = current else { return }
            lines.append(
                Line(number: ended.head[0], text: ended.text, strength: ended.head[1], wording: ended.wording))
        }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            if words.count == 3, CompatibilityRule.isRule(words[0]) {
                end()
                current = (Array(words.prefix(2)), words[2], nil)
            } else if line.trimmed.hasPrefix("= ") {
                current?.wording = String(line.trimmed.dropFirst(2))
            } else if let wording = current?.wording, !line.trimmed.hasPrefix("\"\"\""), line.trimmed != "}" {
                current?.wording = wording + " " + line.trimmed
            } else if current != nil, !line.trimmed.hasPrefix("\"\"\""), line.trimmed != "}" {
                current?.text += " " + line.trimmed
            }
        }
        end()
        return lines
    }

    /// Numbers of known families that are not among the list's rules.
    static func findings(path: String, text: String, numbers: Set<String>) -> [Finding] {
        let families = Set(numbers.map { $0.split(separator: "-")[0] })
        var findings: [Finding] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            // Most lines end here: searching text is slow in a debug build.
            guard line.utf8.contains(UInt8(ascii: "-")) else { continue }
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "-" }
            for word in words where CompatibilityRule.isRule(String(word)) {
                guard families.contains(word.prefix { $0 != "-" }), !numbers.contains(String(word)) else { continue }
                findings.append(
                    Finding(path, line: index + 1, "there is no rule \(word): add it to \(list), or correct the number")
                )
            }
        }
        return findings
    }
}
