// Shares on the command line: created, shown without their secrets, explained, ended.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords
import Testing

@Suite("verbs about shares")
struct SharingTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    @Test("a share is listed and shown with its participants, by its name or by any record in it")
    func showing() async throws {
        #expect(try await run("share create /tree/a --share s").status == 0)
        let listed = try await run("share --json").objects()
        #expect(listed.map { $0["share"] as? String } == ["s"])
        #expect(listed.first?["root"] as? String == "tree/a")
        #expect(listed.first?["participants"] as? Int == 1)
        for record in ["name:s", "/tree/a", "/tree/a/b/c/deep"] {
            let shown = try await run("share show \(record) --json").object()
            #expect(shown["share"] as? String == "s")
            let participants = try #require(shown["participants"] as? [[String: Any]])
            #expect(participants.map { $0["role"] as? String } == ["owner"])
        }
        #expect(try await run("share show /tree/d").status == 3)
        #expect(try await run("share stop /tree/a --force").status == 0)
        #expect(try await run("share --json").objects().isEmpty)
        let events = try await run("audit --json").objects()
        #expect(events.map { $0["event"] as? String } == ["shared", "stopped"])
        #expect(try await run("verify").lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("the error for a share mark without a record names the root and the share")
    func markWithoutShare() async throws {
        try markRoot("tree/a", share: "lost")
        for line in ["share show /tree/a/one", "share stop /tree/a --force"] {
            let refused = try await run("\(line) --json")
            #expect(refused.status == 3, "\(line): \(refused.errors)")
            let error = try refused.error()
            #expect((error["message"] as? String)?.contains("share that has no record") == true)
            let fields = try #require(error["fields"] as? [String: String])
            #expect(fields["root"] == "tree/a")
            #expect(fields["share"] == "lost")
        }
    }

    /// Marks a record of the tree as the root of a share that does not exist, below CloudKit.
    private func markRoot(_ name: RecordName, share: RecordName) throws {
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        let store = try Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: options)
        defer { store.close() }
        let user = UserName(try #require(try store.account(externalID: "local")).userRecordName)
        let database = DatabaseID(container: "iCloud.default", owner: user, scope: .private)
        let zone = ZoneID(database: database, name: "files")
        let stamp = Stamp(date: Date(), user: user)
        try store.service.engine.transact { transaction in
            var record = try #require(try transaction.existingZone(zone).record(name)).record
            record.share = share
            try transaction.apply(MutationRequest([.save(record)], stamp: stamp, tagSalt: 1), in: zone)
        }
    }

    @Test("the URL of a share is shown on request, and its secret nowhere else")
    func secrets() async throws {
        #expect(try await run("share create /tree/a --share s").status == 0)
        let shown = try await run("share show name:s --url --json").object()
        let url = try #require(shown["url"] as? String)
        let secret = try #require(url.split(separator: "/").last.map(String.init))
        #expect(secret.count == 22)
        let digits = try hexadecimal(secret)
        for line in [
            "share", "share show name:s", "share show name:s --json", "audit --json", "get name:s",
            "get name:s --json", "keys", "keys --json", "tree /", "ls / --json", "path name:s", "verify",
        ] {
            let text = try await run(line).output
            #expect(!text.contains(secret), "\(line) shows the secret")
            #expect(!text.lowercased().contains(digits), "\(line) shows the secret")
        }
    }

    /// The bytes of URL-safe base 64 as the tool would print bytes.
    private func hexadecimal(_ secret: String) throws -> String {
        let plain = secret.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/") + "=="
        return try #require(Data(base64Encoded: plain)).map { String(format: "%02x", $0) }.joined()
    }

    @Test("explain gives the reasons for a person's permissions, and needs a person")
    func explaining() async throws {
        #expect(try await run("share create /tree/a --share s").status == 0)
        let own = try await run("explain /tree/a/one --as local --json").object()
        #expect(own["relation"] as? String == "owner")
        #expect((own["verdict"] as? [String: Any])?["mayDelete"] as? Bool == true)
        let other = try await run("explain /tree/a/one --as user:_nobody")
        #expect(other.status == 0)
        #expect(other.lines.last?.contains("may do nothing with it") == true)
        #expect(try await run("explain /tree/a/one --as nobody").status == 3)
        #expect(try await run("explain /tree/a/one").status == 2)
    }
}
