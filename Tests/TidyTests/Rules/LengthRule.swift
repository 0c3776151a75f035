// Sizes that a reader can keep in mind: files of 150 to 400 lines, 600 at most; functions of 70 lines; comments of
// 120 columns.

enum LengthRule {
    static let questionedFileLineCount = 400
    static let maximumFileLineCount = 600
    static let maximumFunctionLineCount = 70
    static let maximumColumnCount = 120

    static func lineCount(of text: String) -> Int {
        text.utf8.count { $0 == UInt8(ascii: "\n") } + (text.isEmpty || text.hasSuffix("\n") ? 0 : 1)
    }

    static func longFiles(path: String, text: String, over limit: Int = maximumFileLineCount) -> [Finding] {
        let count = lineCount(of: text)
        return count > limit ? [Finding(path, "\(count) lines, over \(limit): split it by aspect")] : []
    }

    /// Comments that are wider than code may be. Lines without a space, such as links, cannot be broken.
    static func wideComments(in source: SwiftSource) -> [Finding] {
        zip(source.lines, source.commentLines).enumerated().compactMap { index, pair in
            let (line, comment) = pair
            guard line.count > maximumColumnCount, comment.trimmed.drop(while: { $0 == "/" || $0 == " " }).contains(" ")
            else { return nil }
            return Finding(source.path, line: index + 1, "a comment over \(maximumColumnCount) columns: break the line")
        }
    }

    static func longFunctions(in source: SwiftSource) -> [Finding] {
        functions(in: source).compactMap { function in
            let count = function.lastLine - function.firstLine + 1
            guard count > maximumFunctionLineCount else { return nil }
            return Finding(
                source.path, line: function.firstLine,
                "\(function.name) has \(count) lines, over \(maximumFunctionLineCount): name its steps")
        }
    }

    struct Function: Equatable {
        let name: String
        let firstLine: Int
        let lastLine: Int
    }

    /// Functions, initialisers, subscripts and computed properties that have a body, nested ones included.
    static func functions(in source: SwiftSource) -> [Function] {
        let tokens = source.tokens
        return tokens.indices.compactMap { index in
            guard let name = declaredName(at: index, in: tokens) else { return nil }
            guard let open = bodyStart(after: index, in: tokens) else { return nil }
            var depth = 0
            for position in open..<tokens.count {
                if tokens[position].text == "{" { depth += 1 }
                if tokens[position].text == "}" { depth -= 1 }
                if depth == 0 {
                    return Function(name: name, firstLine: tokens[index].line, lastLine: tokens[position].line)
                }
            }
            return nil
        }
    }

    private static func declaredName(at index: Int, in tokens: [Token]) -> String? {
        guard index + 1 < tokens.count, index == 0 || tokens[index - 1].text != "." else { return nil }
        let next = tokens[index + 1].text
        switch tokens[index].text {
        case "func", "var": return next
        case "init": return ["(", "<", "?", "!"].contains(next) ? "init" : nil
        case "deinit": return next == "{" ? "deinit" : nil
        case "subscript": return ["(", "<"].contains(next) ? "subscript" : nil
        default: return nil
        }
    }

    /// The brace that opens the body; nil for requirements of protocols and for stored properties.
    private static func bodyStart(after index: Int, in tokens: [Token]) -> Int? {
        let isProperty = tokens[index].text == "var"
        var depth = 0
        for position in (index + 1)..<tokens.count {
            switch tokens[position].text {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            case "{" where depth == 0: return position
            case "}" where depth == 0: return nil
            case "=" where depth == 0 && isProperty: return nil
            case let word
            where depth == 0 && position > index + 1 && isDeclarationStart(word, at: position, in: tokens):
                return nil
            default: break
            }
            if depth < 0 { return nil }
        }
        return nil
    }

    private static func isDeclarationStart(_ word: String, at position: Int, in tokens: [Token]) -> Bool {
        let words: Set = [
            "func", "var", "let", "init", "deinit", "subscript", "associatedtype", "typealias", "static", "case",
            "struct",
            "class", "enum", "protocol", "extension", "package", "public", "private", "fileprivate", "internal",
            "mutating",
        ]
        return words.contains(word) && tokens[position].line > tokens[position - 1].line
    }
}
