// Every source file begins with a comment that says what it is.

enum HeaderRule {
    static func findings(path: String, text: String) -> [Finding] {
        let line = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        let words = line.split { !$0.isLetter && !$0.isNumber }
        let isComment = line.hasPrefix("// ") || line.hasPrefix("/* ")
        guard isComment, words.count > 0, words.first != "swiftlint" else {
            return [Finding(path, line: 1, "begin with a comment that says what the file is and its invariants")]
        }
        return []
    }
}
