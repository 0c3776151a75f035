// Explanations of access: compared with the real permissions, and in words.

import Foundation
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("explaining access")
struct AccessExplanationTests {
    /// Alice's zone: `top` above the root `folder`, `page` and `leaf` below it, `other` next to it.
    private struct World {
        let bench: RecordBench
        let carol: StoredAccount
        let dave: StoredAccount
        static let records = ["top", "folder", "page", "leaf", "other", "Share"]

        init() throws {
            bench = try .forSharing()
            carol = try bench.person("carol")
            dave = try bench.person("dave")
            try bench.save(
                .new("top"), .new("folder", parent: "top"), .new("page", parent: "folder"),
                .new("leaf", parent: "page"), .new("other"))
        }

        var zone: ZoneID {
            ZoneID(
                database: DatabaseID(
                    container: RecordBench.container, owner: bench.alice.userName, scope: .private), name: "Notes")
        }

        func explain(_ record: String, _ account: StoredAccount) throws -> AccessAnalysis {
            try bench.service.explainAccess(to: RecordName(record), in: zone, for: account.userName)
        }

        /// What the person really may, found by trying it.
        func tried(_ record: String, _ account: StoredAccount) throws -> (read: Bool, change: Bool, create: Bool) {
            let isOwner = account.id == bench.alice.id
            let database: DatabaseSelector = isOwner ? .private : .shared
            let zone = isOwner ? RecordBench.notes : bench.others()
            let address = RecordAddress(recordName: record, zone: zone)
            let fetched = try bench.fetch(address, by: account, in: database)
            guard case .success(let found) = fetched else { return (false, false, false) }
            var save = RecordSave.change(found, ["cloudkit.title": .string("x")])
            if found.type != "cloudkit.share" { save = .change(found, ["text": .string("x")]) }
            save.sharing = found.sharing?.claim
            let changed = try bench.modify([save], by: account, in: database).saves[0]
            guard found.type != "cloudkit.share" else { return (true, changed.error == nil, false) }
            let child = RecordSave.new("child", in: zone, parent: record)
            let created = try bench.modify([child], by: account, in: database).saves[0]
            if case .success = created { try bench.delete(.note("child")) }
            return (true, changed.error == nil, created.error == nil)
        }

        func check() throws {
            for account in [bench.alice, bench.bob, carol, dave] {
                for record in Self.records {
                    let explanation = try explain(record, account)
                    let tried = try tried(record, account)
                    let verdict = explanation.verdict
                    #expect(verdict.mayRead == tried.read, "\(explanation)")
                    #expect(verdict.mayChange == tried.change, "\(explanation)")
                    #expect(verdict.mayCreateBelow == tried.create, "\(explanation)")
                    // A place without any permission can be given up.
                    let isLeft = record == "Share" && explanation.relation == .member
                    #expect(verdict.mayRead || isLeft == verdict.mayDelete, "\(explanation)")
                    let permissions = try bench.service.permissions(
                        for: [RecordName(record)], in: zone, of: account.userName)[0]
                    #expect(permissions.contains(.read) == tried.read, "\(explanation)")
                    #expect(permissions.contains(.write) == tried.change, "\(explanation)")
                }
            }
        }
    }

    @Test(
        "permissions on known records are returned without reading the records",
        .enabled(if: TestStores.letCachesAnswer))
    func permissionsCostNothing() throws {
        let world = try World()
        let share = try world.bench.share(
            "folder", as: "Share", with: [.email("bob@example.com", .readOnly)], parent: "top")
        _ = try world.bench.accept(share, by: world.bench.bob).get()
        let engine = world.bench.service.engine
        let records: [RecordName] = ["leaf", "page", "folder", "other", "Share", "nothing"]
        func ask() throws -> [TypePermissions] {
            try world.bench.service.permissions(for: records, in: world.zone, of: world.bench.bob.userName)
        }
        #expect(try ask() == [.read, .read, .read, [], .read, []])
        let before = engine.store.statistics.cost.reads
        #expect(try ask() == [.read, .read, .read, [], .read, []])
        // One read finds the person by their name; the hierarchy's cache does not store that a record is missing.
        #expect(engine.store.statistics.cost.reads - before == 2)
        let nobody = try world.bench.service.permissions(for: records, in: world.zone, of: "_nobody")
        #expect(nobody == records.map { _ in [] })
    }

