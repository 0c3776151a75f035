// Completion handlers that must be sendable are so only on request: `@preconcurrency` gives methods the compiler's
// rules for Objective-C methods, and clients of CloudKit are written against these.

enum CompletionRule {
    private static let face = "StratusKit"

    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.sourceTarget == face else { return [] }
        let tokens = source.tokens
        return tokens.indices.dropLast().compactMap { index in
            guard tokens[index].text == "public", tokens[index + 1].text == "func" else { return nil }
            let signature = tokens[index...].prefix { $0.text != "{" }.map(\.text)
            guard signature.contains("completionHandler"), signature.contains("Sendable") else { return nil }
            guard index == 0 || tokens[index - 1].text != "preconcurrency" else { return nil }
            return Finding(source.path, line: tokens[index].line, "mark the method with @preconcurrency")
        }
    }
}
