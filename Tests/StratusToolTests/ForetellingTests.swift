// --dry-run predicts the run: it is refused like the real run. And the reports of real runs.

import Foundation
import Testing

@Suite("dry runs")
struct ForetellingTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
        for person in ["bob", "carol"] {
            try #require(try await run("accounts create \(person) --email \(person)@example.com").status == 0)
        }
        try #require(try await run("invite /tree/a bob new@example.com --permission readWrite").status == 0)
        let url = try #require(try await run("share show /tree/a --url --json").object()["url"] as? String)
        try #require(try await run("accept '\(url)' --as bob").status == 0)
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    private var roles: [String] {
        get async throws {
            try await run("participants /tree/a --json").objects().compactMap { $0["as"] as? String }
        }
    }

    @Test("a dry run is refused like the real run, with the same exit code")
    func refused() async throws {
        let deeds: [(line: String, status: Int32)] = [
            ("participants remove /tree/a carol", 3), ("participants remove /tree/none bob", 3),
            ("participants remove /tree/d bob", 3), ("participants remove /tree/a local", 1),
            ("participants leave /tree/a --as carol", 3), ("participants leave /tree/a --as local", 1),
            ("share stop /tree/a --as bob", 1), ("share stop /tree/d", 3),
            ("rm /tree/a", 1), ("rm /tree/a -r --as bob", 1), ("rm /tree/d/two --as bob", 3), ("rm /tree/none", 3),
            ("zones delete --as bob", 1), ("zones delete --public", 1),
        ]
        for (line, status) in deeds {
            let (told, done) = (try await run("\(line) --dry-run"), try await run("\(line) --force"))
            for run in [told, done] {
                #expect(run.status == status, "stratus \(line): \(run.output) \(run.errors)")
                #expect(run.output.isEmpty, "stratus \(line): \(run.output) \(run.errors)")
            }
        }
        #expect(try await roles == ["owner", "privateUser", "privateUser"])
        #expect(try await run("tree / --json").objects().count == 10)
    }

    @Test("an accepted dry run prints what the real run then does")
    func done() async throws {
        for line in [
            "rm /tree/a/one --as bob", "participants remove /tree/a new@example.com",
            "participants leave /tree/a --as bob", "share stop /tree/a",
        ] {
            #expect(try await run("\(line) --dry-run").output.hasPrefix("would "), "stratus \(line)")
            #expect(try await run("\(line) --force").status == 0, "stratus \(line)")
        }
        #expect(try await run("share --json").output.isEmpty)
    }

    @Test("X-13: a public permission that ends invitations or participations needs a confirmation")
    func publicPermission() async throws {
        let opening = try await run("share permission /tree/a readOnly")
        #expect(opening.status == 1, "\(opening.errors)")
        #expect(opening.errors.contains("ends 1 invitation"), "\(opening.errors)")
        #expect(try await roles.count == 3)
        let told = try await run("share permission /tree/a readOnly --dry-run --json").object()
        #expect(told["participants"] as? Int == 1)
        #expect(try await run("share permission /tree/a readOnly --force").status == 0)
        #expect(try await roles == ["owner", "publicUser"])
        #expect(try await run("share permission /tree/a readWrite").status == 0, "no participant is removed")
        let closing = try await run("share permission /tree/a none")
        #expect(closing.status == 1, "\(closing.errors)")
        #expect(closing.errors.contains("ends 1 participation"), "\(closing.errors)")
        #expect(try await run("share permission /tree/a none --force").status == 0)
        #expect(try await roles == ["owner"])
    }

    @Test("a number that is not an int64 is refused, and not converted")
    func numbers() async throws {
        for number in ["3.7", "1e30", "-9223372036854775809"] {
            let fields = "echo '{\"n\":{\"type\":\"int64\",\"value\":\(number)}}'"
            let put = try await ToolRun.shell(
                "\(fields) | \"$TOOL\" put number --type Number --fields - --store store", in: directory)
            #expect(put.status == 2, "\(number): \(put.output)")
            #expect(put.errors.contains("field: n"), "\(number): \(put.output)")
        }
        let fields = "echo '{\"n\":{\"type\":\"int64\",\"value\":-9223372036854775808}}'"
        let put = try await ToolRun.shell(
            "\(fields) | \"$TOOL\" put number --type Number --fields - --store store", in: directory)
        #expect(put.status == 0, "\(put.errors)")
        #expect(try await run("get number").output.contains("n = -9223372036854775808"))
    }

    @Test("an error states its cause once, and help has no gaps")
    func words() async throws {
        let unknown = try await run("query Nothing --json").error()
        #expect(unknown["message"] is String)
        #expect(unknown["cause"] is NSNull)
        let help = try await ToolRun.shell("\"$TOOL\" ls --help", in: directory)
        let discussion = help.output.components(separatedBy: "USAGE").first ?? ""
        #expect(!discussion.contains("  "), "\(discussion)")
        let address = try await run("ls db://iCloud.default/local")
        #expect(address.status == 2)
        #expect(address.errors.contains("db://CONTAINER/PERSON/ZONE"))
    }
}
