// One word, one meaning: no two types of the products that several targets can name have one name.
//
// Types at the top level of a file count, and those that are declared directly in `Stratus`, which users write without
// the prefix inside extensions of it. Other nested types are distinguished by the type around them.

enum VocabularyRule {
    /// `Stratus.Account` and the like, where they are declared in an extension of `Stratus`.
    private static let namespace = "Stratus"
    private static let keywords: Set = ["struct", "class", "enum", "protocol", "actor"]

    static func findings(in sources: [SwiftSource]) -> [Finding] {
        var first: [String: String] = [:]
        var findings: [Finding] = []
        for source in sources.sorted(by: { $0.path < $1.path }) where source.path.hasPrefix("Sources/") {
            for type in sharedTypes(in: source) {
                if let other = first[type.text], other != source.path {
                    findings.append(
                        Finding(
                            source.path, line: type.line,
                            "\(other) declares a type \(type.text), too: give one of them another name"))
                }
                first[type.text] = source.path
            }
        }
        return findings
    }

    /// The package and public types at the top level, and in extensions of the namespace.
    static func sharedTypes(in source: SwiftSource) -> [Token] {
        let tokens = source.tokens
        var types: [Token] = []
        var depth = 0
        var namespaceDepth: Int?
        for (index, token) in tokens.enumerated() {
            if token.text == "{" { depth += 1 }
            if token.text == "}" {
                depth -= 1
                if depth == namespaceDepth { namespaceDepth = nil }
            }
            if depth == 0, token.text == "extension", index + 2 < tokens.count, tokens[index + 1].text == namespace,
                tokens[index + 2].text != "."
            {
                namespaceDepth = 0
            }
            guard keywords.contains(token.text), index > 0, index + 1 < tokens.count else { continue }
            guard depth == 0 || depth == 1 && namespaceDepth == 0 else { continue }
            let modifiers = tokens[..<index].reversed().prefix {
                ["final", "indirect", "package", "public"].contains($0.text)
            }
            guard modifiers.contains(where: { $0.text == "package" || $0.text == "public" }) else { continue }
            types.append(tokens[index + 1])
        }
        return types
    }
}
