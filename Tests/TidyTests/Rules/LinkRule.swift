// Links between documents resolve: the file exists, and so does the heading.

enum LinkRule {
    /// `texts` are the documents by path; `paths` is everything that exists.
    static func findings(path: String, texts: [String: String], paths: Set<String>) -> [Finding] {
        guard let text = texts[path] else { return [] }
        return links(in: text).compactMap { link in
            if link.target.contains("://") || link.target.hasPrefix("mailto:") { return nil }
            let parts = link.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let file = parts[0].isEmpty ? path : resolve(String(parts[0]), from: path)
            guard let file, file.isEmpty || paths.contains(file) || texts[file] != nil else {
                return Finding(path, line: link.line, "the link to \(link.target) leads nowhere")
            }
            guard parts.count == 2, let target = texts[file] else { return nil }
            if anchors(in: target).contains(String(parts[1])) { return nil }
            return Finding(path, line: link.line, "\(file) has no heading for #\(parts[1])")
        }
    }

    private static func links(in text: String) -> [(target: String, line: Int)] {
        proseLines(of: text).flatMap { prose, line in
            prose.split(separator: "](", omittingEmptySubsequences: false).dropFirst().map { rest in
                let target = rest.prefix { $0 != ")" && $0 != " " }
                return (String(target.filter { $0 != "<" && $0 != ">" }), line)
            }
        }
    }

    /// Lines outside code blocks, with inline code blanked.
    private static func proseLines(of text: String) -> [(String, Int)] {
        var isInCode = false
        var lines: [(String, Int)] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.trimmed.hasPrefix("```") {
                isInCode.toggle()
                continue
            }
            if isInCode { continue }
            let parts = line.split(separator: "`", omittingEmptySubsequences: false)
            // A link's own text may be code: only the text between two backticks is blanked.
            let prose = parts.indices.map { $0.isMultiple(of: 2) || $0 == parts.count - 1 ? String(parts[$0]) : " " }
            lines.append((prose.joined(), index + 1))
        }
        return lines
    }

    /// The path from the project's top, or nil when the link leaves the project.
    private static func resolve(_ target: String, from path: String) -> String? {
        var components = path.split(separator: "/").dropLast().map(String.init)
        for part in target.split(separator: "/") {
            if part == ".." {
                if components.popLast() == nil { return nil }
            } else if part != "." {
                components.append(String(part))
            }
        }
        return components.joined(separator: "/")
    }

    /// Headings as link targets: lower case, words joined by hyphens, other signs dropped.
    static func anchors(in text: String) -> Set<String> {
        var anchors: Set<String> = []
        var isInCode = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("```") { isInCode.toggle() }
            guard line.hasPrefix("#"), !isInCode else { continue }
            let title = line.drop { $0 == "#" }.trimmed.lowercased()
            anchors.insert(
                String(
                    title.compactMap { character -> Character? in
                        if character == " " { return "-" }
                        return character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
                    }))
        }
        return anchors
    }
}
