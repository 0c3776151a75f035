// What 'stratus rule' prints of the rules that messages name.

import Foundation
import Testing

@testable import stratus

@Suite("rules by number")
struct RuleTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func rule(_ arguments: String...) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" rule \(arguments.joined(separator: " "))", in: directory)
    }

    @Test("a rule is shown by its number, in any case, and with the brackets of a message")
    func oneRule() async throws {
        let run = try await rule("S-05")
        #expect(run.status == 0)
        #expect(run.lines.count == 1)
        #expect(run.lines.first?.hasPrefix("S-05  ") == true)
        #expect(try await rule("s-05").output == run.output)
        #expect(try await rule("'[S-05]'", "'(s-05)'").output == run.output + run.output)
    }

    @Test("several rules are shown in the requested order, a ruling with its full wording")
    func severalRules() async throws {
        let run = try await rule("X-04", "L-02")
        #expect(run.lines.map { $0.prefix(6) } == ["X-04  ", "      ", "L-02  "])
        #expect(run.lines[1].contains("Deleting an unknown zone is `zoneNotFound`"))
        #expect(run.lines[2].hasSuffix("(CloudKit leaves this open: Stratus's choice)"))
    }

    @Test("with --json each rule is an object with its number, text and strength, a ruling with its wording")
    func json() async throws {
        let run = try await rule("l-02", "X-04", "--json")
        try #require(run.lines.count == 2)
        let objects = try run.lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        }
        #expect(objects.map { $0["rule"] } == ["L-02", "X-04"])
        #expect(objects.map { $0["strength"] } == ["choice", "must"])
        #expect(objects[0].keys.sorted() == ["rule", "strength", "text"])
        #expect(objects[1].keys.sorted() == ["rule", "strength", "text", "wording"])
    }

    @Test("an unknown number is an error that lists the existing ones, and nothing is shown")
    func unknownNumber() async throws {
        let run = try await rule("S-05", "s-99")
        #expect(run.status == 3)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("error: There is no rule with this number. Write it as messages do"))
        #expect(run.errors.contains("S-01 to S-"))
        let family = try await rule("nonsense", "--json").error()
        #expect(family["code"] as? String == "notFound")
        let fields = try #require(family["fields"] as? [String: String])
        #expect(fields["rule"] == "nonsense")
        #expect(fields["families"]?.hasPrefix("L, C, S, A, ") == true)
        #expect(try await rule().status == 2)
    }

    @Test("every rule has a text, and every ruling its wording")
    func allRules() {
        let rules = BehaviourRule.all()
        #expect(rules.count > 250)
        #expect(Set(rules.map(\.number)).count == rules.count)
        for rule in rules {
            #expect(rule.text.count > 20, "\(rule.number)")
            #expect(!rule.text.contains("  "), "\(rule.number)")
            #expect((rule.wording != nil) == (rule.family == "X"), "\(rule.number)")
        }
    }
}
