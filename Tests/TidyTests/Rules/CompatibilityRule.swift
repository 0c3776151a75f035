// The compatibility page contains each numbered rule, its text and the test that proves it. The page is written by
// scripts/compatibility; this compares it with the list of rules and the tests: no rule is called proven that no test
// names, none is missing, and none has another text.
//
// A test names rules in brackets at the beginning of its name: `@Test("[S-04][A-02] …")`.

enum CompatibilityRule {
    static let page = "Docs/COMPATIBILITY.md"
    private static let remedy = "write the page again with scripts/compatibility"

    /// What the tests prove: rule → the names of its tests, without the numbers.
    static func proofs(in sources: [SwiftSource]) -> [String: Set<String>] {
        var proofs: [String: Set<String>] = [:]
        for source in sources where holdsProofs(source.path) {
            for line in source.lines where line.utf8.contains(UInt8(ascii: "[")) && !line.trimmed.hasPrefix("//") {
                guard let start = line.ranges(of: "\"[").first?.lowerBound else { continue }
                let (rules, name) = rules(atStartOf: line[line.index(after: start)...])
                for rule in rules { proofs[rule, default: []].insert(String(name)) }
            }
        }
        return proofs
    }

    /// A test's name as the page shows it.
    private static func shown(_ name: String) -> String {
        name.split(separator: "<", omittingEmptySubsequences: false).joined(separator: "&lt;")
    }

    /// The tests of the tidy rules hold samples.
    private static func holdsProofs(_ path: String) -> Bool {
        path.hasPrefix("Tests/") && (!path.hasPrefix("Tests/TidyTests/") || path.hasSuffix("/ProjectTests.swift"))
    }

    static func findings(page text: String, rules: [RuleTextRule.Line], sources: [SwiftSource]) -> [Finding] {
        let proofs = proofs(in: sources)
        let texts = Dictionary(rules.map { ($0.number, shown($0.text)) }) { first, _ in first }
        var findings: [Finding] = []
        var listed: Set<String> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let cells = line.split(separator: "|").map(\.trimmed)
            guard line.hasPrefix("| "), cells.count == 5, isRule(cells[0]) else { continue }
            listed.insert(cells[0])
            if texts[cells[0]] != cells[1] {
                findings.append(Finding(page, line: index + 1, "\(cells[0]) has another text in the list: \(remedy)"))
            }
            let tests = proofs[cells[0]] ?? []
            switch cells[2] {
            case "proven" where !tests.contains(where: { shown($0) == cells[3] }):
                findings.append(Finding(page, line: index + 1, "no test proves \(cells[0]) by this name: \(remedy)"))
            case "not proven" where !tests.isEmpty:
                findings.append(Finding(page, line: index + 1, "a test proves \(cells[0]): \(remedy)"))
            case "proven", "not proven": continue
            default: findings.append(Finding(page, line: index + 1, "'\(cells[2])' is no state of a rule"))
            }
        }
        for rule in proofs.keys.sorted() where texts[rule] == nil {
            findings.append(
                Finding(page, "\(rule) is named by a test and is not in \(RuleTextRule.list): add it there"))
        }
        for rule in rules.map(\.number) where !listed.contains(rule) {
            findings.append(Finding(page, "\(rule) is not on the page: \(remedy)"))
        }
        return findings
    }

    /// The rules in brackets that a test's name begins with, and the rest of it up to the quote.
    private static func rules(atStartOf text: Substring) -> (rules: [String], name: Substring) {
        var rest = text
        var rules: [String] = []
        while rest.first == "[", let end = rest.firstIndex(of: "]") {
            let rule = String(rest[rest.index(after: rest.startIndex)..<end])
            guard isRule(rule) else { return ([], "") }
            rules.append(rule)
            rest = rest[rest.index(after: end)...]
        }
        guard rest.first == " " else { return ([], "") }
        return (rules, rest.dropFirst().prefix { $0 != "\"" })
    }

    static func isRule(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].count), parts[1].count == 2 else { return false }
        return parts[0].allSatisfy { $0.isASCII && $0.isUppercase } && parts[1].allSatisfy { $0.isASCII && $0.isNumber }
    }
}
