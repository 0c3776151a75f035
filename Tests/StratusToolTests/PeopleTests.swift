// Several people in one store: created, invited, their views, and removed.

import Foundation
import Testing

@Suite("verbs about people")
struct PeopleTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
        let made = try await run("accounts create bob --email bob@example.com --name 'Bob Birch' --json").object()
        try #require(made["externalID"] as? String == "bob")
    }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    private func names(_ line: String, _ key: String = "record") async throws -> [String] {
        try await run("\(line) --json").objects().compactMap { $0[key] as? String }
    }

    private func viewers(of record: String) async throws -> [String] {
        let audience = try await run("who \(record) --json").object()
        return (audience["viewers"] as? [[String: Any]] ?? []).compactMap { $0["externalID"] as? String }
    }

    @Test("accounts are listed, changed, suspended, resumed, and after confirmation deleted with all their data")
    func accounts() async throws {
        #expect(try await Set(names("accounts", "externalID")) == ["local", "bob"])
        let taken = try await run("accounts create carol --email BOB@example.com")
        #expect(taken.status == 1)
        #expect(taken.errors.contains("belongs to another account"))
        let handles = try await run("accounts handles bob@example.com --add --phone '+49 30 1234567' --json").object()
        #expect(handles["emails"] as? [String] == ["bob@example.com"])
        #expect(handles["phoneNumbers"] as? [String] == ["+49301234567"])
        for (verb, standing) in [("suspend", "suspended"), ("suspend --restricted", "restricted"), ("resume", "good")] {
            #expect(try await run("accounts \(verb) +49301234567 --json").object()["standing"] as? String == standing)
        }
        let refused = try await run("accounts delete local")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("--force"))
        let told = try await run("accounts delete local --dry-run --json").object()
        #expect(told["dryRun"] as? Bool == true)
        #expect(try #require(told["freedBytes"] as? Int) > 0)
        #expect(try await names("ls /tree") == ["tree/a", "tree/d"])
        #expect(try await run("accounts delete id:local --force").status == 0)
        #expect(try await names("accounts", "externalID") == ["bob"])
        #expect(try await run("accounts suspend nobody").status == 3)
    }

    @Test("a person is invited, accepts, and sees and may do what the share says; removed, they see nothing")
    func sharing() async throws {
        let invited = try await run("invite /tree/a bob@example.com --permission readWrite --json").object()
        #expect(invited["url"] == nil)
        #expect(try await viewers(of: "/tree/a/one") == ["local"])
        let url = try #require(try await run("share show /tree/a --url --json").object()["url"] as? String)
        #expect(try await run("ls / --as bob").output.isEmpty)
        let accepted = try await ToolRun.shell(
            "echo '\(url)' | \"$TOOL\" accept - --as bob --store store --json", in: directory)
        #expect(try accepted.object()["role"] as? String == "privateUser")
        #expect(try await viewers(of: "/tree/a/one") == ["local", "bob"])
        #expect(try await viewers(of: "/tree/d/two") == ["local"])

        #expect(try await names("ls / --as bob").last == "tree/a")
        #expect(try await names("tree / --as bob@example.com").count == 6)
        #expect(try await names("children / -r --as bob").suffix(2) == ["tree/a/b/c/deep", "tree/a/one"])
        #expect(try await run("path /tree/a/one --as bob --json").object()["path"] as? String == "/a/one")
        #expect(try await names("query File --sort name --as bob") == ["tree/a/b/c/deep", "tree/a/one"])
        #expect(try await run("get /tree/d/two --as bob").status == 3)
        #expect(try await names("zones list --as bob", "zone").last == "files")
        #expect(try await names("share --as bob", "share").count == 1)

        #expect(try await run("put tree/a/one --set note=hello --as bob").status == 0)
        #expect(try await run("get /tree/a/one").output.contains("note = \"hello\""))
        #expect(try await run("put tree/d/two --set note=hello --as bob").status == 3)
        #expect(try await run("participants change /tree/a bob --permission readOnly").status == 0)
        #expect(try await run("put tree/a/one --set note=bye --as bob").status == 1)
        #expect(try await run("rm tree/a/one --as bob --force").status == 1)

        #expect(try await run("participants remove /tree/a bob").status == 1)
        #expect(try await run("participants remove /tree/a bob --force").status == 0)
        #expect(try await viewers(of: "/tree/a/one") == ["local"])
        let events = try await names("audit", "event")
        #expect(events == ["shared", "invited", "joined", "permissionChanged", "removed"])
        // People are shown by the host's names for them.
        let trail = try await run("audit").lines.map { $0.dropFirst("2026-01-31 12:00:00  ".count) }
        #expect(trail.first?.hasPrefix("local  shared in ") == true, "\(trail)")
        #expect(trail.contains { $0.hasPrefix("local  removed bob") }, "\(trail)")
        #expect(try await run("share show /tree/a").output.contains("  local: owner, readWrite"))
        #expect(try await run("verify").lines.last == "verify: 0 missing, 0 dangling, 0 wrong counts")
    }

    @Test("anyone with its URL can join and leave an open share")
    func openShare() async throws {
        #expect(try await run("share create /tree/d").status == 0)
        let url = try #require(
            try await run("share permission /tree/d readOnly --url --json").object()["url"] as? String)
        let audience = try await run("who /tree/d --json").object()
        #expect(audience["publicPermission"] as? String == "readOnly")
        #expect(try await run("accept '\(url)' --as bob").status == 0)
        let people = try await run("participants /tree/d --json").objects()
        #expect(people.map { $0["as"] as? String } == ["owner", "publicUser"])
        #expect(try await run("participants leave /tree/d --as bob --force").status == 0)
        #expect(try await viewers(of: "/tree/d") == ["local"])
        #expect(try await run("accept 'https://stratus.invalid/share/AAAAAAAAAAAAAAAAAAAAAA' --as bob").status == 3)
    }

    @Test("with --as a share shows what that person may know of it, and the trail is for the owner only")
    func knowing() async throws {
        #expect(try await run("accounts create carol --email carol@example.com").status == 0)
        #expect(try await run("invite /tree/a bob@example.com carol@example.com new@example.com").status == 0)
        let url = try #require(try await run("share show /tree/a --url --json").object()["url"] as? String)
        #expect(try await run("accept '\(url)' --as bob").status == 0)
        #expect(try await names("participants /tree/a", "as").count == 4)
        // Carol and the address have not accepted: bob does not learn of them, nor how the host names the owner.
        let told = try await run("participants /tree/a --as bob --json").objects()
        #expect(told.map { $0["as"] as? String } == ["owner", "privateUser"])
        #expect(told.map { $0["externalID"] as? String } == [nil, "bob"])
        let shown = try await run("share show /tree/a --as bob --json").object()
        #expect((shown["participants"] as? [Any])?.count == 2)
        #expect(try await !run("share show /tree/a --as bob").output.contains("local: owner"))
        let audience = try await run("who /tree/a/one --as bob --json").object()
        #expect((audience["viewers"] as? [Any])?.count == 2)
        #expect((audience["invited"] as? [Any])?.isEmpty == true)
        for line in ["share show /tree/a", "participants /tree/a", "who /tree/a/one", "share show /tree/a --json"] {
            let text = try await run("\(line) --as bob").output
            #expect(!text.contains("carol@example.com"), "\(line): \(text)")
            #expect(!text.contains("new@example.com"), "\(line): \(text)")
            #expect(try await run("\(line) --as carol").status == 3, "\(line)")
            #expect(try await run("\(line) --as local").output.contains("new@example.com"), "\(line)")
        }
        #expect(try await names("audit --as local", "event").count == 5)
        #expect(try await run("audit --as bob").status == 1)
    }

    @Test("only their owner can create and delete zones")
    func owning() async throws {
        #expect(try await run("zones create --zone mine --owner bob --as bob").status == 0)
        #expect(try await names("zones --owner bob", "zone").contains("mine"))
        let refused = try await run("zones create --zone theirs --as bob --json")
        #expect(refused.status == 1 || refused.status == 3, "\(refused.output)")
        #expect(try await !names("zones", "zone").contains("theirs"))
        #expect(try await run("zones delete --zone mine --owner bob --as local --force").status != 0)
        #expect(try await names("zones --owner bob", "zone").contains("mine"))
        #expect(try await run("zones delete --zone mine --owner bob --as bob --force").status == 0)
        #expect(try await names("zones --owner bob", "zone").contains("mine") == false)
    }

    @Test("an owner without account is named by user name and never created, nor is an owner named by address")
    func unknownOwners() async throws {
        let count = try await names("accounts", "externalID").count
        for owner in ["user:_nobody", "_nobody", "email:no@example.com", "no@example.com", "+4912345", "account:x"] {
            let run = try await run("zones create --zone z --owner \(owner) --json")
            #expect(run.status == 3, "\(owner): \(run.output)")
            #expect(try (run.error()["message"] as? String)?.contains("--owner") == true)
        }
        #expect(try await names("accounts", "externalID").count == count)
        #expect(try await run("accounts delete bob --force").status == 0)
        // The remains of deleted accounts are removed with them.
        #expect(try await run("keys global").output.contains("departures") == false)
    }
}
