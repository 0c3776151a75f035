// Shares in one commit with other items: what a failing request leaves behind, and what each one records in the trail.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("shares through the batch")
struct ShareBatchTests {
    @Test("saving, changing, leaving and stopping a share are recorded in the zone's trail")
    func trail() throws {
        let bench = try RecordBench.forSharing()
        let claims: [ParticipantClaim] = [.email("bob@example.com"), .email("eve@example.com")]
        let share = try bench.share("root", as: "Share", with: claims)
        _ = try bench.accept(share, by: bench.bob).get()
        _ = try bench.change("Share") { claim in
            claim.participants[1].permission = .readOnly
            claim.participants.remove(at: 2)
        }.get()
        _ = try bench.modify(deleting: [bench.shared("Share")], by: bench.bob, in: .shared).deletes[0].get()
        try bench.delete(.note("Share"))
        let id = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private),
            name: "Notes")
        let kinds = try bench.service.engine.read { reader in
            let zone = try reader.existingZone(id)
            var kinds: [ShareEventKind] = []
            try zone.store.scan(zone.keys.keyspace(.shareEvents)) { _, value in
                kinds.append(try ShareEventEntry(decoding: value).event.kind)
                return .next
            }
            return kinds
        }
        #expect(kinds.first == .shared)
        #expect(Set(kinds) == [.shared, .invited, .joined, .permissionChanged, .removed, .left, .stopped])
        #expect(kinds.last == .stopped)
        #expect(kinds.filter { $0 == .invited }.count == 2)
    }

    @Test("[X-23] a fetched record can be saved in the shared database it came from, by the account that fetched it")
    func origins() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        let root = try bench.fetch(bench.shared("root"), by: bench.bob, in: .shared).get()
        var save = RecordSave.change(root, ["n": .int64(1)])
        save.origin = RecordOrigin(container: RecordBench.container, database: .shared, account: bench.bob.id)
        #expect(try bench.modify([save], by: bench.alice, in: .shared).saves[0].code == .invalidArguments)
        #expect(try bench.modify([save], by: bench.bob, in: .private).saves[0].code == .invalidArguments)
        #expect(try bench.modify([save], by: bench.bob, in: .shared).saves[0].code == nil)
    }

    @Test("a failed request leaves shares and their entries unchanged, atomic or not")
    func atomicity() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        let share = try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        let current = try bench.ownShare("Share")
        var save = RecordSave.change(current)
        save.sharing = current.sharing?.claim
        save.sharing?.participants = [.email("carol@example.com")]
        let before = try bench.shareEntries()
        let answer = try bench.modify([save, .new("x", parent: "missing")])
        #expect(answer.saves.map(\.code) == [.batchRequestFailed, .referenceViolation])
        #expect(try bench.shareEntries() == before)
        #expect(try bench.ownShare("Share") == current)
        #expect(bench.invitations.value.count == 1)
        let alone = try bench.modify([save, .new("x", parent: "missing")], atomic: false)
        #expect(alone.saves.map(\.code) == [nil, .referenceViolation])
        #expect(bench.invitations.value.count == 2)
        #expect(try bench.seen(["root"], by: bench.bob).isEmpty)
        _ = try bench.accept(share, by: carol).get()
        #expect(try bench.seen(["root"], by: carol) == ["root"])
    }

    @Test("[SH-08][A-05] of two new shares of a root the first one is saved, for every order of the items")
    func order() throws {
        let bench = try RecordBench.forSharing()
        let answers = try bench.modify(
            [.share("A", root: "root"), .share("B", root: "root"), .new("root")], atomic: false
        ).saves
        #expect(answers.map(\.code) == [nil, .alreadyShared, nil])
        let nested = try bench.modify([.share("C", root: "D"), .share("D", root: "r"), .new("r")], atomic: false).saves
        #expect(nested.map(\.code) == [.invalidArguments, nil, nil])
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test("[P-13] a request that does nothing else can give up a place without permission, and no other request can")
    func leavingNothing() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com", ParticipantPermission.none)
        let (share, root) = (bench.shared("Share"), bench.shared("root"))
        func delete(_ addresses: [RecordAddress]) throws -> [CloudError.Code?] {
            let answer = try bench.modify(deleting: addresses, atomic: false, by: bench.bob, in: .shared)
            return answer.deletes.map { $0.error?.code }
        }
        #expect(try delete([root]) == [.zoneNotFound])
        #expect(try delete([share, root]) == [.zoneNotFound, .zoneNotFound])
        #expect(try bench.ownShare("Share").sharing?.participants.count == 2)
        #expect(try delete([share]) == [nil])
        #expect(try bench.ownShare("Share").sharing?.participants.count == 1)
        #expect(try delete([share]) == [.zoneNotFound])
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test("[P-13] giving up a place without permission does not depend on a file for another zone")
    func leavingBesideFile() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com", ParticipantPermission.none)
        let album = ZoneAddress(zoneName: "Album")
        try bench.makeZone(album)
        let claim = ParticipantClaim.email("bob@example.com")
        let saves = [
            RecordSave.new("folder", in: album), .share("Pictures", root: "folder", with: [claim], in: album),
        ]
        _ = try bench.accept(try bench.modify(saves).saves[1].get(), by: bench.bob).get()
        let path = try bench.file("photo", [1, 2, 3])
        let photo = RecordSave.new(
            RecordAddress(recordName: "photo", zone: bench.others(album)), parent: "folder",
            ["photo": .asset(.file(path: path))])
        let answer = try bench.modify(
            [photo], deleting: [bench.shared("Share")], atomic: false, by: bench.bob, in: .shared)
        #expect(answer.deletes[0].error == nil)
        #expect(answer.saves[0].error == nil)
        #expect(try bench.ownShare("Share").sharing?.participants.count == 1)
    }

    @Test("if the owner's quota is exhausted, adding participants is refused and nothing is marked")
    func quota() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        let usage = try bench.service.usage(of: bench.alice.userName)
        try bench.service.changeAccount(bench.alice.id) { $0.quotaByteCount = usage }
        let save = RecordSave.new(bench.shared("x"), parent: "root")
        let refused = try bench.modify([save], by: bench.bob, in: .shared).saves[0].error
        #expect(refused?.code == .quotaExceeded)
        #expect(refused?.fields.isEmpty == true)
        // Participants cost nothing, and leaving and stopping are never refused.
        _ = try bench.change("Share") { $0.participants.append(.email("eve@example.com")) }.get()
        _ = try bench.modify(deleting: [bench.shared("Share")], by: bench.bob, in: .shared).deletes[0].get()
        try bench.delete(.note("Share"))
        #expect(try bench.service.verifyUsage(of: bench.alice.userName).isExact)
    }
}

extension RecordBench {
    /// All keys and values outside zones that exist because of shares.
    func shareEntries() throws -> [[UInt8]: [UInt8]] {
        try service.engine.read { reader in
            var entries: [[UInt8]: [UInt8]] = [:]
            for range in [GlobalKeys.keyspace(.acceptances), GlobalKeys.keyspace(.shareURLs)] {
                try reader.store.scan(range) { key, value in
                    entries[[UInt8](copying: key)] = [UInt8](copying: value)
                    return .next
                }
            }
            return entries
        }
    }
}
