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

// What somebody may have meant who wrote a name that nothing has.

enum NearestName {
    /// Longer names are compared by nobody: the work grows with the square of the length.
    private static let maximumScalarCount = 255
    /// So many names are looked at.
    private static let maximumCandidateCount = 10_000

    /// The name among `candidates` that is nearest to `name`, if it is so near that it may have been meant: a few letters
    /// off, or begun and not ended. Case does not count. Of names as near the first one.
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
            // One letter is no likeness to another.
            guard distance <= limit, distance < max(wanted.count, letters.count) else { continue }
            if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
        }
        return best?.name
    }

    /// How many letters must be put in, taken out, replaced or swapped with their neighbour to make one of the other.
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
