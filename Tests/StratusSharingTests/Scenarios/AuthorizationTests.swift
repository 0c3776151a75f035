// The scenarios of the folder `Authorization`, and the reader and runner of scenarios themselves.
//
//     make test FILTER=AuthorizationTests

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Authorization")
struct AuthorizationTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Authorization")
    static let files = [
        "administrator", "blocked", "left", "moved-in", "moved-out", "no-permission", "public", "read-only",
        "read-write", "removed", "several-shares", "stopped", "suspended", "zone-wide",
    ].map { "\($0).txt" }

    private func scenario(_ file: String) throws -> Scenario {
        try Scenario(file: file, text: String(contentsOf: Self.folder.appending(path: file), encoding: .utf8))
    }

    @Test("every scenario in the folder is run")
    func complete() throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".txt")
        }
        #expect(found.sorted() == Self.files)
    }

    @Test(
        """
        [D-03][D-04][M-08][P-04][P-05][P-09][P-10][P-11][P-12][P-13][P-14][P-15][P-20][SH-05][SH-06][SH-07][SH-09]\
        [SH-10][SH-11][X-06][X-09][X-13][X-14][X-16][X-18] everyone may do what the scenario says, and nothing else
        """, arguments: files)
    func scenarios(file: String) async throws {
        for trial in try await ScenarioRunner.trials(of: try scenario(file)) {
            guard case .expectation(_, _, let expected) = trial.line.content else { continue }
            if !trial.meets(expected) { Issue.record("\(trial)") }
        }
    }

    @Test("a wrong expectation is reported, wherever it is")
    func plantedExpectations() async throws {
        let scenario = try scenario("read-only.txt")
        let trials = try await ScenarioRunner.trials(of: scenario)
        #expect(trials.count > 40)
        for trial in trials {
            guard case .expectation(_, _, let expected) = trial.line.content else { continue }
            let wrong: ScenarioLine.Expected = expected == .may ? .mayNot(.permissionFailure) : .may
            #expect(!trial.meets(wrong), "\(trial)")
            // Another code is another answer.
            #expect(!trial.meets(.mayNot(.internalError)))
            #expect("\(trial)".hasPrefix("read-only.txt:\(trial.line.number): "))
        }
    }

    @Test("a required step that fails ends the scenario with file and line")
    func failedDeed() async throws {
        let scenario = try Scenario(
            file: "planted.txt",
            text: "people a b\nzone Z of a\n\na: create x\nb: read x\na may read x")
        let error = await #expect(throws: ScenarioError.self) { try await ScenarioRunner.trials(of: scenario) }
        #expect(error?.description.hasPrefix("planted.txt:5: ") == true)
    }

    @Test(
        "an unknown statement is an error with file and line",
        arguments: [
            ("peple a b", 1, "'people' is missing"), ("people a a", 1, "somebody is named twice"),
            ("people", 1, "names are missing"),
            ("people a b\na may read x", 2, "there is no zone yet"),
            ("people a b\nzone Z of c", 2, "there is no person 'c'"),
            ("people a b\nzone Z of a\na: create x\nc may read x", 4, "there is no person 'c'"),
            ("people a b\nzone Z of a\na can read x", 3, "'may' is missing"),
            ("people a b\nzone Z of a\na may look x", 3, "'look' is no deed"),
            ("people a b\nzone Z of a\na may not read x", 3, "a refusal ends with ' : ' and a code"),
            ("people a b\nzone Z of a\na may not read x : noSuchCode", 3, "'noSuchCode' is no code of CKError"),
            ("people a b\nzone Z of a\na may rename S", 3, "there is no share 'S'"),
            ("people a b\nzone Z of a\na: share x as S\na may invite b to S read-oly", 4, "'read-oly' is too much"),
            ("people a b\nzone Z of a\na: share x as S\na may permit b in S", 4, "a permission is missing"),
            ("people a b\nzone Z of a\na: create x y\n", 3, "one deed a line, but for what is expected"),
            ("people a b\nzone Z of a\na: create x in\n", 3, "a parent is missing"),
            ("people a b\nzone Z of a\na may see Y", 3, "there is no zone 'Y'"),
            ("people a b\nzone Z of a\na: create x", 3, "nothing is expected anywhere"),
        ])
    func badText(text: String, line: Int, message: String) {
        let error = #expect(throws: ScenarioError.self) { try Scenario(file: "bad.txt", text: text) }
        #expect(error?.description == "bad.txt:\(line): \(message)")
    }
}
