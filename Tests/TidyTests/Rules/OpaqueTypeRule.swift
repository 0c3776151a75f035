// Clients cannot create what only the server or a container creates: the class has no initialiser that they could call.
// A class without any initialiser of its own would inherit its base's.

enum OpaqueTypeRule {
    private static let face = "StratusKit"
    private static let modifiers: Set = [
        "public", "open", "package", "internal", "fileprivate", "private", "convenience", "required", "override",
        "nonisolated",
    ]

    /// The opaque classes, each with the first words of the initialisers that clients may call all the same.
    static let callableWords: [String: Set<String>] = [
        "CKServerChangeToken": ["coder"], "CKQueryCursor": ["coder"], "CKNotificationID": ["coder"],
        "CKNotification": [], "CKQueryNotification": [], "CKRecordZoneNotification": [], "CKDatabaseNotification": [],
        "CKContainer": ["identifier"], "CKDatabase": [],
    ]

    private struct Initializer {
        let line: Int
        let modifiers: Set<String>
        /// The first word of its parameters.
        let firstWord: String

        var isPublic: Bool { !modifiers.isDisjoint(with: ["public", "open"]) }
        var isConvenience: Bool { modifiers.contains("convenience") }
    }

    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.sourceTarget == face else { return [] }
        let tokens = source.tokens
        var findings: [Finding] = []
        var depth = 0
        for index in tokens.indices.dropLast() {
            if tokens[index].text == "{" { depth += 1 }
            if tokens[index].text == "}" { depth -= 1 }
            guard depth == 0, ["class", "extension"].contains(tokens[index].text) else { continue }
            let name = tokens[index + 1]
            guard let callable = callableWords[name.text] else { continue }
            let head = tokens[(index + 1)...].prefix { $0.text != "{" }
            let initializers = Self.initializers(inBodyAt: head.endIndex, of: tokens)
            for initializer in initializers where initializer.isPublic && !callable.contains(initializer.firstWord) {
                findings.append(
                    Finding(source.path, line: initializer.line, "clients make no \(name.text): hide it from them"))
            }
            guard tokens[index].text == "class", head.contains(where: { $0.text == "NSObject" }) else { continue }
            guard initializers.allSatisfy(\.isConvenience) else { continue }
            findings.append(
                Finding(source.path, line: name.line, "\(name.text) inherits an initialiser: give it one of its own"))
        }
        return findings
    }

    /// The initialisers that are members of this body, not of types inside it.
    private static func initializers(inBodyAt start: Int, of tokens: [Token]) -> [Initializer] {
        var depth = 0
        var initializers: [Initializer] = []
        for index in start..<tokens.count {
            if tokens[index].text == "{" { depth += 1 }
            if tokens[index].text == "}" { depth -= 1 }
            if depth == 0 { break }
            // `.init` is a call.
            guard depth == 1, tokens[index].text == "init", tokens[index - 1].text != "." else { continue }
            let before = tokens[start..<index].reversed().prefix { modifiers.contains($0.text) }
            let parameters = tokens[index...].drop { $0.text != "(" }.dropFirst()
            initializers.append(
                Initializer(
                    line: tokens[index].line, modifiers: Set(before.map(\.text)),
                    firstWord: parameters.first?.text ?? ""))
        }
        return initializers
    }
}
