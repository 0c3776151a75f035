// The rules that compare the code with the tables of the architecture page: imports, dependencies, order of folders.

import Testing

@Suite struct ArchitectureRuleTests {
    private let page = Architecture(
        markdown: """
            | target | one line | imports |
            |---|---|---|
            | `Low` | The words of it all. | – |
            | `High` | What stands on the words. | Low, Glibc (one file) |
            | `Support` | For tests. | all |

            | target | folders, low to high |
            |---|---|
            | `High` | Bytes, Records |
            """)

    private func source(_ text: String, at path: String) -> SwiftSource { SwiftSource(path: path, text: text) }

    @Test("the page's tables are read")
    func tables() {
        #expect(page.imports["Low"] == .some([]))
        #expect(page.imports["High"] == .some(["Low", "Glibc"]))
        #expect(page.imports["Support"] == .some(nil))
        #expect(page.folders == ["High": ["Bytes", "Records"]])
    }

    @Test("an import that the page does not allow is found")
    func imports() {
        let low = source("import FoundationEssentials\nimport High", at: "Sources/Low/A.swift")
        #expect(ImportRule.findings(in: low, architecture: page).map(\.line) == [2])
        #expect(ImportRule.findings(in: source("import Low", at: "Sources/High/A.swift"), architecture: page).isEmpty)
        #expect(ImportRule.findings(in: source("import X", at: "Sources/Support/A.swift"), architecture: page).isEmpty)
        #expect(ImportRule.findings(in: source("", at: "Sources/New/A.swift"), architecture: page).count == 1)
    }

    @Test("a manifest that differs from the page is found, both ways")
    func manifest() {
        func findings(_ targets: String) -> [String] {
            ImportRule.findings(inManifest: source("[\(targets)]", at: "Package.swift"), architecture: page).map(
                \.message)
        }
        #expect(findings(#".target(name: "Low"), .target(name: "High", dependencies: ["Low"])"#).isEmpty)
        #expect(findings(#".target(name: "Low", dependencies: [.product(name: "X", package: "y")])"#).count == 1)
        #expect(findings(#".target(name: "Low"), .target(name: "High")"#).count == 1)
        #expect(findings(#".target(name: "New"), .testTarget(name: "T", dependencies: ["Low"])"#).count == 1)
    }

    @Test("a target without a description is found")
    func description() {
        #expect(ImportRule.findings(in: page).map(\.message) == ["say in one line what Support is"])
    }

    @Test("a lower folder that names a type of a higher one is found")
    func folderOrder() {
        let high = source(
            "package struct Index { struct Nested {} }\nstruct Shared {}", at: "Sources/High/Records/A.swift")
        let guilty = source("let a = Index()", at: "Sources/High/Bytes/B.swift")
        let innocent = source(
            "struct Shared {}\nlet a = b.Index, c = Nested(), d = Shared() // Index", at: "Sources/High/Bytes/C.swift")
        let rooted = source("let a: Index", at: "Sources/High/D.swift")
        let found = FolderOrderRule.findings(in: [high, guilty, innocent, rooted], folders: page.folders)
        #expect(Set(found.map(\.path)) == [guilty.path, rooted.path])
        let upward = source("let a = Lower()", at: "Sources/High/Records/E.swift")
        let lower = source("struct Lower {}", at: "Sources/High/Bytes/F.swift")
        #expect(FolderOrderRule.findings(in: [upward, lower], folders: page.folders).isEmpty)
    }

    @Test("a folder that the page does not list is found")
    func unlistedFolder() {
        let file = source("", at: "Sources/Low/Words/A.swift")
        #expect(FolderOrderRule.findings(in: [file], folders: page.folders).map(\.path) == ["Sources/Low/Words"])
    }
}
