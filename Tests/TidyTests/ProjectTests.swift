// The tidy rules on the project itself. A failure names the file, the line and the remedy.

import Testing

@Suite struct ProjectTests {
    private static let project = ProjectTree.shared
    private static let sources = project.sources
    /// The rules' own files hold violations as samples.
    private static let ownFolder = "Tests/TidyTests/"

    private func expectNone(_ findings: [Finding], _ location: SourceLocation = #_sourceLocation) {
        for finding in findings { Issue.record("\(finding)", sourceLocation: location) }
    }

    @Test("the project is read: manifest, sources, tests and documents")
    func projectIsThere() {
        let targets = Set(Self.sources.compactMap(\.sourceTarget))
        #expect(targets.isSuperset(of: ["StratusModel", "StratusStore", "stratus"]))
        #expect(Self.project.texts.keys.contains("Package.swift"))
        #expect(Self.project.texts.keys.contains { $0.hasPrefix("Docs/") && $0.hasSuffix(".md") })
        #expect(Self.sources.contains { $0.path.hasPrefix(Self.ownFolder) })
    }

    @Test("no file and no function is too long")
    func length() {
        let endings = [".swift", ".c", ".cc", ".cpp", ".h"]
        for (path, text) in Self.project.texts.sorted(by: { $0.key < $1.key }) {
            guard endings.contains(where: path.hasSuffix) else { continue }
            expectNone(LengthRule.longFiles(path: path, text: text))
            for finding in LengthRule.longFiles(path: path, text: text, over: LengthRule.questionedFileLineCount) {
                print("questioned: \(finding)")
            }
        }
        expectNone(Self.sources.flatMap(LengthRule.longFunctions))
        expectNone(Self.sources.flatMap(LengthRule.wideComments))
    }

    @Test("no banned word is used, and every visible type is documented")
    func wording() {
        let sources = Self.sources.filter { !$0.path.hasPrefix(Self.ownFolder) }
        expectNone(sources.flatMap(WordingRule.findings))
        expectNone(sources.flatMap(DocumentationRule.findings))
        expectNone(sources.flatMap(DocumentationRule.undocumentedMembers))
        for (path, text) in Self.project.texts where !path.hasSuffix(".swift") {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            expectNone(WordingRule.words(in: lines, path: path))
        }
    }

