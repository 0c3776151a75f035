// The rule about planted faults gets definitions that do not fit, and must find them.

import Testing

@Suite struct MutantRuleTests {
    private static let definition = """
        # A remark.

        3 Nothing is compared.
        file Sources/A/A.swift
        test ATests/compares, BTests
        - a == b
        + a == b || mutant(3)

        """

    private func findings(_ definition: String, source: String = "if a == b {\n    c()\n}\n") -> [String] {
        MutantRule.findings(texts: [
            "Tests/Mutants/A.txt": definition, "Sources/A/A.swift": source,
            "Tests/ATests/ATests.swift": "@Suite struct ATests {\n    func compares() {}\n}",
            "Tests/ATests/BTests.swift": "@Suite(.serialized) final class BTests {}",
        ]).map(\.message)
    }

    private func changed(_ text: String, to other: String) -> String {
        Self.definition.replacing(text, with: other)
    }

    @Test("a valid definition, with existing tests, has no finding")
    func innocent() {
        #expect(findings(Self.definition).isEmpty)
        #expect(findings(changed("- a == b\n", to: "- if a == b {\n-     c()\n- }\n")).isEmpty)
    }

    @Test("a snippet that is missing, duplicate, or part of another fault's is found")
    func snippets() {
        #expect(findings(Self.definition, source: "if a != b {}").first?.contains("is not in") == true)
        #expect(findings(Self.definition, source: "a == b; a == b").first?.contains("more than once") == true)
        let other = changed("3 N", to: "4 N").replacing("(3)", with: "(4)").replacing("- a ==", with: "- if a ==")
        #expect(findings(Self.definition + "\n" + other).first?.contains("overlaps") == true)
        #expect(findings(changed("A/A.swift", to: "A/B.swift")).first?.contains("there is no file") == true)
    }

    @Test("a duplicate number, a replacement without its switch and an unknown line are found")
    func definitions() {
        let again = changed("- a == b", to: "- c()")
        #expect(findings(Self.definition + "\n" + again).first?.contains("is taken") == true)
        #expect(findings(changed("mutant(3)", to: "mutant(4)")).first?.contains("has no mutant(3)") == true)
        #expect(findings(changed("test ", to: "tests ")).contains { $0.contains("no part of a definition") })
    }

    @Test("a missing test, and a definition without one, are found")
    func tests() {
        #expect(findings(changed("/compares", to: "/compare")) == ["fault 3: there is no test 'ATests/compare'"])
        #expect(findings(changed("BTests", to: "CTests")) == ["fault 3: there is no test 'CTests'"])
        #expect(findings(changed("test ATests/compares, BTests\n", to: "")) == ["fault 3: it names no test"])
    }

    @Test("all faults of a file are planted, each in its place, and the rest is not changed")
    func planting() {
        let text = "3 a\nfile f\ntest t\n- b\n+ B\n\n4 c\nfile f\ntest t\n- d\n- e\n+ D\n+ E\n"
        let read = PlantedFault.definitions(in: text, path: "p")
        #expect(read.findings.isEmpty)
        #expect(PlantedFault.plant(read.faults, in: "a b c\nd\ne f").text == "a B c\nD\nE f")
    }
}
