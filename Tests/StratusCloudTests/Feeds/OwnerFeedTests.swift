// The feed of a zone for its owner.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("feeds: an owner's zone")
struct OwnerFeedTests {
    @Test("[T-06][T-07][T-12] a feed reports each record once, in its current state, and deletions with their type")
    func changes() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("a"), .new("b", type: "Page"), .new("c", parent: "a"))
        var replica = Replica()
        #expect(try replica.pull(bench) == Told(changed: ["a", "b", "c"], deleted: [], pageCount: 1))
        try bench.touch("a")
        try bench.touch("a", "twice")
        try bench.remove("b")
        try bench.save(.new("d"))
        try bench.remove("d")
        let page = try bench.page(replica.token)
        #expect(page.changed.map(\.address) == [.note("a")])
        #expect(page.changed[0].fields["text"]?.value == .string("twice"))
        #expect(
            page.deleted == [
                RecordDeletion(address: .note("b"), type: "Page"), RecordDeletion(address: .note("d"), type: "Note"),
            ])
        #expect(try bench.page(page.token).changed.isEmpty)
        try bench.save(.new("b"))
        #expect(try bench.page(replica.token).changed.map(\.address.recordName) == ["a", "b"])
    }

    @Test("[T-08] without a token, only existing records and deletions during paging are reported")
    func beginning() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("gone"), .new("a"), .new("b"), .new("c"))
        try bench.remove("gone")
        var replica = Replica()
        var isFirst = true
        let told = try replica.pull(bench, limit: 1) {
            if isFirst {
                isFirst = false
                try bench.remove("a")
                try bench.remove("c")
                try bench.touch("b")
                try bench.save(.new("late"))
            }
        }
        #expect(replica.names == ["b", "late"])
        #expect(told.deleted == ["a", "c"])
        #expect(told.changed == ["a", "b", "late"])
        #expect(try bench.page(replica.token).changed.isEmpty)
    }

    @Test("[T-06][T-07][T-08] a first sync reads in the order of names, then what changed since it began")
    func firstSync() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("z"), .new("y"), .new("d"), .new("c", type: "Page"), .new("b"), .new("x"))
        var pages = [try bench.page(limit: 2)]
        #expect(pages[0].changed.map(\.address.recordName) == ["b", "c"])
        try bench.remove("c")
        try bench.save(.new("c", type: "Other"))
        try bench.remove("c")
        try bench.touch("b")
        try bench.remove("y")
        try bench.move("x", below: "z")
        try bench.save(.new("a"))
        while let last = pages.last, last.isMoreComing { pages.append(try bench.page(last.token, limit: 2)) }
        // The walk has what has not changed since it began. The client has never seen y.
        #expect(pages.map { $0.changed.map(\.address.recordName) } == [["b", "c"], ["d", "z"], ["b"], ["x"], ["a"]])
        #expect(pages.flatMap(\.deleted).map(\.address.recordName).sorted() == ["c", "y"])
        #expect(pages.flatMap(\.deleted).first { $0.address == .note("c") }?.type == "Page")
        #expect(try bench.page(pages.last?.token).changed.isEmpty)
    }

    @Test("[T-06] a page that ends a first sync goes on with what changed since, and names no record twice")
    func endOfFirstSync() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("a"), .new("b"), .new("c"))
        let first = try bench.page(limit: 1)
        try bench.touch("a")
        try bench.touch("b")
        let last = try bench.page(first.token)
        #expect(last.changed.map(\.address.recordName) == ["c", "a", "b"])
        #expect(!last.isMoreComing)
        #expect(last.deleted.isEmpty)
    }

    @Test("what a first sync passes counts: deleted records, later changes, and the chunks of large records")
    func passed() throws {
        let bench = try RecordBench.forSharing { $0.feedLookCount = 4 }
        let names = (0..<20).map { "r\($0 + 10)" }
        _ = try bench.modify(names.map { .new($0) })
        for name in names.prefix(14) { try bench.remove(name) }
        let text = ClientValue.string(String(repeating: "x", count: 700_000))
        try bench.save(.new("s", ["text": text]), .new("t"))
        var (replica, lookCounts, token) = (Replica(), [Int](), [UInt8]?.none)
        while true {
            let page = try bench.page(token)
            replica.apply(page)
            lookCounts.append(page.lookCount)
            token = page.token
            guard page.isMoreComing else { break }
        }
        #expect(replica.names == names.suffix(6) + ["s", "t"])
        #expect(replica.records["s"]?.fields["text"]?.value == text)
        // 14 tombstones, 6 records, 8 chunks, 1 record.
        #expect(lookCounts == [4, 4, 4, 4, 4, 8, 1])
    }

    @Test("a large record that lacks a chunk fails a first sync as corruption, and is not left out")
    func lostChunk() throws {
        let bench = try RecordBench.forSharing()
        let text = ClientValue.string(String(repeating: "x", count: 250_000))
        for name in ["a", "b"] { try bench.save(.new(name, ["text": text])) }
        let keys = try bench.service.engine.read { try $0.existingZone(bench.notesID).keys }
        let lost = [
            keys.recordChunk("b", index: 2), keys.recordChunk("a", index: 1), keys.record("b"), keys.record("a"),
        ]
        for key in lost {
            try bench.store.transact { try $0.delete(key) }
            #expect(try bench.pageError().code == .internalError)
        }
    }

    @Test("[L-14][T-14] pages hold 200 records, as many as requested up to 1,000, and at most 2 MB")
    func pages() throws {
        let bench = try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false)
        for start in stride(from: 0, to: 1_200, by: 400) {
            _ = try bench.modify((start..<start + 400).map { .new("r\($0)") })
        }
        let first = try bench.page()
        #expect(first.changed.count == 200)
        #expect(first.isMoreComing)
        #expect(try bench.page(first.token, limit: 7).changed.count == 7)
        let large = try bench.page(first.token, limit: 100_000)
        #expect(large.changed.count == 1_000)
        #expect(!large.isMoreComing)
        #expect(Set((first.changed + large.changed).map(\.address)).count == 1_200)
        #expect(try bench.page(large.token).changed.isEmpty)
        let text = ClientValue.string(String(repeating: "x", count: 700_000))
        for name in ["x", "y", "z", "u"] { try bench.save(.new(name, ["text": text])) }
        let heavy = try bench.page(large.token)
        #expect(heavy.changed.count == 3)
        #expect(heavy.isMoreComing)
        #expect(try bench.page(heavy.token).changed.map(\.address.recordName) == ["u"])
    }

    @Test(
        "[T-14] only the requested fields are returned, none if none are requested; a share always has its participants"
    )
    func desiredKeys() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("a", ["one": .int64(1), "two": .int64(2)]))
        try bench.share("a", as: "Share", with: bench.bob, "bob@example.com")
        func fields(_ keys: Set<String>?, by account: StoredAccount? = nil) throws -> [Set<String>] {
            let page = try bench.page(keys: keys, by: account)
            #expect(page.changed.first { $0.address.recordName == "Share" }?.sharing?.participants.count == 2)
            return page.changed.map { Set($0.fields.keys) }.sorted { $0.count < $1.count }
        }
        for reader in [bench.alice, bench.bob] {
            #expect(try fields(nil, by: reader) == [[], ["one", "two"]])
            #expect(try fields([], by: reader) == [[], []])
            #expect(try fields(["two", "three"], by: reader) == [[], ["two"]])
        }
    }

    @Test("[T-16][S-10] touching a parent adds no entry to the feed")
    func touchedParent() throws {
        let bench = try RecordBench.forSharing { $0.childSaveTouchesParent = true }
        try bench.save(.new("parent"))
        let (tag, token) = (try bench.fetch(.note("parent")).get().changeTag, try bench.page().token)
        try bench.save(.new("child", parent: "parent"))
        #expect(try bench.fetch(.note("parent")).get().changeTag != tag)
        #expect(try bench.page(token).changed.map(\.address.recordName) == ["child"])
    }

    @Test("[R-04] records deleted by a cascade are in the feed")
    func cascade() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("target"), .new("owned", ["to": .owned(by: "target")]))
        let token = try bench.page().token
        try bench.remove("target")
        #expect(try Set(bench.page(token).deleted.map(\.address.recordName)) == ["target", "owned"])
    }

    @Test("[X-03][SH-10][SH-13][D-01] the owner's feed contains shares, their roots and the changes of participants")
    func shares() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("root"))
        var replica = Replica()
        try replica.pull(bench)
        let share = try bench.share("root", as: "Share", with: [.email("bob@example.com")])
        #expect(try replica.pull(bench).changed == ["Share", "root"])
        #expect(replica.records["root"]?.share?.target == .note("Share"))
        _ = try bench.accept(share, by: bench.bob).get()
        #expect(try replica.pull(bench).changed == ["Share"])
        try bench.save(.new(bench.shared("theirs"), parent: "root"), by: bench.bob, in: .shared)
        #expect(try replica.pull(bench).changed == ["theirs"])
        #expect(replica.records["theirs"]?.creatorUserName == bench.bob.userName.text)
        try bench.permit(bench.bob, .readOnly, in: "Share")
        #expect(try replica.pull(bench).changed == ["Share"])
        try bench.remove("Share", by: bench.bob)
        #expect(try replica.pull(bench).changed == ["Share"])
        try bench.remove("Share")
        #expect(try replica.pull(bench) == Told(changed: ["root"], deleted: ["Share"], pageCount: 1))
        #expect(replica.records["root"]?.share == nil)
    }

    @Test("[T-02][T-10][Z-07][Z-08] zones without a feed, unknown zones and deleted zones have their own errors")
    func errors() throws {
        let bench = try RecordBench.forSharing()
        let unsynced = try bench.pageError(zone: .defaultZone)
        #expect(unsynced.code == .serverRejectedRequest)
        #expect(unsynced.innerCode == 2027)
        #expect(unsynced.message == "AppDefaultZone does not support sync semantics")
        for account in [bench.alice, nil] {
            let error = try thrown {
                let request = FetchZoneChangesRequest(zone: .defaultZone)
                _ = try bench.service.fetchZoneChanges(request, as: bench.caller(account), in: .public)
            }
            #expect(error.code == .serverRejectedRequest)
        }
        #expect(try bench.pageError(zone: ZoneAddress(zoneName: "None")).code == .zoneNotFound)
        let nobody = try thrown {
            let request = FetchZoneChangesRequest(zone: RecordBench.notes)
            _ = try bench.service.fetchZoneChanges(request, as: bench.caller(nil), in: .private)
        }
        #expect(nobody.code == .notAuthenticated)
        let token = try bench.page().token
        try bench.service.purgeZone(
            RecordBench.notes, of: bench.alice.id, in: RecordBench.container, reason: .purged)
        #expect(try bench.pageError(token).code == .userDeletedZone)
        try bench.makeNotes()
        try bench.service.purgeZone(
            RecordBench.notes, of: bench.alice.id, in: RecordBench.container, reason: .encryptedDataReset)
        let reset = try bench.pageError(token)
        #expect(reset.code == .zoneNotFound)
        #expect(reset.didResetEncryptedData)
    }

    @Test("[T-18] planned errors occur for a zone and for the request")
    func faults() throws {
        let bench = try RecordBench.forSharing()
        bench.faults.set { point in
            switch point {
            case .zone(RecordBench.notes, _, .fetchZoneChanges): CloudError(.zoneBusy, "busy")
            case .request(.fetchDatabaseChanges, _): CloudError(.networkFailure, "lost")
            default: nil
            }
        }
        #expect(try bench.pageError().code == .zoneBusy)
        #expect(try thrown { _ = try bench.zonePage() }.code == .networkFailure)
        bench.faults.set(nil)
        #expect(try !bench.page().isMoreComing)
        #expect(
            bench.events.value.suffix(3).map(\.kind) == [.fetchZoneChanges, .fetchDatabaseChanges, .fetchZoneChanges])
    }
}
