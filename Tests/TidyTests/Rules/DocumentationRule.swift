// Types that other files can use have one line of documentation; so do the cases of public enumerations and the
// requirements of public protocols, which the formatter's own rule ignores.

enum DocumentationRule {
    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.sourceTarget != nil else { return [] }
        return source.declaredTypes.compactMap { type in
            let declaration = source.lines[type.line - 1].split(separator: " ").drop { $0.hasPrefix("@") }
            guard let access = declaration.first, access == "package" || access == "public" else { return nil }
            var above = type.line - 2
            while above >= 0, source.lines[above].trimmed.hasPrefix("@") { above -= 1 }
            if above >= 0, source.lines[above].trimmed.hasPrefix("///") { return nil }
            return Finding(
                source.path, line: type.line, "\(type.text) has no documentation comment: say in one line what it is")
        }
    }

    /// The modules that others import.
    static let publicTargets: Set = ["StratusKit", "StratusTesting", "CloudKit", "CoreLocation"]

    /// Members that are public because their type or extension is. Scopes are determined by their indentation, which is
    /// the formatter's.
    static func undocumentedMembers(in source: SwiftSource) -> [Finding] {
        guard source.sourceTarget.map(publicTargets.contains) == true else { return [] }
        var scopes: [(indentation: Int, members: [String])] = []
        var findings: [Finding] = []
        for (index, line) in source.lines.enumerated() {
            let text = line.trimmed
            guard !text.isEmpty, !text.hasPrefix("//") else { continue }
            let indentation = line.prefix { $0 == " " }.count
            while let scope = scopes.last, indentation <= scope.indentation { scopes.removeLast() }
            if let scope = scopes.last, indentation == scope.indentation + 4,
                scope.members.contains(where: text.hasPrefix), !isDocumented(index, in: source.lines)
            {
                findings.append(Finding(source.path, line: index + 1, "'\(text)' has no documentation comment"))
            }
            if text.hasSuffix("{") { scopes.append((indentation, members(openedBy: text))) }
        }
        return findings
    }

    private static func isDocumented(_ index: Int, in lines: [String]) -> Bool {
        var above = index - 1
        while above >= 0, lines[above].trimmed.hasPrefix("@") { above -= 1 }
        return above >= 0 && lines[above].trimmed.hasPrefix("///")
    }

    /// How members begin that are as public as the declaration of their scope.
    private static func members(openedBy text: String) -> [String] {
        let words = text.split(separator: " ").drop { $0.hasPrefix("@") }.prefix(3)
        guard words.first == "public" else { return [] }
        if words.contains("enum") { return ["case "] }
        return words.contains("protocol") ? ["func ", "var ", "subscript", "init", "static ", "associatedtype "] : []
    }
}
