// The rules about pages get violations and must find them, and valid neighbours, which they must not.

import Testing

@Suite struct PageRuleTests {
    private static let file = """
        import A

        extension Guide {
            public static func save() {
                // snippet
                let a = 1
                    f(a)
                // end
            }
        }
        """

    private func findings(page: String, file: String = Self.file) -> [String] {
        PageCodeRule.findings(texts: ["README.md": page, "Examples/Guide/A.swift": file]).map(\.description)
    }

    @Test("code on a page is compared with the snippets, without its indentation, and imports with the file's")
    func pageCode() {
        #expect(findings(page: "a\n```swift\nlet a = 1\n    f(a)\n```\n").isEmpty)
        #expect(findings(page: "```swift\nimport A\n\nlet a = 1\n    f(a)\n```").isEmpty)
        #expect(findings(page: "```swift\nimport B\n\nlet a = 1\n    f(a)\n```").count == 1)
        #expect(findings(page: "```swift\nlet a = 2\n```").count == 2)
        #expect(findings(page: "```swift\nlet a = 1\n    f(a)").count == 2)
        #expect(findings(page: "```\nlet a = 2\n```").count == 1)
        #expect(findings(page: "", file: "// nothing").isEmpty)
    }

    @Test("a tutorial's file of code consists of consecutive snippets, and a tutorial shows each of its files")
    func tutorialCode() {
        let more = Self.file + "\n// snippet\nlet b = 2\n\nlet c = 3\n// end\n"
        func findings(_ code: String) -> [String] {
            let texts = ["Examples/Guide/A.swift": more, "Sources/K/K.docc/Resources/a.swift": code]
            return PageCodeRule.findings(texts: texts).map(\.description)
        }
        #expect(findings("import A\n\nlet a = 1\n    f(a)\n\nlet b = 2\n\nlet c = 3\n").isEmpty)
        // The other snippet is on no page.
        #expect(findings("let a = 1\n    f(a)\n").count == 1)
        for wrong in [
            "let a = 2\n", "let a = 1\n    f(a)\nlet b = 2\n\nlet c = 3\n", "let a = 1\n    f(a)\n\nlet b = 2\n", "",
            "let a = 1\n    f(a)\n\n\nlet b = 2\n\nlet c = 3\n",
        ] {
            #expect(findings(wrong).contains { $0.contains("a.swift: the code is no snippets") }, "\(wrong)")
        }
        #expect(findings("import B\n\nlet b = 2\n\nlet c = 3\n").contains { $0.contains("has no line 'import B'") })
        let texts = [
            "K.docc/T.tutorial": "@Code(name: \"A\", file: \"a.swift\") @Image(source: \"p.svg\", alt: \"x\")",
            "K.docc/Resources/a.swift": "", "K.docc/Resources/p.svg": "", "K.docc/Resources/p~dark.svg": "",
        ]
        #expect(PageCodeRule.idleTutorialFiles(texts: texts).isEmpty)
        let idle = texts.merging(["K.docc/Resources/b.swift": ""]) { first, _ in first }
        #expect(PageCodeRule.idleTutorialFiles(texts: idle).map(\.path) == ["K.docc/Resources/b.swift"])
    }

    @Test("a function of the guide that no test calls is found")
    func idleFunctions() {
        let called = ["Examples/Guide/A.swift": Self.file, "Tests/StratusExampleTests/A.swift": "Guide.save()"]
        #expect(PageCodeRule.idleFunctions(texts: called).isEmpty)
        let idle = ["Examples/Guide/A.swift": Self.file, "Tests/StratusExampleTests/A.swift": "Guide.saveAll()"]
        #expect(PageCodeRule.idleFunctions(texts: idle).map(\.line) == [4])
    }

    @Test("a public symbol that is in no group of the first page is found")
    func catalogue() {
        func findings(_ text: String, page: String) -> Int {
            let source = SwiftSource(path: "Sources/StratusKit/A.swift", text: text)
            return CatalogueRule.findings(sources: [source], page: page).count
        }
        #expect(findings("public final class A {\n    public struct B {}\n}", page: "- ``A``").isZero)
        #expect(findings("@frozen public struct A {}\npublic func f(\npublic let k = 1", page: "- ``f(_:)``") == 2)
        #expect(findings("open class A {}", page: "see ``A``") == 1)
        #expect(findings("struct A {}\npublic protocol __B {}\nextension A {\n", page: "").isZero)
    }

