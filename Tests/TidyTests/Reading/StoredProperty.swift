// The stored properties of a Swift file, by its tokens: of types, of extensions, and those outside of types.
//
// It knows the brackets around each declaration, and takes a brace without a `=` before it for a computed property.
// Declarations inside of functions and closures do not count, nor does the second name of `var a, b`.

/// A property that holds a value.
struct StoredProperty {
    /// The type around it, with the types around that: `Stratus.FaultPlan`. Empty outside of types.
    let type: String
    let name: String
    let line: Int
    let isVariable: Bool
    /// Whether a class or an actor has it in each of its objects.
    let isOfClass: Bool
    /// Whether there is one in the process.
    let isStatic: Bool
    /// What follows the name: the type, and the initial value.
    let words: [String]
}

extension SwiftSource {
    private struct Scope {
        let type: String
        let isClass: Bool
        /// Whether declarations in it are properties.
        let isType: Bool
    }

    private static let typeKeywords: Set = ["struct", "class", "enum", "protocol", "actor", "extension"]
    private static let opening: Set = ["(", "[", "{"]
    private static let closing: Set = [")", "]", "}"]

    var storedProperties: [StoredProperty] {
        var scopes = [Scope(type: "", isClass: false, isType: true)]
        // The type whose body begins with the next brace.
        var next: Scope?
        var properties: [StoredProperty] = []
        for (index, token) in tokens.enumerated() {
            let scope = scopes[scopes.count - 1]
            if Self.opening.contains(token.text) {
                let isBody = token.text == "{" && next != nil
                scopes.append(isBody ? next ?? scope : Scope(type: scope.type, isClass: false, isType: false))
                if isBody { next = nil }
            } else if Self.closing.contains(token.text) {
                if scopes.count > 1 { scopes.removeLast() }
            } else if let name = nameOfType(at: index) {
                let isClass = ["class", "actor"].contains(token.text)
                next = Scope(
                    type: scope.type.isEmpty ? name : "\(scope.type).\(name)", isClass: isClass, isType: true)
            } else if scope.isType, ["let", "var"].contains(token.text), let declaration = declaration(at: index) {
                let isStatic = tokens[..<index].reversed().prefix { $0.line == token.line && $0.text != "{" }
                    .contains { $0.text == "static" }
                properties.append(
                    StoredProperty(
                        type: scope.type, name: declaration.first ?? "", line: token.line,
                        isVariable: token.text == "var", isOfClass: scope.isClass && !isStatic,
                        isStatic: isStatic || scopes.count == 1, words: Array(declaration.dropFirst())))
            }
        }
        return properties
    }

    /// The name of the type that is declared or extended at a token, or nil.
    private func nameOfType(at index: Int) -> String? {
        guard Self.typeKeywords.contains(tokens[index].text), index + 1 < tokens.count,
            index == 0 || ![".", ":", "import"].contains(tokens[index - 1].text),
            tokens[index + 1].line == tokens[index].line, tokens[index + 1].text.first?.isUppercase == true
        else { return nil }
        return tokens[(index + 1)...].prefix { $0.text == "." || $0.text.first?.isUppercase == true }
            .prefix { $0.line == tokens[index].line }.map(\.text).joined()
    }

    /// The words of a declaration after `let` or `var`; nil for a computed property.
    private func declaration(at index: Int) -> [String]? {
        var words: [String] = []
        var (depth, line) = (0, tokens[index].line)
        for position in tokens.indices.dropFirst(index + 1) {
            let token = tokens[position]
            if depth == 0 {
                let isContinued =
                    token.line == line || ["=", ":", ","].contains(words.last ?? "=")
                    || ["=", "{", ".", "?"].contains(token.text)
                if Self.closing.contains(token.text) || !isContinued { break }
                if token.text == "{", !words.contains("=") {
                    let isObserved = tokens[(position + 1)...].prefix(1).contains {
                        ["willSet", "didSet"].contains($0.text)
                    }
                    return isObserved ? words : nil
                }
            }
            if Self.opening.contains(token.text) { depth += 1 }
            if Self.closing.contains(token.text) { depth -= 1 }
            words.append(token.text)
            line = token.line
        }
        return words
    }
}
