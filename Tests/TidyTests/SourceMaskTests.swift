// The lexer under all tidy rules: code, comments and text.

import Testing

@Suite struct SourceMaskTests {
    private func words(_ text: String) -> [String] {
        SwiftSource(path: "Sources/A/B.swift", text: text).tokens.map(\.text)
    }

    @Test("comments, including nested ones, are not code")
    func comments() {
        #expect(words("a // b\n/* c /* d */ e */ f") == ["a", "f"])
    }

    @Test("the contents of strings are not code, with escapes, fences and several lines")
    func strings() {
        #expect(words(#"a("b \" c") d"#) == ["a", "(", "\"", "\"", ")", "d"])
        #expect(words("a \"\"\"\n b \" c\n\"\"\" d") == ["a", "\"", "\"", "\"", "\"", "\"", "\"", "d"])
        #expect(words("#\"b \" c\"# d") == ["#", "\"", "\"", "#", "d"])
    }

    @Test("code inside an interpolation is code, with strings inside it")
    func interpolation() {
        #expect(words(#""a \(b(c, "d")) e" f"#) == ["\"", "b", "(", "c", ",", "\"", "\"", ")", "\"", "f"])
        #expect(words("#\"a \\(b) \\#(c)\"#") == ["#", "\"", "c", "\"", "#"])
    }

    @Test("a regular expression is not code, a division is")
    func regularExpression() {
        #expect(words(#"x = /a"b/ + c"#) == ["x", "=", "/", "/", "+", "c"])
        #expect(words("x = a / b / c") == ["x", "=", "a", "/", "b", "/", "c"])
    }

    @Test("unterminated text is read to its end")
    func truncated() {
        let text = "f(\"a \\(b(\"c\")) /* d */\" /* e /* f */ */ + #\"g\"# \"\"\"\nh\n\"\"\""
        for count in 0...text.utf8.count {
            let mask = SourceMask(String(decoding: text.utf8.prefix(count), as: UTF8.self))
            #expect(mask.code.count == mask.comments.count)
        }
    }

    @Test("tokens know their line")
    func tokenLines() {
        let source = SwiftSource(path: "Sources/A/B.swift", text: "a\n// b\nc \"\"\"\n\n\"\"\" d")
        #expect(source.tokens.first { $0.text == "d" }?.line == 5)
        #expect(source.commentLines[1] == "// b")
    }

    @Test("imports are found under every spelling")
    func imports() {
        let text = "import A\npackage import B\n@_exported import struct C.D\nlet x = y.import\n// import E"
        #expect(SwiftSource(path: "", text: text).imports.map(\.text) == ["A", "B", "C"])
    }

    @Test("declared types are those at the top level")
    func declaredTypes() {
        let text =
            "package struct A { enum B {} }\nextension C {}\nfinal class D {}\nprotocol E: AnyObject {}\nfunc f() {}"
        #expect(SwiftSource(path: "", text: text).declaredTypes.map(\.text) == ["A", "D", "E"])
    }
}