    @Test("comments, texts and documents are in plain English")
    func plainEnglish() {
        for source in Self.sources
        where !source.path.hasPrefix(Self.ownFolder) && source.path != RuleTextRule.embedded {
            expectNone(WordingRule.dialect(in: source.lines, path: source.path))
        }
        // Decisions are never rewritten; the rest is generated.
        let exempt = ["Docs/decisions/", "Docs/COMPATIBILITY.md", "Docs/Compatibility/", "Benchmarks/Results/"]
        for (path, text) in Self.project.texts
        where path.hasSuffix(".md") && !exempt.contains(where: path.hasPrefix) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            expectNone(WordingRule.dialect(in: lines, path: path))
        }
    }

    @Test("no two types that several targets can name have one name")
    func vocabulary() { expectNone(VocabularyRule.findings(in: Self.sources)) }

    @Test("clock, identifiers and randomness are injected below floor 5")
    func determinism() {
        expectNone(Self.sources.flatMap(DeterminismRule.findings))
        expectNone(Self.sources.flatMap(DeterminismRule.waits))
        expectNone(Self.sources.flatMap(DeterminismRule.identityFindings))
    }

    @Test("unsafe code is in its place, and every promise has its reason")
    func safety() {
        expectNone(Self.sources.flatMap(SafetyRule.findings))
    }

    @Test("methods with completion handlers accept those of clients that do not know sendable functions")
    func completionHandlers() {
        expectNone(Self.sources.flatMap(CompletionRule.findings))
    }

    @Test("[C-19] clients cannot create what the server creates: opaque classes have no initialiser for them")
    func opaqueTypes() {
        let face = Self.sources.filter { $0.sourceTarget == "StratusKit" }
        let declared = Set(face.flatMap { $0.declaredTypes.map(\.text) })
        #expect(declared.isSuperset(of: OpaqueTypeRule.callableWords.keys))
        expectNone(face.flatMap(OpaqueTypeRule.findings))
    }

    @Test("the engine is named in one place")
    func seam() {
        expectNone(SeamRule.findings(in: Self.sources))
    }

    @Test("what a process remembers between requests is in a table that says what it is used for")
    func rememberedState() {
        expectNone(RememberedStateRule.findings(in: Self.sources))
    }

    @Test("every source file begins with its header")
    func headers() {
        let endings = [".swift", ".c", ".cc", ".cpp", ".h"]
        for (path, text) in Self.project.texts.sorted(by: { $0.key < $1.key })
        where endings.contains(where: path.hasSuffix) && !PageCodeRule.isTutorialCode(path) {
            expectNone(HeaderRule.findings(path: path, text: text))
        }
    }

    @Test("imports, dependencies and folders match the architecture page")
    func architecture() throws {
        let page = Self.project.architecture
        #expect(!page.imports.isEmpty, "\(Architecture.path) has no table of targets")
        expectNone(ImportRule.findings(in: page))
        expectNone(Self.sources.flatMap { ImportRule.findings(in: $0, architecture: page) })
        let manifest = try #require(Self.sources.first { $0.path == "Package.swift" })
        #expect(ManifestTarget.targets(in: manifest).count > 8)
        expectNone(ImportRule.findings(inManifest: manifest, architecture: page))
        expectNone(FolderOrderRule.findings(in: Self.sources, folders: page.folders))
    }

    @Test("links in the documents resolve")
    func links() {
        for path in Self.project.texts.keys.sorted() where path.hasSuffix(".md") {
            expectNone(LinkRule.findings(path: path, texts: Self.project.texts, paths: Self.project.paths))
        }
    }

    @Test("the code on the guide's pages is compiled, and tests run it")
    func pageCode() {
        #expect(Self.project.texts.keys.count { PageCodeRule.isPage($0) } > 16)
        expectNone(PageCodeRule.findings(texts: Self.project.texts))
        expectNone(PageCodeRule.idleFunctions(texts: Self.project.texts))
        #expect(Self.project.texts.keys.count { PageCodeRule.isTutorialCode($0) } > 20)
        expectNone(PageCodeRule.idleTutorialFiles(texts: Self.project.texts))
    }

    @Test("the documentation's first page links to every public symbol")
    func catalogue() throws {
        let page = try #require(Self.project.texts[CatalogueRule.page])
        #expect(Self.sources.flatMap { CatalogueRule.symbols(in: $0) }.count > 90)
        expectNone(CatalogueRule.findings(sources: Self.sources, page: page))
    }

    @Test("rules that the compatibility page calls proven have a test, and unproven ones have none")
    func compatibility() throws {
        let page = try #require(Self.project.texts[CompatibilityRule.page])
        let list = try #require(Self.project.texts[RuleTextRule.list])
        expectNone(
            CompatibilityRule.findings(page: page, rules: RuleTextRule.lines(of: list), sources: Self.sources))
    }

    @Test("the tool contains the text of every rule, and every cited number is a rule's")
    func ruleTexts() throws {
        let list = try #require(Self.project.texts[RuleTextRule.list])
        let embedded = try #require(Self.project.texts[RuleTextRule.embedded])
        #expect(RuleTextRule.lines(of: list).count > 250)
        expectNone(RuleTextRule.findings(list: list, embedded: embedded))
        let numbers = Set(RuleTextRule.lines(of: list).map(\.number))
        for (path, text) in Self.project.texts where !path.hasPrefix(Self.ownFolder) {
            expectNone(RuleTextRule.findings(path: path, text: text, numbers: numbers))
        }
    }

    @Test("the changelog begins with the version, and the manifests on the pages name it")
    func version() {
        expectNone(VersionRule.findings(texts: Self.project.texts))
    }

    @Test("every test named by the pages on security and on pitfalls exists")
    func quotedTests() throws {
        for (path, count) in QuotedTestRule.pages {
            let page = try #require(Self.project.texts[path])
            #expect(QuotedTestRule.quoted(on: page).count > count)
            expectNone(QuotedTestRule.findings(path: path, text: page, sources: Self.sources))
        }
    }

    @Test("every planted fault fits its source exactly once, and names existing tests")
    func plantedFaults() {
        let faults = MutantRule.faults(in: Self.project.texts)
        #expect(faults.count >= 150)
        for target in MutantRule.targets {
            #expect(faults.contains { $0.file.hasPrefix("Sources/\(target)/") }, "\(target)")
        }
        expectNone(MutantRule.findings(texts: Self.project.texts))
    }

    @Test("the repository holds no build products and no names of one machine")
    func repository() throws {
        for (path, text) in Self.project.texts where !path.hasPrefix(Self.ownFolder) && path != "Package.resolved" {
            expectNone(RepositoryRule.findings(path: path, text: text))
        }
        if let tracked = try ProjectTree.trackedPaths() { expectNone(RepositoryRule.findings(inTracked: tracked)) }
    }
}
