// Every tidy rule gets a violation and must find it, and a valid neighbour, which it must not.

import Testing

private func source(_ text: String, at path: String = "Sources/StratusModel/File.swift") -> SwiftSource {
    SwiftSource(path: path, text: text)
}

@Suite struct RuleTests {
    @Test("a file over the limit is found, one at the limit is not")
    func fileLength() {
        let atLimit = String(repeating: "a\n", count: LengthRule.maximumFileLineCount)
        #expect(LengthRule.longFiles(path: "a", text: atLimit).isEmpty)
        #expect(LengthRule.longFiles(path: "a", text: atLimit + "a").count == 1)
        #expect(LengthRule.longFiles(path: "a", text: atLimit, over: LengthRule.questionedFileLineCount).count == 1)
    }

    @Test(
        "a function over the limit is found, whatever its kind",
        arguments: ["func f<A>(a: () -> Void = {}) throws -> [A] where A: B", "init?(a: Int)", "var f: Int", "deinit"])
    func functionLength(declaration: String) {
        func type(lineCount: Int) -> SwiftSource {
            let body = String(repeating: "    if a { b() }\n", count: lineCount - 2)
            return source("struct S {\n\(declaration) {\n\(body)}\n}\n")
        }
        #expect(LengthRule.longFunctions(in: type(lineCount: LengthRule.maximumFunctionLineCount)).isEmpty)
        #expect(
            LengthRule.longFunctions(in: type(lineCount: LengthRule.maximumFunctionLineCount + 1)).map(\.line) == [2])
    }

    @Test("requirements, stored properties and calls have no body to measure")
    func functionsWithoutBody() {
        let body = String(repeating: "    a()\n", count: 100)
        let text = """
            protocol P {
                func f() -> Int
                init(a: Int)
            }
            struct S {
                var a: Int
                var b = 1
                enum E {
            \(body)    }
            }
            let s = S.init(a: 1)
            do {
            \(body)}
            """
        #expect(LengthRule.functions(in: source(text)).isEmpty)
    }

    @Test(
        "banned words are found in comments and banned calls in code",
        arguments: ["// TODO: later", "/// a whitelist", "fatalError()", "let a = try! b()", "c as! D", "print(\"a\")"])
    func wording(text: String) {
        #expect(WordingRule.findings(in: source(text)).count == 1)
    }

    @Test(
        "expressions of a dialect are found in comments, as whole words",
        arguments: ["// Whoever asks gets it.", "/// It is made anew.", "// The caller is told."])
    func dialect(text: String) {
        #expect(WordingRule.dialect(in: [text], path: "A.swift").count == 1)
        #expect(WordingRule.dialect(in: ["// A renewed amendment."], path: "A.swift").isEmpty)
    }

    @Test("a comment over 120 columns is found, and a link is not")
    func wideComment() {
        let wide = "let a = 1 // " + String(repeating: "word ", count: 22)
        #expect(LengthRule.wideComments(in: source(wide)).count == 1)
        let link = "// https://" + String(repeating: "a", count: 120)
        #expect(LengthRule.wideComments(in: source(link)).isEmpty)
        let code = "let text = \"" + String(repeating: "word ", count: 30) + "\""
        #expect(LengthRule.wideComments(in: source(code)).isEmpty)
    }

    @Test("two types of one name that several targets can name are found")
    func vocabulary() {
        let one = source("package struct Account {\n    package enum Kind {}\n}", at: "Sources/A/A.swift")
        let nested = source(
            "extension Stratus {\n    public struct Account { public enum Kind {} }\n}", at: "Sources/B/B.swift")
        let hidden = source(
            "struct Account {}\nextension Stratus.Account { public enum Kind {} }", at: "Sources/C/C.swift")
        #expect(VocabularyRule.findings(in: [one, hidden]).isEmpty)
        #expect(VocabularyRule.findings(in: [one, nested, hidden]).map(\.path) == ["Sources/B/B.swift"])
    }

    @Test("banned words inside strings and longer words are no findings")
    func innocentWording() {
        let text = "let a = \"TODO fatalError try!\" // XXXL, todos\nfunc fatalErrorCount() {}"
        #expect(WordingRule.findings(in: source(text)).isEmpty)
        #expect(WordingRule.findings(in: source("print(1)", at: "Sources/stratus/main.swift")).isEmpty)
    }

    @Test("a meaningless file name is found")
    func fileName() {
        #expect(WordingRule.findings(in: source("", at: "Sources/StratusModel/KeyUtilities.swift")).count == 1)
    }

    @Test(
        "the clock, identifiers and randomness are found below floor 5, and nowhere else",
        arguments: [
            "Date()", "Date.now", "UUID()", "SystemRandomNumberGenerator()", "Int.random(in: 0..<1)", "a.shuffled()",
        ])
    func determinism(code: String) {
        for target in DeterminismRule.quietTargets {
            let found = DeterminismRule.findings(in: source("let a = \(code)", at: "Sources/\(target)/File.swift"))
            #expect(found.count == 1, "\(target)")
        }
        #expect(DeterminismRule.findings(in: source(code, at: "Sources/stratus/main.swift")).isEmpty)
        #expect(DeterminismRule.identityFindings(in: source(code, at: "Sources/StratusCloud/File.swift")).isEmpty)
        #expect(DeterminismRule.findings(in: source("// \(code)\nlet a = Date(timeIntervalSince1970: 0)")).isEmpty)
    }

    @Test(
        "waits by the wall clock are found in every target",
        arguments: ["condition.wait(until: Date(timeIntervalSinceNow: 1))", "timer.schedule(wallDeadline: .now())"])
    func wallClock(code: String) {
        for target in ["StratusKit", "stratus"] {
            #expect(DeterminismRule.waits(in: source(code, at: "Sources/\(target)/File.swift")).count == 1, "\(target)")
        }
        #expect(DeterminismRule.waits(in: source("// \(code)\ncondition.wait(until: end)")).isEmpty)
    }

    @Test(
        "a predictable identity is found in every target of Sources, and so is a draw outside its one place",
        arguments: [
            ("UUID()", ["StratusKit", "stratus", "StratusTestSupport", "stratus-test-program"]),
            ("UUID.init().uuidString", ["StratusKit", "StratusWorkloads", "StratusCloud"]),
            ("NSUUID()", ["StratusKit", "StratusRecords"]),
            ("SystemRandomNumberGenerator()", ["StratusKit", "stratus"]), ("Int.random(in: 0..<9)", ["stratus"]),
        ])
    func identities(code: String, targets: [String]) {
        for target in targets {
            let source = source("let a = \(code)", at: "Sources/\(target)/File.swift")
            #expect(DeterminismRule.identityFindings(in: source).count == 1, "\(target)")
        }
        for innocent in ["reader.readUUID()", "source.makeUUID()", "UUID.drawn()", "// \(code)"] {
            let source = source(innocent, at: "Sources/StratusKit/File.swift")
            #expect(DeterminismRule.identityFindings(in: source).isEmpty)
        }
        let place = source("SystemRandomNumberGenerator()", at: "Sources/StratusKit/Identifiers/SystemRandom.swift")
        #expect(DeterminismRule.identityFindings(in: place).isEmpty)
    }

    @Test(
        "unsafe code outside its home is found",
        arguments: ["unsafe f(a)", "var p: UnsafeRawPointer", "UnsafeMutablePointer<A>()"])
    func unsafeCode(code: String) {
        #expect(SafetyRule.findings(in: source(code)).count == 1)
        for path in ["StratusLevelDB/A.swift", "StratusPostgres/A.swift", "StratusStore/Monitor.swift"] {
            #expect(SafetyRule.findings(in: source("// because\n" + code, at: "Sources/" + path)).isEmpty)
        }
        #expect(SafetyRule.findings(in: source(code, at: "Sources/StratusStore/Wire/Monitor.swift")).count == 1)
    }

    @Test("a file of unsafe code that never gives a reason is found")
    func unexplainedUnsafeCode() {
        #expect(SafetyRule.findings(in: source("unsafe f(a)", at: "Sources/StratusLevelDB/A.swift")).count == 1)
        let explained = "// Unsafe: the cursor never outlives its snapshot.\nunsafe f(a)"
        #expect(SafetyRule.findings(in: source(explained, at: "Sources/StratusLevelDB/A.swift")).isEmpty)
        #expect(SafetyRule.findings(in: source("unsafe f(a)", at: "Tests/StratusLevelDBTests/A.swift")).isEmpty)
    }

    @Test(
        "a promise without its reason is found, and one with it is not",
        arguments: ["final class A: @unchecked Sendable {}", "nonisolated(unsafe) var a = 1"])
    func promises(code: String) {
        #expect(SafetyRule.findings(in: source(code)).count == 1)
        #expect(SafetyRule.findings(in: source("// because so\n\nlet b = 1\n" + code)).count == 1)
        #expect(SafetyRule.findings(in: source(code + " // because it is locked")).isEmpty)
        #expect(
            SafetyRule.findings(in: source("/// A thing.\n// Sendable because\n// locked\n@frozen\n" + code)).isEmpty)
        #expect(SafetyRule.findings(in: source(code + "\n    // because it is locked")).isEmpty)
    }

    @Test("an engine is named in one file of the tool and in none of the floors", arguments: ["LevelDB", "Postgres"])
    func engineNames(engine: String) {
        let text = "import Stratus\(engine)"
        let first = source(text, at: "Sources/stratus/A.swift")
        let second = source(text, at: "Sources/stratus/B.swift")
        let test = source(text, at: "Tests/ATests/A.swift")
        #expect(SeamRule.findings(in: [second, first]).map(\.path) == ["Sources/stratus/B.swift"])
        #expect(SeamRule.findings(in: [first, test]).isEmpty)
        #expect(SeamRule.findings(in: [source(text, at: "Sources/StratusRecords/A.swift")]).count == 1)
    }

    @Test("a store that is opened without its format number is found")
    func formatlessOpenings() {
        let codes = [
            "LevelDBOptions()", "LevelDBStore.open(at: f(path))",
            "LevelDBStore.backup(ofStoreAt: a, to: b) { options }",
            "LevelDBStore.repairLosingDamagedData(at: path)",
        ]
        for code in codes {
            #expect(
                SeamRule.findings(in: [source("let a = 1\n" + code, at: "Sources/stratus/A.swift")]).map(\.line) == [2])
            #expect(SeamRule.findings(in: [source(code, at: "Tests/Support/StratusTestSupport/A.swift")]).isEmpty)
        }
        let whole = "LevelDBStore.open(at: path, options: LevelDBOptions(formatVersion: Format.number))"
        #expect(SeamRule.findings(in: [source(whole, at: "Sources/stratus/A.swift")]).isEmpty)
    }

    @Test("reads are announced in files of their own")
    func announcedReads() {
        let code = "let a = 1\nstore.prefetch(keys)"
        #expect(
            SeamRule.findings(in: [source(code, at: "Sources/StratusRecords/Zone.swift")]).map(\.line) == [2])
        #expect(SeamRule.findings(in: [source(code, at: "Sources/StratusRecords/Zone+Reads.swift")]).isEmpty)
        #expect(SeamRule.findings(in: [source(code, at: "Sources/StratusStore/Wire/Zone.swift")]).isEmpty)
    }

    @Test("repair is called from one file, in the engine's target")
    func repairCalls() {
        let first = source("leveldb_repair_db(a)", at: "Sources/StratusLevelDB/Repair.swift")
        let second = source("leveldb_repair_db(a)", at: "Sources/StratusLevelDB/Open.swift")
        #expect(SeamRule.findings(in: [first]).isEmpty)
        #expect(SeamRule.findings(in: [first, second]).count == 1)
        #expect(SeamRule.findings(in: [source("leveldb_repair_db(a)", at: "Sources/stratus/A.swift")]).count == 1)
    }

    @Test("a file without a header line is found", arguments: ["import A\n", "", "\n// late", "//\n", "// ===\n"])
    func header(text: String) {
        #expect(HeaderRule.findings(path: "a.swift", text: text).count == 1)
        #expect(HeaderRule.findings(path: "a.swift", text: "// What it is.\n" + text).isEmpty)
    }

    @Test("an undocumented visible type is found")
    func documentation() {
        #expect(DocumentationRule.findings(in: source("import A\n\npackage struct B {}")).map(\.line) == [3])
        #expect(DocumentationRule.findings(in: source("@frozen\npublic enum B {}")).count == 1)
        #expect(
            DocumentationRule.findings(in: source("/// B.\n@frozen\npackage enum B {}\n@unsafe struct C {}")).isEmpty)
        #expect(DocumentationRule.findings(in: source("@unsafe package struct B {}")).count == 1)
    }

    @Test("an undocumented case of a public enumeration, or requirement of a public protocol, is found")
    func memberDocumentation() {
        func findings(_ text: String, in target: String = "StratusKit") -> [Int] {
            DocumentationRule.undocumentedMembers(in: source(text, at: "Sources/\(target)/A.swift")).map(\.line)
        }
        let cases = "/// A.\npublic enum A: Int {\n    /// B.\n    case b\n    case c\n}"
        #expect(findings(cases) == [5])
        #expect(findings(cases, in: "StratusCloud").isEmpty)
        let method = "    func f() {\n        switch a {\n        case b: c\n        }\n    }\n"
        #expect(findings("public enum A {\n\(method)}").isEmpty)
        #expect(findings("enum A {\n    case b\n}\npublic struct B {\n    func c() {}\n}").isEmpty)
        #expect(findings("public protocol A {\n    @a\n    func b()\n    /// C.\n    var c: Int { get }\n}") == [3])
    }

    @Test("a build product in the repository is found")
    func tracked() {
        let paths = ["Sources/A.swift", ".build/debug.yaml", "Package.resolved", "Benchmarks/Package.resolved"]
        #expect(RepositoryRule.findings(inTracked: paths).count == 3)
    }

    @Test("paths and hosts of one machine are found")
    func machineNames() {
        let text =
            "see /work/a\nhttps://registry.corporate.net/x\nhttps://github.com/a /tmp/work/b share.example://a.b.example/c"
        #expect(RepositoryRule.findings(path: "a", text: text).map(\.line) == [1, 2])
    }

    @Test("the mark of an unfinished merge is found")
    func mergeMarks() {
        #expect(
            RepositoryRule.findings(path: "a", text: "a\n<<<<<<< HEAD\nb\n=======\n>>>>>>> c\n").map(\.line) == [2, 5])
    }

    @Test("a link to a missing file or heading is found")
    func links() {
        let texts = [
            "Docs/A.md": "[a](B.md) [b](C.md) [c](#one-two) [d](B.md#x) `[e](f)`\n```\n[g](h)\n```\n# One, Two",
            "Docs/B.md": "# Y\n[up](../README.md) [code `x`](../Sources) [web](https://example.com)",
        ]
        let found = LinkRule.findings(path: "Docs/A.md", texts: texts, paths: [])
        #expect(found.map(\.message) == ["the link to C.md leads nowhere", "Docs/B.md has no heading for #x"])
        #expect(LinkRule.findings(path: "Docs/B.md", texts: texts, paths: ["README.md", "Sources"]).isEmpty)
        #expect(LinkRule.findings(path: "Docs/B.md", texts: texts, paths: []).count == 2)
    }

    @Test("a public method that requires a sendable completion handler is found")
    func completionHandlers() {
        func findings(_ text: String, in target: String = "StratusKit") -> [Int] {
            CompletionRule.findings(in: source(text, at: "Sources/\(target)/File.swift")).map(\.line)
        }
        let method = "public func f(\ncompletionHandler: @escaping @Sendable () -> Void) {}"
        #expect(findings("\(method)\n\(method)") == [1, 3])
        #expect(findings("@preconcurrency\n\(method)").isEmpty)
        #expect(findings("public func f(completionHandler: @escaping () -> Void) {}").isEmpty)
        #expect(findings("func f(completionHandler: @Sendable () -> Void) {}").isEmpty)
        #expect(findings(method, in: "StratusCloud").isEmpty)
    }

    @Test("an initialiser that lets clients create an opaque object is found, also an inherited one")
    func opaqueTypes() {
        func findings(_ text: String, in target: String = "StratusKit") -> [Int] {
            OpaqueTypeRule.findings(in: source(text, at: "Sources/\(target)/File.swift")).map(\.line)
        }
        let head = "public final class CKDatabase: NSObject, Sendable {\nlet scope: Scope = .init()\n"
        #expect(findings(head + "init(_ scope: Scope) {}\n}").isEmpty)
        #expect(findings(head + "}") == [1])
        #expect(findings(head + "init(_ scope: Scope) {}\npublic override init() {}\n}") == [4])
        #expect(findings(head + "public convenience init?(name: String) {}\n}") == [3, 1])
        #expect(findings(head + "init(_ scope: Scope) {}\npublic struct Page {\npublic init() {}\n}\n}").isEmpty)
        #expect(findings("extension CKDatabase {\n@preconcurrency\npublic convenience init(name: String) {}\n}") == [3])
        #expect(findings("extension CKContainer {\npublic convenience init(identifier: String) {}\n}").isEmpty)
        #expect(findings("public class CKQueryNotification: CKNotification {\n}").isEmpty)
        #expect(findings("public class CKRecord: NSObject {\npublic override init() {}\n}").isEmpty)
        #expect(findings(head + "}", in: "StratusCloud").isEmpty)
    }
}
