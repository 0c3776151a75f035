// Saving shares: with their roots, in valid places, one per record, each change of participants.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("saving shares")
struct ShareSavingTests {
    @Test(
        "[SH-02][SH-03][SH-15][P-21][S-03] a share is saved with its root, which is then marked; it may have any fields"
    )
    func made() throws {
        let bench = try RecordBench.forSharing()
        let fields: [String: ClientValue] = ["cloudkit.title": .string("Trip"), "colour": .string("red")]
        let save = RecordSave.share("Share", root: "root", fields: fields)
        let saved = try bench.modify([.new("root"), save], policy: .allKeys).saves.map { try $0.get() }
        #expect(saved[0].share == .parent("Share"))
        #expect(saved[1].fields.keys.sorted() == ["cloudkit.title", "colour"])
        let sharing = try #require(saved[1].sharing)
        #expect(sharing.root == .note("root"))
        #expect(sharing.currentUserID == sharing.ownerID)
        #expect(sharing.participants.map(\.role) == [.owner])
        #expect(sharing.participants[0].identity.userName == "__defaultOwner__")
        #expect(sharing.participants[0].status == .accepted)
        #expect(sharing.participants[0].added == bench.clock.now)
        #expect(try bench.fetch(.note("root")).get() == saved[0])
        #expect(try bench.fetch(.note("Share")).get() == saved[1])
        let title = try bench.fetch(.note("Share"), keys: ["cloudkit.title", "___sharing"]).get()
        #expect(title.fields.keys.sorted() == ["cloudkit.title"])
        #expect(title.sharing == sharing)
        // A later save needs no root, and its tag is compared under every policy.
        let later = RecordSave.change(saved[1], ["colour": .string("blue")])
        _ = try bench.modify([later]).saves[0].get()
        #expect(try bench.modify([later], policy: .allKeys).saves[0].code == .serverRecordChanged)
        #expect(try bench.ownShare("Share").sharing == sharing)
    }

