// Types that other files can reach say in one line what they are.

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
}
