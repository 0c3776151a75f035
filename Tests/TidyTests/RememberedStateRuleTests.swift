// The rule on what a process remembers: which properties it finds, and how it compares them with a table.

import Testing

@Suite struct RememberedStateRuleTests {
    private let path = "Sources/StratusCloud/A.swift"
    private let cache = "final class A {\n    private let cache = Locked<[Int: Int]>([:])\n}"

    private func findings(
        _ text: String, _ table: RememberedStateRule.Table = [:], brief: [String: [String]] = [:],
        at path: String? = nil
    ) -> [Finding] {
        RememberedStateRule.findings(in: [SwiftSource(path: path ?? self.path, text: text)], table: table, brief: brief)
    }

    /// What a text remembers: the names of all findings of an empty table.
    private func remembered(_ text: String) -> [String] {
        findings(text).map { String($0.message.prefix { $0 != " " }) }
    }

    @Test("a property that outlives a request and is not in the table is found")
    func unclassified() {
        let table: RememberedStateRule.Table = ["A": [.guess: ["cache"]]]
        #expect(findings(cache, table).isEmpty)
        let found = findings(cache.replacing("\n}", with: "\n    var newest: Int?\n}"), table)
        #expect(found.map(\.line) == [3])
        #expect(found.map(\.path) == [path])
        #expect(found.allSatisfy { $0.message.hasPrefix("A.newest outlives a request") })
    }

    @Test("a property is not looked for in other targets")
    func places() {
        #expect(findings(cache, at: "Sources/StratusModel/A.swift").isEmpty)
        #expect(findings(cache, at: "Sources/StratusKit/Operations/A.swift").isEmpty)
        #expect(findings(cache, at: "Sources/StratusKit/Operations/LongLivedRun.swift").count == 1)
    }

    @Test("an entry of the table without its property, or with two roles, is found")
    func stale() {
        let found = findings(cache, ["A": [.guess: ["cache"], .store: ["gone"]]])
        #expect(found.map(\.path) == [RememberedStateRule.page])
        #expect(found.allSatisfy { $0.message.hasPrefix("A.gone ") })
        #expect(findings(cache, ["A": [.guess: ["cache"]], "B": [.alone: ["cache"]]]).count == 1)
        #expect(findings(cache, ["A": [.guess: ["cache"], .local("a lock"): ["cache"]]]).count == 1)
    }

    @Test("a type that lives for one request remembers nothing, and is only listed while it has variables")
    func brief() {
        #expect(findings(cache, brief: ["a request": ["A"]]).isEmpty)
        #expect(findings(cache, ["A": [.guess: ["cache"]]], brief: ["a request": ["A"]]).count == 1)
        #expect(findings("struct B {\n    var a = 1\n}", brief: ["a request": ["B"]]).count == 1)
    }

    @Test("variables of classes, of types and of files count, and constants and variables of values do not")
    func variables() {
        let members = "\n    let a = 1\n    weak var b: B?\n    static var c = 1\n    static let d = 2\n"
        #expect(remembered("final class A: B {\(members)}") == ["A.b", "A.c"])
        #expect(remembered("public actor A {\(members)}") == ["A.b", "A.c"])
        #expect(remembered("struct A {\(members)}") == ["A.c"])
        #expect(remembered("extension A.B {\n    enum C {\(members)}\n}") == ["A.B.C.c"])
        #expect(remembered("nonisolated(unsafe) var a = 1\nlet b = 2") == ["\(path).a"])
    }

    @Test("locks and caches count in every type", arguments: ["class", "struct", "enum"])
    func holders(kind: String) {
        let text = "\(kind) A {\n    static let a = Mutex(1)\n    let b: [PublishedCache<C, D>]\n    let c: Int\n}"
        #expect(remembered(text) == ["A.a", "A.b"])
    }

    @Test("computed properties and what functions declare do not count, and observed properties do")
    func storedOnly() {
        let text = """
            class A {
                var a: Int { b }
                var b: Int {
                    get { 1 }
                }
                var c = 1 { didSet { a } }
                var d: Int {
                    willSet { var e = Locked(1) }
                }
                lazy var f: Int = { var g = 1; return g }()
                func h(actor: B) {
                    var i = 1
                    if actor == j { let k = Atomic(1) }
                }
                var l:
                    [Int]
                    = [1]
            }
            """
        #expect(remembered(text) == ["A.c", "A.d", "A.f", "A.l"])
    }

    @Test("a structure under a lock stands for its properties", arguments: ["= Locked(State())", ": [Locked<State>]"])
    func structures(declaration: String) {
        let state = "struct State {\n        var a = 1\n        let b: Int\n    }"
        let text = "class A {\n    \(state)\n    let c \(declaration)\n}"
        #expect(remembered(text) == ["A.c.a", "A.c.b"])
        let list = text.replacing(declaration, with: "= Locked<[State]>([])")
        #expect(remembered(list) == ["A.c"])
    }
}