    @Test("a rule called proven without a test, unproven with one, with another text, or missing, is found")
    func compatibility() {
        let tests = [
            SwiftSource(
                path: "Tests/ATests/A.swift", text: "@Test(\"[S-04][A-02] a save is refused\")\n// \"[S-09] b\""),
            SwiftSource(path: "Tests/TidyTests/A.swift", text: "@Test(\"[S-05] sample\")"),
        ]
        func findings(_ rows: String, _ list: String = "S-04\tt<u\tmust\nA-02\tv\tmust") -> Int {
            CompatibilityRule.findings(page: rows, rules: RuleTextRule.lines(of: list), sources: tests).count
        }
        let rules = "S-04\tt<u\tmust\nA-02\tv\tmust\n"
        let both = "| S-04 | t&lt;u | proven | a save is refused | 1 |\n| A-02 | v | proven | a save is refused | 1 |"
        #expect(findings(both).isZero)
        #expect(findings(both + "\n| S-05 | x | not proven | left out | 0 |", rules + "S-05\tx\tchoice").isZero)
        #expect(findings("| S-04 | t&lt;u | proven | a save is refused | 1 |") == 1)
        #expect(findings(both + "\n| S-09 | b | proven | b | 1 |", rules + "S-09\tb\tmust") == 1)
        #expect(findings("| S-04 | t&lt;u | not proven | x | 0 |\n| A-02 | v | proven | another name | 1 |") == 2)
        #expect(findings(both + "\n| S-07 | x | perhaps | x | 0 |", rules + "S-07\tx\tmust") == 1)
        #expect(findings(both, "S-04\tt<u\tmust\nA-02\tw\tmust") == 1)
        #expect(findings(both, rules + "S-07\tx\tmust") == 1)
        // Named by a test and on no list: the page has no text for it either.
        #expect(findings(both, "S-04\tt<u\tmust") == 2)
    }

    @Test("a rule whose text in the tool differs from the list, and an unknown number, are found")
    func ruleTexts() {
        let list = "# a\nS-04\tone two\tmust\nX-01\tthree\tchoice\tthe whole of it"
        func findings(_ embedded: String) -> Int { RuleTextRule.findings(list: list, embedded: embedded).count }
        #expect(findings("    S-04 must one\n      two\n    X-01 choice three\n    = the whole\n      of it\n").isZero)
        #expect(findings("    S-04 must one\n    X-01 choice three\n    = the whole of it\n") == 1)
        #expect(findings("    S-04 choice one two\n    X-01 choice three\n") == 2)
        #expect(findings("    S-04 must one two\n    X-01 choice three\n    = the whole of it\n    S-05 must x") == 1)

        let numbers: Set = ["S-04", "X-01"]
        func cited(_ text: String) -> [Int] {
            RuleTextRule.findings(path: "Docs/A.md", text: text, numbers: numbers).map(\.line)
        }
        #expect(cited("a (S-04, X-01)\nb S-05, and UTF-16, CRC-32C, MS-04, S-041").elementsEqual([2]))
        #expect(cited("X-02 S-06") == [1, 1])
    }

    @Test("a changelog and a manifest on a page that name another version are found")
    func version() {
        func findings(_ changelog: String, _ page: String = "") -> [String] {
            let source = "public static let version = \"1.2.0\""
            let texts = [VersionRule.source: source, VersionRule.changelog: changelog, "README.md": page]
            return VersionRule.findings(texts: texts).map(\.path)
        }
        let manifest = ".package(url: \"https://git.example.com/stratus.git\", from: \"1.2.0\")"
        #expect(findings("# Changes\n\n## 1.2.0\n\n## 1.1.0\n", manifest).isEmpty)
        #expect(findings("# Changes\n\n## 1.1.0\n") == [VersionRule.changelog])
        #expect(findings("# Changes\n") == [VersionRule.changelog])
        #expect(findings("## 1.2.0", manifest.replacing("1.2.0", with: "1.1.0")) == ["README.md"])
        #expect(findings("## 1.2.0", ".package(url: \"https://github.com/apple/swift-log\", from: \"1.6.0\")").isEmpty)
        #expect(VersionRule.findings(texts: [:]).map(\.path) == [VersionRule.source])
    }

    @Test("a test that a page names and that does not exist is found")
    func quotedTests() {
        let tests = SwiftSource(path: "Tests/ATests/A.swift", text: "@Test(\"[X-22] nobody is owner\", arguments: [1])")
        func findings(_ row: String) -> [Int] {
            QuotedTestRule.findings(path: "a.md", text: "a\n" + row, sources: [tests]).map(\.line)
        }
        #expect(findings("| a | \"nobody is owner\" |").isEmpty)
        #expect(findings("| a | \"nobody is owner\" \"somebody is\" |") == [2])
        #expect(findings("text \"somebody is\"").isEmpty)
    }
}

extension Int {
    fileprivate var isZero: Bool { self == 0 }
}
