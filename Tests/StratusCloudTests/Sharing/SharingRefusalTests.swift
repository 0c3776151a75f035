// What refusals of sharing say: all of them in one table.

import StratusCloud
import StratusModel
import StratusStore
import Testing

@Suite("refusals of sharing")
struct SharingRefusalTests {
    /// What a refusal has to name; nil if the refused person may not know it, or there is none.
    private struct Wanted {
        var rule: String
        var record: String?
        var root: String?
        var share: String?
    }

    private static func check(_ error: CloudError?, _ wanted: Wanted, _ what: String) {
        let values = ["rule": wanted.rule, "record": wanted.record, "root": wanted.root, "share": wanted.share]
        for (key, value) in values {
            #expect(error?.fields[key] == value, "\(what): \(key) of \(error?.description ?? "no error")")
            guard let value else { continue }
            #expect(error?.message.contains(value) == true, "\(what): \(key) in '\(error?.message ?? "no error")'")
        }
    }

    @Test("[X-02] every refusal of a participant names the rule, record, root and share, as far as they may see them")
    func participants() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("note"), .new("folder"))
        try bench.save(.new("file", parent: "folder"))
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com", .readOnly)
        func save(_ save: RecordSave) throws -> CloudError? {
            try bench.modify([save], by: bench.bob, in: .shared).saves[0].error
        }
        func delete(_ name: String) throws -> CloudError? {
            try bench.modify(deleting: [bench.shared(name)], by: bench.bob, in: .shared).deletes[0].error
        }
        let reading = Wanted(rule: "P-10", record: "file", root: "folder", share: "Share")
        Self.check(try bench.write("file", by: bench.bob).error, reading, "changing")
        Self.check(try delete("file"), reading, "deleting")
        Self.check(
            try delete("folder"), Wanted(rule: "P-12", record: "folder", root: "folder", share: "Share"), "the root")
        let share = try bench.fetch(bench.shared("Share"), by: bench.bob, in: .shared).get()
        Self.check(
            try save(.change(share, ["cloudkit.title": .string("Mine")])),
            Wanted(rule: "X-13", record: "Share", root: "folder", share: "Share"), "the share")
        // No refusal reveals where hidden records are: there is one for all.
        for parent in [nil, "note", "missing"] {
            let error = try save(.new(bench.shared("new"), parent: parent))
            Self.check(error, Wanted(rule: "P-11", record: "new"), "creating")
        }
        Self.check(try save(.new(bench.shared("note"))), Wanted(rule: "P-11", record: "note"), "what is hidden")
    }

    @Test("[X-02] a participant who moves a root gets the rule that refuses it, and the share")
    func roots() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("folder"))
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        let root = try bench.fetch(bench.shared("folder"), by: bench.bob, in: .shared).get()
        let save = RecordSave.change(root).with(parent: "new")
        let error = try bench.modify([.new(bench.shared("new"), parent: "folder"), save], by: bench.bob, in: .shared)
        Self.check(
            error.saves[1].error, Wanted(rule: "X-06", record: "folder", root: "folder", share: "Share"), "moving")
    }

    @Test("[X-02] every refusal to save a share names the rule, the share and its root")
    func saves() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: [.email("bob@example.com")])
        let people = (0..<101).map { ParticipantClaim.email("p\($0)@example.com") }
        let nobody = ParticipantClaim(id: "x", lookup: .userRecord("_nobody"), role: nil, permission: nil)
        let stranger = ParticipantClaim(id: "stranger", role: .privateUser, permission: .readWrite)
        let record = ParticipantClaim(
            id: "x", lookup: .userRecord(bench.bob.userName.text), role: .privateUser, permission: .readWrite)
        let claims: [(String, (inout ShareClaim) -> Void)] = [
            ("X-10", { $0.participants += people }),
            ("X-11", { $0.participants.append(nobody) }),
            ("P-01", { $0.participants.append(stranger) }),
            ("X-22", { $0.participants.append($0.participants[1]) }),
            ("P-17", { $0.participants.append(record) }),
            ("P-04", { $0.participants[1].role = .owner }),
            ("P-20", { $0.denied = (0..<101).map { "\($0)" } }),
        ]
        for (rule, claim) in claims {
            let error = try bench.change("Share", claim).error
            Self.check(error, Wanted(rule: rule, record: "Share", root: "root", share: "Share"), rule)
        }
        _ = try bench.change("Share") { $0.publicPermission = .readOnly }.get()
        let mixed = try bench.change("Share") { $0.participants.append(.email("eve@example.com")) }.error
        Self.check(mixed, Wanted(rule: "P-05", record: "Share", root: "root", share: "Share"), "mixed")
    }

    @Test("[X-02] every refusal of a misplaced share names the rule, the share and its root")
    func places() throws {
        let bench = try RecordBench.forSharing()
        let notes = RecordBench.notes
        func refused(_ saves: [RecordSave], in database: DatabaseSelector = .private) throws -> CloudError? {
            try bench.modify(saves, in: database).saves.last?.error
        }
        let home = ZoneAddress(zoneName: ZoneAddress.defaultZoneName)
        Self.check(
            try refused([.new("a", in: home), .share("S", root: "a", in: home)]),
            Wanted(rule: "X-21", record: "S", root: "a", share: "S"), "the default zone")
        var elsewhere = RecordSave.share("S", root: "a", in: notes)
        elsewhere.sharing?.root = RecordAddress(recordName: "a", zone: home)
        Self.check(
            try refused([.new("a", in: home), elsewhere]),
            Wanted(
                rule: "X-21", record: elsewhere.address.description,
                root: elsewhere.sharing?.root?.description, share: "S"), "another zone")
        Self.check(
            try refused([.new("cloudkit.zoneshare")]), Wanted(rule: "C-13", record: "cloudkit.zoneshare"), "a name")
        Self.check(
            try refused([.share("Named", root: nil)]), Wanted(rule: "C-13", record: "Named", share: "Named"), "no root")
        var bare = RecordSave.share("Bare", root: nil)
        bare.sharing = nil
        Self.check(try refused([bare]), Wanted(rule: "SH-04", record: "Bare", share: "Bare"), "a share of nothing")
        let own = RecordSave.share("Own", root: "Own")
        Self.check(try refused([own]), Wanted(rule: "SH-02", record: "Own", root: "Own", share: "Own"), "itself")
        let alone = try thrown { _ = try refused([.share("Alone", root: "r")]) }
        #expect(alone.fields["rule"] == "SH-04")
        #expect(alone.message.contains("SH-04"))
    }

    @Test("[X-02] refusals by URL name the rule, and the share only to those who may know it")
    func urls() throws {
        let bench = try RecordBench.forSharing { $0.participantCount = 1 }
        let carol = try bench.person("carol")
        let share = try bench.share("root", as: "Share", publicPermission: .readOnly)
        _ = try bench.accept(share, by: bench.bob).get()
        let known = { (rule: String) in Wanted(rule: rule, record: "Share", root: "root", share: "Share") }
        Self.check(try bench.accept(share, by: carol).error, known("X-10"), "a full share")
        let other = Caller(container: "iCloud.com.example.other", account: carol.id)
        let url = try #require(share.sharing?.url)
        Self.check(try bench.service.acceptShares([url], as: other)[0].error, known("M-01"), "another container")
        let closed = try bench.share("other", as: "Closed")
        _ = try bench.change("Closed") { $0.allowsAccessRequests = true }.get()
        Self.check(try bench.accept(closed, by: carol).error, Wanted(rule: "M-04"), "an outsider")
        let unknown = try bench.service.acceptShares(["x"], as: bench.caller(carol))[0].error
        #expect(unknown?.fields.isEmpty == true)
        #expect(unknown?.message == "Share not found")
    }

    @Test("[X-02][P-19] if sharing is disabled, the error says so with its rule")
    func disabled() throws {
        let bench = try RecordBench.forSharing { $0.isSharingEnabled = false }
        let saves = try bench.modify([.new("r"), .share("S", root: "r")]).saves
        #expect(saves[1].error?.fields["rule"] == "P-19")
        #expect(saves[1].error?.message.contains("P-19") == true)
        let error = cloudError { _ = try bench.service.acceptShares(["x"], as: bench.caller(bench.bob)) }
        Self.check(error, Wanted(rule: "P-19"), "accepting")
    }
}
