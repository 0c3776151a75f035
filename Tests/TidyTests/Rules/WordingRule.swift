// Words that have a better replacement, and calls that end the process on external data.

enum WordingRule {
    /// Words in comments, with their replacements.
    private static let comments: [(word: String, instead: String)] = [
        ("TODO", "do it, or describe the limit as it is"),
        ("FIXME", "fix it, or describe the limit as it is"),
        ("XXX", "say what a reader must know"),
        ("HACK", "say why it must be so"),
        ("whitelist", "allow list"),
        ("blacklist", "deny list"),
        ("sanity check", "check"),
    ]

    /// Expressions of a dialect, in small letters, with what to write instead.
    private static let dialect: [(expression: String, instead: String)] = [
        ("whoever", "the caller, the process or the person that does it"),
        ("whomever", "the caller or the person"),
        ("anew", "again"),
        ("for ever", "permanently"),
        ("thereby", "so"),
        ("is told", "gets, learns or is notified"),
        ("are told", "get, learn or are notified"),
        ("was told", "got or was notified"),
        ("told of", "notified of"),
        ("is spared", "avoids"),
        ("is left to", "is handled by"),
        ("are left to", "are handled by"),
        ("mend", "repair or fix"),
        ("mends", "repairs or fixes"),
        ("mended", "repaired or fixed"),
        ("hand out", "return"),
        ("hands out", "returns"),
        ("handed out", "returned"),
        ("take along", "include"),
        ("takes along", "includes"),
        ("put in order", "sorted"),
        ("any more", "any longer, or no longer before the verb"),
        ("as it lies", "as it is stored"),
    ]

    /// Code, with what to write instead.
    private static let code: [(tokens: [String], instead: String)] = [
        (["fatalError"], "throw an error, or state a programmer error with precondition"),
        (["try!"], "try, or throw"),
        (["as", "!"], "as?, and throw when it is nil"),
        (["unsafeBitCast"], "a conversion that is checked"),
        (["unowned", "(", "unsafe", ")"], "weak or a strong reference"),
        (["DispatchQueue", ".", "main"], "a thread or queue of the caller's"),
    ]

    /// Meaningless parts of file names.
    private static let fileNames = ["Util", "Misc", "Manager", "Common", "Stuff"]

    static func findings(in source: SwiftSource) -> [Finding] {
        var findings = words(in: source.commentLines, path: source.path)
        for (tokens, instead) in code {
            for line in source.lines(of: tokens) {
                findings.append(Finding(source.path, line: line, "'\(tokens.joined())': write \(instead)"))
            }
        }
        if let part = fileNames.first(where: { source.fileName.contains($0) }) {
            findings.append(Finding(source.path, "'\(part)' in a file name says nothing: use noun and role"))
        }
        if source.sourceTarget.map(DeterminismRule.quietTargets.contains) == true {
            for line in source.lines(of: ["print", "("]) {
                findings.append(Finding(source.path, line: line, "a library prints nothing: return or throw it"))
            }
        }
        return findings
    }

    /// The words in plain lines: comments, documents, scripts.
    static func words(in lines: [String], path: String) -> [Finding] {
        var findings: [Finding] = []
        for (index, line) in lines.enumerated() {
            let lowercased = line.lowercased()
            for (word, instead) in comments {
                // Words in capitals are meant in capitals only.
                let isThere = word.uppercased() == word ? contains(word, in: line) : lowercased.contains(word)
                if isThere { findings.append(Finding(path, line: index + 1, "'\(word)': \(instead)")) }
            }
        }
        return findings
    }

    /// Expressions of the dialect, in comments, texts and documents.
    static func dialect(in lines: [String], path: String) -> [Finding] {
        // Most files have none of them: looking once in all lines is much faster than looking in each.
        let text = lines.joined(separator: "\n").lowercased()
        let found = dialect.filter { text.contains($0.expression) }
        guard !found.isEmpty else { return [] }
        return lines.enumerated().flatMap { index, line in
            let lowercased = line.lowercased()
            return found.filter { containsPhrase($0.expression, in: lowercased) }.map {
                Finding(path, line: index + 1, "'\($0.expression)': write \($0.instead)")
            }
        }
    }

    /// Whether the expression is there as whole words.
    private static func containsPhrase(_ expression: String, in line: String) -> Bool {
        line.ranges(of: expression).contains { range in
            let before = range.lowerBound > line.startIndex ? line[line.index(before: range.lowerBound)] : " "
            let after = range.upperBound < line.endIndex ? line[range.upperBound] : " "
            return !before.isLetter && !after.isLetter
        }
    }

    private static func contains(_ word: String, in line: String) -> Bool {
        line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == word }
    }
}
