// The documentation's first page leads to every public symbol: every top-level declaration of the public module is in
// one of its groups. DocC itself reports broken links, but not missing ones.

enum CatalogueRule {
    static let target = "StratusKit"
    static let page = "Sources/StratusKit/StratusKit.docc/StratusKit.md"

    /// The names of the public symbols that a source declares outside of other types.
    static func symbols(in source: SwiftSource) -> [String] {
        let keywords: Set = ["class", "struct", "enum", "protocol", "typealias", "let", "var", "func", "actor"]
        let modifiers: Set = ["final", "indirect"]
        return source.lines.compactMap { line in
            var words = line.split(separator: " ").drop { $0.hasPrefix("@") }
            guard !line.hasPrefix(" "), let access = words.popFirst(), access == "public" || access == "open" else {
                return nil
            }
            while let word = words.first, modifiers.contains(String(word)) { words = words.dropFirst() }
            guard let keyword = words.popFirst(), keywords.contains(String(keyword)), let name = words.first else {
                return nil
            }
            return String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
        }
    }

    /// Symbols in no group. DocC does not show names with a leading underscore.
    static func findings(sources: [SwiftSource], page text: String) -> [Finding] {
        let listed = Set(
            text.split(separator: "\n").filter { $0.hasPrefix("- ``") }
                .map { String($0.dropFirst(4).prefix { $0 != "`" && $0 != "(" }) })
        return sources.filter { $0.sourceTarget == target }.flatMap { source in
            symbols(in: source).filter { !$0.hasPrefix("_") && !listed.contains($0) }
                .map { Finding(source.path, "\($0) is in no group of \(page): put it there") }
        }
    }
}
