// What a client sends with its changes to recognise them by.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("feeds: how clients recognise their own changes")
struct ClientTokenTests {
    private static func modify(
        _ saves: [RecordSave] = [], deleting deletes: [RecordAddress] = [], _ data: [UInt8]?, atomic: Bool = true,
        by account: StoredAccount? = nil, in bench: RecordBench
    ) throws -> ModifyRecordsResponse {
        let request = ModifyRecordsRequest(
            saves: saves, deletes: deletes, isAtomic: atomic, clientChangeTokenData: data)
        let isOwner = account == nil || account?.id == bench.alice.id
        return try bench.service.modifyRecords(
            request, as: bench.caller(account ?? bench.alice), in: isOwner ? .private : .shared)
    }

    @Test("[T-11] the sender's change token returns with the page that contains the change, and to no one else")
    func echo() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        let (own, guest) = (try bench.page().token, try bench.page(by: bench.bob).token)
        _ = try Self.modify([.new("a"), .new("b")], [1, 2], in: bench).saves.map { try $0.get() }
        _ = try Self.modify([.new(bench.shared("c"), parent: "root")], [3], by: bench.bob, in: bench).saves[0].get()
        let first = try bench.page(own, limit: 1)
        #expect(first.clientChangeTokenData == nil)
        #expect(first.isMoreComing)
        let second = try bench.page(first.token, limit: 1)
        #expect(second.clientChangeTokenData == [1, 2])
        #expect(try bench.page(second.token).clientChangeTokenData == nil)
        #expect(try bench.page(own).clientChangeTokenData == [1, 2])
        #expect(try bench.page(guest, by: bench.bob).clientChangeTokenData == [3])
        #expect(try bench.page(by: bench.bob).clientChangeTokenData == [3])
        _ = try Self.modify([.new("d")], nil, in: bench)
        #expect(try bench.page(own).clientChangeTokenData == [1, 2])
    }

    @Test("[T-11] a first sync returns the sender's change token with the page that ends its walk")
    func firstSync() throws {
        let bench = try RecordBench.forSharing()
        _ = try Self.modify([.new("a"), .new("b"), .new("c")], [1, 2], in: bench).saves.map { try $0.get() }
        let first = try bench.page(limit: 1)
        #expect(first.clientChangeTokenData == nil)
        let second = try bench.page(first.token, limit: 1)
        #expect(second.clientChangeTokenData == nil)
        let last = try bench.page(second.token, limit: 1)
        #expect(last.clientChangeTokenData == [1, 2])
        #expect(!last.isMoreComing)
        #expect(try bench.page(last.token).clientChangeTokenData == nil)
        // One that is sent meanwhile comes with its change.
        _ = try Self.modify([.new("d")], [3], in: bench)
        let end = try bench.page(second.token, limit: 1)
        #expect(end.clientChangeTokenData == nil)
        #expect(try bench.page(end.token, limit: 1).clientChangeTokenData == [3])
    }

    @Test("[T-11][S-21] a request that repeats a processed change is answered and not applied again")
    func repeated() throws {
        let bench = try RecordBench.forSharing()
        let saves = [RecordSave.new("a", ["n": .int64(1)])]
        let first = try Self.modify(saves, [7], in: bench).saves[0].get()
        let commits = bench.commitCount
        let again = try Self.modify(saves, deleting: [.note("x")], [7], in: bench)
        #expect(try again.saves[0].get() == first)
        #expect(again.deletes[0].error == nil)
        #expect(bench.commitCount == commits)
        // Another value, or none, is another request.
        #expect(try Self.modify(saves, [8], in: bench).saves[0].code == .serverRecordChanged)
        #expect(try Self.modify(saves, nil, in: bench).saves[0].code == .serverRecordChanged)
        let changed = try Self.modify([.change(first, ["n": .int64(2)])], [9], in: bench).saves[0].get()
        #expect(try Self.modify([.change(first, ["n": .int64(3)])], [9], in: bench).saves[0].get() == changed)
        // Only the last one is known.
        #expect(
            try Self.modify([.change(changed, ["n": .int64(4)])], [7], in: bench).saves[0].get().changeTag
                != changed.changeTag)
    }

    @Test("[T-11] a failed change does not count as processed, so it can be retried")
    func failed() throws {
        let bench = try RecordBench.forSharing()
        let saves = [RecordSave.new("a"), .new("child", parent: "parent")]
        #expect(try Self.modify(saves, [1], in: bench).saves[1].code == .referenceViolation)
        #expect(try Self.modify(saves, [1], atomic: false, in: bench).saves.map(\.code) == [nil, .referenceViolation])
        try bench.save(.new("parent"))
        #expect(try Self.modify([saves[1]], [1], in: bench).saves[0].error == nil)
        #expect(try bench.exists(.note("child")))
    }

    @Test("[T-11] processed changes are stored per zone and person, bounded, and deleted with the person")
    func keeping() throws {
        let bench = try RecordBench.forSharing()
        let large = [UInt8](repeating: 0, count: (64 << 10) + 1)
        #expect(try thrown { _ = try Self.modify([.new("a")], large, in: bench) }.code == .limitExceeded)
        #expect(try Self.modify([.new("a")], [UInt8](repeating: 1, count: 64 << 10), in: bench).saves[0].error == nil)
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        _ = try Self.modify([.new(bench.shared("b"), parent: "root")], [5], by: bench.bob, in: bench).saves[0].get()
        func count() throws -> Int {
            try bench.service.engine.read { reader in
                let database = DatabaseID(
                    container: RecordBench.container, owner: bench.alice.userName, scope: .private)
                let zone = try reader.existingZone(ZoneID(database: database, name: "Notes"))
                var count = 0
                try zone.store.scan(zone.keys.keyspace(.clientTokens)) { _, _ in
                    count += 1
                    return .next
                }
                return count
            }
        }
        #expect(try count() == 2)
        try bench.service.deleteAccount(bench.bob.id)
        #expect(try count() == 1)
    }
}
