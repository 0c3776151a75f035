// What verbs say with --as about records that the person does not see, and what they refuse before any work.

import StratusTestSupport
import Testing

@Suite("verbs for people who see nothing of a record")
struct HiddenRecordTests {
    private let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
        for line in [
            "accounts create carol", "put secret-id --type Note --set name=payroll",
            "put one-id --type Note --set name=twice", "put two-id --type Note --set name=twice",
        ] {
            let done = try await run(line)
            try #require(done.status == 0, "\(line): \(done.errors)")
        }
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    @Test(
        "[P-11] the same answer for a hidden record, for several of one name and for none: they tell nothing of each other",
        arguments: [
            "get @", "ls @", "path @", "children @", "who @", "tree @", "rm @ --force", "move @ --under /",
            "put @ --set a=b", "share create @", "participants @",
        ])
    func sameAnswer(_ verb: String) async throws {
        var answers: Set<String> = []
        for address in ["/payroll", "/twice", "/nothing"] {
            let line = verb.replacing("@", with: address) + " --as carol --zone files"
            let run = try await run(line)
            #expect(run.status == 3, "\(line): \(run.output) \(run.errors)")
            #expect(!run.errors.contains("-id"), "\(line): \(run.errors)")
            answers.insert(run.errors.replacing(address, with: "@"))
        }
        #expect(answers.count == 1, "\(answers)")
    }

    @Test("the host gets all that there is to say")
    func host() async throws {
        #expect(try await run("get /payroll").status == 0)
        let twice = try await run("get /twice")
        #expect(twice.status == 1)
        #expect(twice.errors.contains("one-id, two-id"), "\(twice.errors)")
        #expect(try await run("get /nothing").status == 3)
    }

    @Test("a date that no calendar or clock has is refused, and one with a time zone is not")
    func dates() async throws {
        for text in ["2026-02-31T12:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T23:60:61Z"] {
            #expect(try await run("put date --type D --set d:date=\(text)").status == 2, "\(text)")
        }
        for text in ["2024-02-29T23:59:59Z", "2026-02-28T12:00:00+02:00", "2026-01-31T12:00:00.25Z"] {
            let run = try await run("put date --type D --set d:date=\(text)")
            #expect(run.status == 0, "\(text): \(run.errors)")
        }
    }

    @Test("saving into a zone that does not exist ends as every verb that names one")
    func missingZone() async throws {
        #expect(try await run("put a --type N --zone nowhere").status == 3)
    }
}
