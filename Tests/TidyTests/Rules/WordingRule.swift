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

    /// Code, with its replacements.
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

    private static func contains(_ word: String, in line: String) -> Bool {
        line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == word }
    }
}
