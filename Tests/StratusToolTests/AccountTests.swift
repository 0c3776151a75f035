// The owners of zones, and the interplay of CloudKit's API and the engine below it.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import Testing

@Suite("accounts")
struct AccountTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    @Test("an import creates its account, and every verb finds its zones, and no one else's")
    func accounts() async throws {
        #expect(try await run("ls /tree --owner other").status == 3)
        #expect(try await run("import-tree tree --top theirs --owner other").status == 0)
        #expect(try await run("ls / --owner other --json").objects().map { $0["record"] as? String } == ["theirs"])
        #expect(try await run("ls / --json").objects().map { $0["record"] as? String } == ["tree"])
        #expect(try await run("ls / --container another").status == 3)
    }

    @Test("an owner's user name finds the same zones, and an owner without account gets no import")
    func owners() async throws {
        let got = try await run("get /tree --json").object()
        let owner = try #require((got["created"] as? [String: Any])?["user"] as? String)
        #expect(try await run("ls /tree --owner \(owner)").lines.count == 2)
        #expect(try await run("import-tree tree --owner \(owner) --json").object()["unchanged"] as? Int == 9)
        #expect(try await run("import-tree tree --owner _nobody").status == 3)
    }

    @Test("changes through the internal interface count towards the owner's quota")
    func usage() async throws {
        #expect(try await run("share create /tree/d --share a-share-with-a-long-name").status == 0)
        #expect(try await run("move /tree/a/b --under /tree/d").status == 0)
        #expect(try await run("rm /tree/a -r --force").status == 0)
        let before = try usageReport()
        #expect(before.isClean)
        #expect(before.byteCount > 0)
        _ = try await ToolRun.shell("rm tree/d/two && mkdir tree/d/two && touch tree/d/two/inside", in: directory)
        #expect(try await run("import-tree tree").status == 0)
        #expect(try usageReport().isClean)
        #expect(try await run("zones delete --force").status == 0)
        #expect(try usageReport().byteCount == 0)
    }

    private func usageReport() throws -> (isClean: Bool, byteCount: Int64) {
        let store = try Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"))
        defer { store.close() }
        let owner = UserName(try #require(try store.account(externalID: "local")).userRecordName)
        let report = try store.service.verifyUsage(of: owner)
        return (report.isExact, try store.service.usage(of: owner))
    }

    @Test("a file that became a folder keeps its record, with another type")
    func replacement() async throws {
        #expect(try await run("share create /tree/d/two --share s").status == 0)
        let made = try await ToolRun.shell(
            "rm tree/d/two && mkdir tree/d/two && touch tree/d/two/inside", in: directory)
        try #require(made.status == 0)
        let report = try await run("import-tree tree --json").object()
        #expect(report["created"] as? Int == 1)
        let got = try await run("get /tree/d/two --json").object()
        #expect(got["type"] as? String == "Folder")
        #expect(try await run("path /tree/d/two/inside").lines.last == "in share s, whose root is tree/d/two")
        #expect(try await run("import-tree tree --json").object()["unchanged"] as? Int == 10)
        #expect(try await run("verify").lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("records too large for one request are sent in parts, and all are saved")
    func largeRequests() async throws {
        let made = try await ToolRun.shell(
            "target=$(printf '\\xff%.0s' {1..3000}); for i in {1..350}; do ln -s \"$target\" tree/$i; done",
            in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let report = try await run("import-tree tree --json").object()
        #expect(report["created"] as? Int == 350)
        #expect(try #require((report["cost"] as? [String: Any])?["commits"] as? Int) > 2)
        #expect(try await run("import-tree tree --json").object()["unchanged"] as? Int == 359)
    }
}