    @Test("the verdict matches the outcome of trying, throughout the life of a share")
    func verdicts() throws {
        let world = try World()
        let bench = world.bench
        try world.check()
        let share = try bench.share(
            "folder", as: "Share",
            with: [
                .email("bob@example.com", .readOnly), .email("carol@example.com", .readWrite, role: .administrator),
            ],
            parent: "top")
        try world.check()
        for account in [bench.bob, world.carol] { _ = try bench.accept(share, by: account).get() }
        try world.check()
        _ = try bench.change("Share") { claim in
            for index in claim.participants.indices where claim.participants[index].role == .privateUser {
                claim.participants[index].permission = .readWrite
            }
        }.get()
        try world.check()
        _ = try bench.change("Share") { claim in
            for index in claim.participants.indices where claim.participants[index].role == .privateUser {
                claim.participants[index].permission = ParticipantPermission.none
            }
        }.get()
        try world.check()
        _ = try bench.change("Share") { $0.publicPermission = .readOnly }.get()
        _ = try bench.accept(share, by: world.dave).get()
        try world.check()
        try bench.delete(.note("Share"))
        try world.check()
        let whole = try bench.shareNotes(with: [.email("dave@example.com", .readWrite)])
        _ = try bench.accept(whole, by: world.dave).get()
        try world.check()
        try bench.service.setStanding(.suspended, of: world.dave.id)
        #expect(try world.explain("page", world.dave).verdict == AccessAnalysis.Verdict())
    }

    @Test("an explanation describes the chain, the share, the participant and the verdict in words")
    func words() throws {
        let world = try World()
        let bench = world.bench
        let (alice, bob) = (bench.alice.userName, bench.bob.userName)
        #expect(
            try world.explain("leaf", bench.bob).reasons == [
                "It is in no share: neither it nor a record above it is a root (leaf → page → folder → top), "
                    + "and the zone is not shared.",
                "So \(bob) may do nothing with it, and does not learn that it exists.",
            ])
        let share = try bench.share("folder", as: "Share", with: [.email("bob@example.com", .readOnly)], parent: "top")
        let invited = try world.explain("leaf", bench.bob)
        #expect(invited.relation == .invited)
        #expect(invited.participant?.status == "pending")
        _ = try bench.accept(share, by: bench.bob).get()
        let leaf = try world.explain("leaf", bench.bob)
        #expect(leaf.chain == ["leaf", "page", "folder"])
        #expect(leaf.share == "Share")
        #expect(leaf.root == "folder")
        #expect(leaf.relation == .member)
        #expect(leaf.participant?.permission == "readOnly")
        #expect(leaf.publicPermission == "none")
        #expect(
            leaf.reasons == [
                "Its parents lead to the root of the share Share: leaf → page → folder.",
                "\(bob) takes part as privateUser with the permission readOnly.",
                "So \(bob) may read it; but not change it, delete it, put records below it.",
            ])
        #expect(try world.explain("folder", bench.bob).chain == ["folder"])
        #expect(try world.explain("Share", bench.bob).verdict.mayDelete, "which is leaving")
        let own = try world.explain("leaf", bench.alice)
        #expect(own.relation == .owner)
        #expect(own.verdict.mayDelete)
        #expect(own.reasons.last == "So \(alice) may read it, change it, delete it, put records below it.")
        let gone = try world.explain("nothing", bench.bob)
        #expect(!gone.exists)
        #expect(gone.reasons.first == "There is no record nothing in the zone.")
        #expect(gone.reasons.last?.contains("told") == false)
        let nobody = try bench.service.explainAccess(to: "leaf", in: world.zone, for: "_nobody")
        #expect(nobody.reasons.first == "No account has the user record _nobody.")
        #expect(nobody.verdict == AccessAnalysis.Verdict())
    }

    @Test("an explanation encodes to JSON without secrets")
    func json() throws {
        let world = try World()
        let share = try world.bench.share("folder", as: "Share", with: [.email("bob@example.com", .readOnly)])
        _ = try world.bench.accept(share, by: world.bench.bob).get()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let text = String(decoding: try encoder.encode(try world.explain("page", world.bench.bob)), as: UTF8.self)
        #expect(text.contains(#""chain":["page","folder"]"#))
        #expect(text.contains(#""relation":"member""#))
        #expect(text.contains(#""mayRead":true"#))
        #expect(text.contains(#""mayChange":false"#))
        let secret = try #require(share.sharing?.url.split(separator: "/").last)
        #expect(!text.contains(secret))
    }

    @Test("in a public database the grants decide")
    func publicDatabase() throws {
        let world = try World()
        let zone = ZoneAddress.defaultZone
        try world.bench.save(.new("public", in: zone), by: world.bench.bob, in: .public)
        let id = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: nil, scope: .public),
            name: ZoneName(zone.zoneName))
        let creator = try world.bench.service.explainAccess(to: "public", in: id, for: world.bench.bob.userName)
        #expect(creator.relation == .world)
        #expect(creator.verdict.mayChange)
        #expect(creator.verdict.mayRead)
        let other = try world.bench.service.explainAccess(to: "public", in: id, for: world.carol.userName)
        #expect(!other.verdict.mayChange)
        #expect(other.verdict.mayRead)
        #expect(other.verdict.mayCreateBelow)
    }
}