    @Test("[SH-04][A-03] a new share without its root in the operation fails the whole operation, wherever the root is")
    func withoutRoot() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("root"))
        for atomic in [true, false] {
            let error = try thrown {
                _ = try bench.modify([.new("other"), .share("Share", root: "root")], atomic: atomic)
            }
            #expect(error.code == .invalidArguments)
            #expect(
                error.message.hasPrefix(
                    "An added share is being saved without its rootRecord being saved in the same operation"))
        }
        #expect(try !bench.exists(.note("other")))
        try bench.shareNotes()
    }

    @Test(
        "[SH-01][X-21] a share cannot be in the default zone, in a zone other than its root's, or in the public database"
    )
    func places() throws {
        let bench = try RecordBench.forSharing()
        try bench.makeZone(ZoneAddress(zoneName: "Other"))
        func codes(_ share: RecordSave, _ root: RecordSave, _ database: DatabaseSelector = .private) throws
            -> CloudError.Code?
        {
            try bench.modify([root, share], atomic: false, in: database).saves[1].code
        }
        let inDefault = RecordSave.share("S", root: "r", in: .defaultZone)
        #expect(try codes(inDefault, .new("r", in: .defaultZone)) == .invalidArguments)
        #expect(try codes(inDefault, .new("r", in: .defaultZone), .public) == .badDatabase)
        var elsewhere = RecordSave.share("S", root: "r")
        elsewhere.sharing?.root = RecordAddress(recordName: "r", zone: ZoneAddress(zoneName: "Other"))
        #expect(try codes(elsewhere, .new("r", in: ZoneAddress(zoneName: "Other"))) == .invalidArguments)
        let whole = RecordSave.share("cloudkit.zoneshare", root: nil, in: .defaultZone)
        #expect(try bench.modify([whole]).saves[0].code == .invalidArguments)
    }

    @Test("[X-21][Z-06] a zone with its own encryption key is shared as a whole or not at all")
    func capabilities() throws {
        let bench = try RecordBench.forSharing()
        let zone = ZoneAddress(zoneName: "Keyed")
        let request = ModifyZonesRequest(saves: [ClientZone(address: zone, encryptionScope: .perZone)])
        _ = try bench.service.modifyZones(request, as: bench.caller(bench.alice), in: .private).saves[0].get()
        let hierarchical = try bench.modify([.new("r", in: zone), .share("S", root: "r", in: zone)]).saves
        #expect(hierarchical.map(\.code) == [.batchRequestFailed, .invalidArguments])
        #expect(try bench.modify([.share("cloudkit.zoneshare", root: nil, in: zone)]).saves[0].code == nil)
    }

    @Test("[C-13] the share of a zone has a reserved name")
    func names() throws {
        let bench = try RecordBench.forSharing()
        let saves: [RecordSave] = [.share("S", root: nil), .new("cloudkit.zoneshare")]
        #expect(try bench.modify(saves, atomic: false).saves.map(\.code) == [.invalidArguments, .invalidArguments])
        let wrong = RecordSave.share("cloudkit.zoneshare", root: "r")
        #expect(try bench.modify([.new("r"), wrong]).saves[1].code == .invalidArguments)
        let bare = RecordSave.new("S", type: "cloudkit.share")
        #expect(try bench.modify([bare]).saves[0].code == .invalidArguments)
        let child = RecordSave.share("S", root: "r").with(parent: "r")
        #expect(try bench.modify([.new("r"), child]).saves[1].code == .invalidArguments)
    }

    @Test("[P-19] if the host disables sharing, nothing is shared and nothing shared is written")
    func switchedOff() throws {
        let bench = try RecordBench.forSharing { $0.isSharingEnabled = false }
        let saves = try bench.modify([.new("r"), .share("S", root: "r")], atomic: false).saves
        #expect(saves[1].error?.message.hasPrefix("Shared zone update is not enabled for container") == true)
        #expect(saves[1].error?.code == .permissionFailure)
        #expect(saves[1].error?.innerCode == 2007)
        let other = try bench.modify([.new(bench.shared("a"))], by: bench.bob, in: .shared).saves[0]
        #expect(other.code == .permissionFailure)
    }

    @Test("[S-13] a production schema without the share type accepts no shares")
    func production() throws {
        let bench = try RecordBench.forSharing { $0.schemaMode = .production }
        try bench.service.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note ( n INT64 );", into: RecordBench.container)
        let saves = try bench.modify([.new("r"), .share("S", root: "r")]).saves
        #expect(saves.map(\.code) == [.batchRequestFailed, .serverRejectedRequest])
        #expect(saves[1].error?.message == "Cannot create new type cloudkit.share in production schema")
        #expect(try bench.fetch(.note("r")).code == .unknownItem)
    }

    @Test("[SH-06] siblings have shares of their own, also if created in one request")
    func siblings() throws {
        let bench = try RecordBench.forSharing()
        let saves: [RecordSave] = [
            .new("top"), .new("a", parent: "top"), .new("b", parent: "top"), .share("A", root: "a"),
            .share("B", root: "b"),
        ]
        let saved = try bench.modify(saves).saves.map { try $0.get() }
        #expect(saved.map(\.share) == [nil, .parent("A"), .parent("B"), nil, nil])
    }

    @Test("[SH-12][X-26] a root's URL is the same after it was unshared and shared again; another root has another")
    func urls() throws {
        let bench = try RecordBench.forSharing()
        let first = try #require(try bench.share("root", as: "One").sharing?.url)
        try bench.delete(.note("One"))
        let second = try #require(try bench.share("root", as: "Two").sharing?.url)
        #expect(first == second)
        #expect(first.hasPrefix("https://stratus.invalid/share/"))
        #expect(try bench.share("other", as: "Three").sharing?.url != first)
        // A record that is recreated under the same name is another root.
        try bench.delete(.note("root"))
        #expect(try bench.share("root", as: "Four").sharing?.url != first)
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test("[SH-12] the URL of a shared zone stays the same too")
    func zoneURL() throws {
        let bench = try RecordBench.forSharing()
        let first = try #require(try bench.shareNotes().sharing?.url)
        try bench.delete(.note("cloudkit.zoneshare"))
        #expect(try bench.shareNotes().sharing?.url == first)
    }

    @Test("[SH-13] every change of a share is a change of its record: a new tag, and the end of the zone's feed")
    func propagation() throws {
        let bench = try RecordBench.forSharing()
        let share = try bench.share("root", as: "Share", with: [.email("bob@example.com")])
        var tags = [share.changeTag]
        _ = try bench.accept(share, by: bench.bob).get()
        tags.append(try bench.ownShare("Share").changeTag)
        tags.append(try bench.change("Share") { $0.participants[1].permission = .readOnly }.get().changeTag)
        tags.append(try bench.change("Share") { $0.participants.removeLast() }.get().changeTag)
        #expect(Set(tags).count == 4)
        let database = DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private)
        let last = try bench.service.engine.read { reader in
            try reader.existingZone(ZoneID(database: database, name: "Notes")).changes(after: 0).last
        }
        #expect(last?.name == "Share")
    }

    @Test("a client cannot set the share mark or the hidden field")
    func hiddenFields() throws {
        let bench = try RecordBench.forSharing()
        var marked = RecordSave.new("r")
        marked.share = .parent("S")
        #expect(try bench.save(marked)[0].share == nil)
        var forged = RecordSave.share("S", root: "r", fields: ["___sharing": .bytes(.init([1]))])
        let root = RecordSave.change(try bench.fetch(.note("r")).get())
        #expect(try bench.modify([root, forged]).saves[1].code == .invalidArguments)
        forged.fields = [:]
        forged.changedKeys = ["___sharing"]
        #expect(try bench.modify([root, forged]).saves[1].code == .invalidArguments)
    }

    @Test("saving a share costs the same reads, whatever is below its root")
    func costs() throws {
        func reads(_ count: Int) throws -> Int {
            let bench = try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false)
            try bench.save(.new("root"))
            for start in stride(from: 0, to: count, by: 200) {
                _ = try bench.modify((start..<start + 200).map { .new("n\($0)", parent: "root") }).saves.map {
                    try $0.get()
                }
            }
            let root = try bench.fetch(.note("root")).get()
            let before = bench.store.statistics.cost
            _ = try bench.modify([.change(root), .share("S", root: "root")]).saves.map { try $0.get() }
            return (bench.store.statistics.cost - before).reads
        }
        let (few, many) = (try reads(200), try reads(4_000))
        #expect(few == many)
        #expect(few < 60)
    }
}
