// The pages on security and on pitfalls quote, in their tables, the names of the tests that prove their claims. Each of
// them exists.

enum QuotedTestRule {
    /// The pages, and how many tests each names at least.
    static let pages = [
        "Docs/SECURITY.md": 40, "Sources/StratusKit/StratusKit.docc/ClientPitfalls.md": 8,
    ]

    /// The names of tests on the page, with their lines.
    static func quoted(on text: String) -> [(name: String, line: Int)] {
        var names: [(name: String, line: Int)] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.hasPrefix("| "), let cell = line.split(separator: "|").last else { continue }
            let parts = cell.split(separator: "\"", omittingEmptySubsequences: false)
            for place in parts.indices where !place.isMultiple(of: 2) {
                names.append((String(parts[place]), index + 1))
            }
        }
        return names
    }

    static func findings(path: String, text: String, sources: [SwiftSource]) -> [Finding] {
        let lines = sources.filter { $0.path.hasPrefix("Tests/") && !$0.path.hasPrefix("Tests/TidyTests/") }
            .flatMap(\.lines).filter { $0.trimmed.hasPrefix("@Test(\"") || $0.trimmed.hasPrefix("\"") }
        // A name ends with its quote, and begins with one or after the numbers of rules.
        let names = Set(
            lines.flatMap { line -> [String] in
                let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
                return parts.indices.filter { !$0.isMultiple(of: 2) }.map { withoutRules(parts[$0]) }
            })
        return quoted(on: text).filter { !names.contains($0.name) }.map {
            Finding(path, line: $0.line, "there is no test named '\($0.name)'")
        }
    }

    private static func withoutRules(_ name: Substring) -> String {
        var rest = name
        while rest.first == "[", let end = rest.firstIndex(of: "]") { rest = rest[rest.index(after: end)...] }
        return rest.trimmed
    }
}
