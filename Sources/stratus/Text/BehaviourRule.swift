// Rules of behaviour by number, and names that are similar to a mistyped one.

/// A rule of `Docs/Compatibility/rules.tsv`, such as S-05. The tool contains the texts (`texts`), because it reads no
/// documents.
struct BehaviourRule: Sendable {
    let number: String
    let text: String
    /// Whether Stratus decided what CloudKit leaves open.
    let isChoice: Bool
    /// The full wording of a ruling (X).
    let wording: String?

    /// The part before the dash.
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

    /// The text with its continuation lines.
    private static func continued(_ start: Substring, _ lines: inout ArraySlice<Substring>) -> String {
        var text = String(start)
        while let line = lines.first, line.hasPrefix("  ") {
            text += line.dropFirst()
            lines.removeFirst()
        }
        return text
    }

    /// The rule number in a text copied from a message: in any case, with or without brackets.
    static func number(in text: String) -> String {
        let signs = text.drop { "[(".contains($0) }.reversed().drop { "])".contains($0) }.reversed()
        return String(signs).uppercased()
    }
}

/// Finds the name that a user may have meant.
enum NearestName {
    /// Longer names are not compared: the work grows with the square of the length.
    private static let maximumScalarCount = 255
    /// How many names are examined.
    private static let maximumCandidateCount = 10_000

    /// The candidate that is most similar to `name`, if it differs in a few letters or continues the name. Ignores
    /// case. Of equally similar names, the first.
    static func of(_ name: String, among candidates: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars)
        guard (1...maximumScalarCount).contains(wanted.count) else { return nil }
        let limit = max(1, wanted.count / 3)
        var best: (name: String, distance: Int)?
        for candidate in candidates.prefix(maximumCandidateCount) {
            let letters = Array(candidate.lowercased().unicodeScalars)
            guard (1...maximumScalarCount).contains(letters.count) else { continue }
            var distance = limit + 1
            if abs(letters.count - wanted.count) <= limit { distance = self.distance(wanted, letters) }
            if distance > limit, wanted.count >= 3, letters.starts(with: wanted) { distance = limit }
            // A single letter is not similar to another.
            guard distance <= limit, distance < max(wanted.count, letters.count) else { continue }
            if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
        }
        return best?.name
    }

    /// The number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
    static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for (row, letter) in first.enumerated() {
            var current = [row + 1]
            current.reserveCapacity(second.count + 1)
            for (column, other) in second.enumerated() {
                var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            beforeLast = last
            last = current
        }
        return last[second.count]
    }
}
