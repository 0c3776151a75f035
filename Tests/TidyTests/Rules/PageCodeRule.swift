// The Swift code on the guide's pages is code that is compiled and run.
//
// In the sources of examples, the text between a line `// snippet` and a line `// end` is a snippet. Every block of
// Swift on a page is one of them, word for word but for its indentation; imports at the top of a block are those of the
// snippet's file. A tutorial's file of code is one snippet, or several with an empty line between them, so that a file
// grows from step to step. Every snippet is on a page or in such a file, and every function of `Guide` is called by a
// test.

import Foundation

enum PageCodeRule {
    /// The folder of the code.
    static func isExample(_ path: String) -> Bool {
        path.hasPrefix("Examples/Guide/") || path.hasPrefix("Examples/HostService/")
            || path.hasPrefix("Tests/StratusExampleTests/")
    }

    /// The pages whose blocks are checked.
    static func isPage(_ path: String) -> Bool {
        path == "README.md" || path == "Docs/HOST.md" || (path.contains(".docc/") && path.hasSuffix(".md"))
    }

    /// The code of a tutorial's step: text of the catalogue, and no source of a target.
    static func isTutorialCode(_ path: String) -> Bool { path.contains(".docc/Resources/") && path.hasSuffix(".swift") }

    /// A piece of code, without its indentation.
    struct Piece: Hashable {
        let path: String
        let line: Int
        let code: [String]
    }

    static func findings(texts: [String: String]) -> [Finding] {
        let paths = texts.keys.sorted()
        let known = paths.filter(isExample).flatMap { snippets(in: texts[$0] ?? "", path: $0) }
        let onPages = paths.filter(isPage).flatMap { blocks(in: texts[$0] ?? "", path: $0) }
        var shown: Set<Piece> = []
        var findings: [Finding] = []
        for block in onPages {
            let (imports, code) = withoutImports(block.code)
            let whole = known.filter { $0.code == block.code }
            let found = whole.isEmpty ? known.filter { $0.code == code } : whole
            guard let first = found.first else {
                findings.append(
                    Finding(block.path, line: block.line, "the code is no snippet: put it into Examples/Guide"))
                continue
            }
            shown.formUnion(found)
            let lines = Set(texts[first.path]?.split(separator: "\n").map(String.init) ?? [])
            for line in imports where !lines.contains(line) {
                findings.append(Finding(block.path, line: block.line, "\(first.path) has no line '\(line)'"))
            }
        }
        for path in paths.filter(isTutorialCode) {
            let (imports, code) = withoutImports(Array(lines(of: texts[path] ?? "").dropLast()))
            guard let found = parts(of: code, among: known), let first = found.first else {
                findings.append(
                    Finding(path, "the code is no snippets, one behind another: put it into Examples/Guide"))
                continue
            }
            shown.formUnion(found)
            let sourceLines = Set(lines(of: texts[first.path] ?? ""))
            for line in imports where !sourceLines.contains(line) {
                findings.append(Finding(path, "\(first.path) has no line '\(line)'"))
            }
        }
        for snippet in known where !shown.contains(snippet) {
            findings.append(Finding(snippet.path, line: snippet.line, "no page shows this snippet as it is"))
        }
        return findings
    }

    /// Functions of `Guide` that no test calls.
    static func idleFunctions(texts: [String: String]) -> [Finding] {
        let tests = texts.filter { $0.key.hasPrefix("Tests/StratusExampleTests/") }.values.joined()
        return texts.filter { $0.key.hasPrefix("Examples/Guide/") }.sorted { $0.key < $1.key }.flatMap { path, text in
            lines(of: text).enumerated().compactMap { index, line -> Finding? in
                guard line.hasPrefix("    public static func ") else { return nil }
                let name = line.dropFirst("    public static func ".count).prefix { $0 != "(" }
                if tests.contains("Guide.\(name)(") { return nil }
                return Finding(path, line: index + 1, "no test calls Guide.\(name)")
            }
        }
    }

    /// The snippets that make up a file, with an empty line between them; nil if it is not made of snippets.
    private static func parts(of code: [String], among known: [Piece]) -> [Piece]? {
        var parts: [Piece] = []
        var rest = code[...]
        while !rest.isEmpty {
            let found = known.filter { piece in
                !piece.code.isEmpty && rest.starts(with: piece.code)
                    && rest.dropFirst(piece.code.count).first?.isEmpty ?? true
            }
            guard let longest = found.map(\.code.count).max() else { return nil }
            parts += found.filter { $0.code.count == longest }
            rest = rest.dropFirst(longest + 1)
        }
        return parts
    }

    /// The names of the files of code and of the pictures that a tutorial shows.
    static func tutorialFiles(in text: String) -> [String] {
        ["file: \"", "source: \""].flatMap { word in
            text.components(separatedBy: word).dropFirst().map { String($0.prefix { $0 != "\"" }) }
        }
    }

    /// Files of a catalogue's resources that no tutorial shows.
    static func idleTutorialFiles(texts: [String: String]) -> [Finding] {
        let shown = Set(texts.filter { $0.key.hasSuffix(".tutorial") }.values.flatMap(tutorialFiles))
        return texts.keys.sorted().compactMap { path in
            guard path.contains(".docc/Resources/"), let name = path.split(separator: "/").last else { return nil }
            let light = name.split(separator: "~dark").joined()
            return shown.contains(light) ? nil : Finding(path, "no tutorial shows this file")
        }
    }

    // MARK: Reading

    static func snippets(in text: String, path: String) -> [Piece] {
        pieces(in: text, path: path, from: "// snippet", to: "// end")
    }

    static func blocks(in text: String, path: String) -> [Piece] {
        pieces(in: text, path: path, from: "```swift", to: "```")
    }

    private static func pieces(in text: String, path: String, from begin: String, to end: String) -> [Piece] {
        var pieces: [Piece] = []
        var start: Int?
        let all = lines(of: text)
        for (index, line) in all.enumerated() {
            if let first = start {
                guard line.trimmed == end else { continue }
                pieces.append(Piece(path: path, line: first, code: unindented(Array(all[first..<index]))))
                start = nil
            } else if line.trimmed == begin {
                start = index + 1
            }
        }
        // An unterminated one is compared too, and equals nothing.
        if let first = start { pieces.append(Piece(path: path, line: first, code: ["the end is missing"])) }
        return pieces
    }

    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func unindented(_ lines: [String]) -> [String] {
        let indentation = lines.filter { !$0.trimmed.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { String($0.dropFirst(indentation)) }
    }

    private static func withoutImports(_ code: [String]) -> (imports: [String], rest: [String]) {
        let imports = code.prefix { $0.hasPrefix("import ") }
        return (Array(imports), Array(code.dropFirst(imports.count).drop { $0.isEmpty }))
    }
}
