// A Swift file as the rules see it: its lines, its comments, and the words and signs of its code.

/// A word, a number or a single sign of the code, with its line counted from 1.
struct Token: Equatable {
    let text: String
    let line: Int
}

/// One Swift file, read once and used by many rules.
struct SwiftSource {
    let path: String
    let text: String
    let lines: [String]
    let commentLines: [String]
    /// The file without its comments, strings kept.
    let textWithoutComments: String
    let tokens: [Token]
    /// Where each token occurs in `tokens`. Rules look for many sequences in many files.
    private let positions: [String: [Int]]

    init(path: String, text: String) {
        self.path = path
        self.text = text
        let mask = SourceMask(text)
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        commentLines = String(decoding: mask.comments, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        textWithoutComments = String(decoding: mask.codeAndStrings, as: UTF8.self)
        tokens = Self.tokens(of: mask.code)
        positions = Dictionary(grouping: tokens.indices) { [tokens] in tokens[$0].text }
    }

    /// Where these tokens occur in sequence.
    private func starts(of sequence: [String]) -> [Int] {
        guard let first = sequence.first else { return [] }
        return (positions[first] ?? []).filter { start in
            start + sequence.count <= tokens.count
                && sequence.indices.allSatisfy { tokens[start + $0].text == sequence[$0] }
        }
    }

    private static func tokens(of code: [UInt8]) -> [Token] {
        var tokens: [Token] = []
        var word: [UInt8] = []
        var line = 1
        func finishWord() {
            guard !word.isEmpty else { return }
            tokens.append(Token(text: String(decoding: word, as: UTF8.self), line: line))
            word.removeAll()
        }
        for byte in code {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
                word.append(byte)
            case UInt8(ascii: "\n"):
                finishWord()
                line += 1
            case 0...UInt8(ascii: " "):
                finishWord()
            case UInt8(ascii: "!") where word.elementsEqual("try".utf8):
                // `try!` is one word; `try !isEmpty` is two.
                word.append(byte)
                finishWord()
            default:
                finishWord()
                tokens.append(Token(text: String(decoding: [byte], as: UTF8.self), line: line))
            }
        }
        finishWord()
        return tokens
    }

    /// The lines on which these tokens occur in sequence.
    func lines(of sequence: [String]) -> [Int] {
        starts(of: sequence).map { tokens[$0].line }
    }

    /// The words between the parentheses of every call that begins with these tokens; the last token is a parenthesis.
    func arguments(ofCallsOf call: [String]) -> [(line: Int, words: Set<String>)] {
        starts(of: call).map { start in
            var depth = 1
            var words: Set<String> = []
            for token in tokens[(start + call.count)...] {
                if token.text == "(" { depth += 1 }
                if token.text == ")" { depth -= 1 }
                if depth == 0 { break }
                words.insert(token.text)
            }
            return (tokens[start].line, words)
        }
    }

    /// The modules the file imports.
    var imports: [Token] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "let", "var", "typealias", "actor"]
        return tokens.indices.compactMap { index in
            guard tokens[index].text == "import", index == 0 || tokens[index - 1].text != "." else { return nil }
            var next = index + 1
            if next < tokens.count, kinds.contains(tokens[next].text) { next += 1 }
            return next < tokens.count ? tokens[next] : nil
        }
    }

    /// Types declared at the top level of the file; extensions are not declarations.
    var declaredTypes: [Token] {
        let keywords: Set = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        var depth = 0
        var types: [Token] = []
        for (index, token) in tokens.enumerated() {
            if token.text == "{" { depth += 1 }
            if token.text == "}" { depth -= 1 }
            guard depth == 0, keywords.contains(token.text), index + 1 < tokens.count else { continue }
            guard index == 0 || !["import", ".", "("].contains(tokens[index - 1].text) else { continue }
            types.append(tokens[index + 1])
        }
        return types
    }
}

/// The place of a file: `Sources/StratusRecords/Index/…` is target `StratusRecords`, folder `Index`.
extension SwiftSource {
    /// Where the targets are that tests share.
    private static let supportFolder = "Tests/Support/"

    private var components: [Substring] {
        let isSupport = path.hasPrefix(Self.supportFolder)
        return (isSupport ? "Sources/" + path.dropFirst(Self.supportFolder.count) : path[...]).split(separator: "/")
    }

    /// The target if the file is under `Sources` or `Tests/Support`, else nil.
    var sourceTarget: String? {
        components.count > 2 && components[0] == "Sources" ? String(components[1]) : nil
    }

    /// The first folder inside the target; `.` for files directly in it.
    var folder: String { components.count > 3 ? String(components[2]) : "." }

    var fileName: String { components.last.map(String.init) ?? path }
}
