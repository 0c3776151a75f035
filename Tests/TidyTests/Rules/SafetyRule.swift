// Unsafe code has few places: the targets that call the C libraries of engines, and the lock of the floor below them.
// Each promise to the compiler says why it holds.

enum SafetyRule {
    /// Where `Sources` may contain unsafe code; C and C++ targets are not Swift and are not checked.
    /// `StratusTestSupport` passes C pointers, too, and serves only tests.
    static let unsafeTargets: Set = ["StratusLevelDB", "StratusPostgres", "StratusTestSupport"]
    /// Single files of other targets.
    static let unsafeFiles: Set = ["Sources/StratusStore/Monitor.swift"]

    static func findings(in source: SwiftSource) -> [Finding] {
        promises(in: source) + unsafeCode(in: source)
    }

    /// `@unchecked Sendable` and `nonisolated(unsafe)` need a comment with "because" on the line, in the comment above
    /// the declaration, or on the line below.
    private static func promises(in source: SwiftSource) -> [Finding] {
        let promises = [["@", "unchecked"], ["nonisolated", "(", "unsafe", ")"]]
        return promises.flatMap { tokens in
            source.lines(of: tokens).filter { !hasReason(at: $0, in: source) }.map { line in
                Finding(source.path, line: line, "'\(tokens.joined())' without its reason: add a comment, because …")
            }
        }
    }

    private static func hasReason(at line: Int, in source: SwiftSource) -> Bool {
        func comment(_ number: Int) -> String {
            source.commentLines.indices.contains(number - 1) ? source.commentLines[number - 1].lowercased() : ""
        }
        if comment(line).contains("because") { return true }
        var below = line + 1
        while isCommentOnly(below, in: source) {
            if comment(below).contains("because") { return true }
            below += 1
        }
        var above = line - 1
        while isCommentOnly(above, in: source) || isAttribute(above, in: source) {
            if comment(above).contains("because") { return true }
            above -= 1
        }
        return false
    }

    private static func isCommentOnly(_ number: Int, in source: SwiftSource) -> Bool {
        source.lines.indices.contains(number - 1) && source.lines[number - 1].trimmed.hasPrefix("//")
    }

    private static func isAttribute(_ number: Int, in source: SwiftSource) -> Bool {
        source.lines.indices.contains(number - 1) && source.lines[number - 1].trimmed.hasPrefix("@")
    }

    /// A file with unsafe code says once why it is safe: a comment with "because", or a paragraph that begins "Unsafe:
    /// ".
    private static func unsafeCode(in source: SwiftSource) -> [Finding] {
        let suspects = source.tokens.filter { token in
            token.text == "unsafe" || (token.text.hasPrefix("Unsafe") && token.text.hasSuffix("Pointer"))
        }
        guard let first = suspects.first(where: { !isPromise($0, in: source) }) else { return [] }
        if let target = source.sourceTarget, !unsafeTargets.contains(target), !unsafeFiles.contains(source.path) {
            guard let stray = suspects.first(where: { isStray($0, in: source) }) else { return [] }
            return [Finding(source.path, line: stray.line, "'\(stray.text)' outside StratusLevelDB: move it there")]
        }
        let explained = source.commentLines.contains { comment in
            comment.lowercased().contains("because") || comment.contains("Unsafe: ")
        }
        guard source.sourceTarget != nil, !explained, first.text == "unsafe" else { return [] }
        return [Finding(source.path, line: first.line, "unsafe code in a file that nowhere says why: add because …")]
    }

    /// Outside of its place unsafe code may only be the use of a variable whose `nonisolated(unsafe)` has its reason in
    /// the same file; a pointer is always a violation.
    private static func isStray(_ token: Token, in source: SwiftSource) -> Bool {
        guard token.text == "unsafe" else { return true }
        return source.lines(of: ["nonisolated", "(", "unsafe", ")"]).isEmpty
    }

    /// Only `promises` judges `nonisolated(unsafe)`.
    private static func isPromise(_ token: Token, in source: SwiftSource) -> Bool {
        token.text == "unsafe" && source.lines(of: ["nonisolated", "(", "unsafe", ")"]).contains(token.line)
    }
}
