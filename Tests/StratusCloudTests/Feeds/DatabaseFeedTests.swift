// The feeds of databases: which zones changed, which were deleted, and why.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("feeds: databases")
struct DatabaseFeedTests {
    private static func zone(_ name: String) -> ZoneAddress { ZoneAddress(zoneName: name) }

    private static func delete(_ names: String..., in bench: RecordBench) throws {
        let request = ModifyZonesRequest(deletes: names.map { zone($0) })
        for result in try bench.service.modifyZones(request, as: bench.caller(bench.alice), in: .private).deletes {
            _ = try result.get()
        }
    }

    private static func save(_ name: String, in zone: String, _ bench: RecordBench) throws {
        try bench.save(.new(name, in: Self.zone(zone)))
    }

    @Test("[T-06][T-08][N-02] the private feed reports each changed zone once, and never the default zone")
    func changes() throws {
        let bench = try RecordBench()
        #expect(try bench.zonePage().changed.isEmpty)
        let empty = try bench.zonePage().token
        for name in ["A", "B", "C"] { try bench.makeZone(Self.zone(name)) }
        try bench.save(.new("r", in: .defaultZone))
        try Self.delete("B", in: bench)
        let first = try bench.zonePage()
        #expect(first.changed == [Self.zone("A"), Self.zone("C")])
        #expect(first.deleted.isEmpty)
        #expect(!first.isMoreComing)
        let later = try bench.zonePage(empty)
        #expect(Set(later.changed) == [Self.zone("A"), Self.zone("C")])
        #expect(later.deleted == [ZoneDeletion(zone: Self.zone("B"), reason: .deleted)])
        try Self.save("x", in: "C", bench)
        try Self.save("y", in: "A", bench)
        try Self.save("z", in: "C", bench)
        try bench.save(.new("s", in: .defaultZone))
        let second = try bench.zonePage(first.token)
        #expect(second.changed == [Self.zone("A"), Self.zone("C")])
        #expect(second.deleted.isEmpty)
        #expect(try bench.zonePage(second.token).changed.isEmpty)
    }

    @Test("[Z-07][Z-08][T-09] a deleted zone is reported with its reason, and a recreated zone is reported as changed")
    func deletions() throws {
        let bench = try RecordBench()
        for name in ["A", "B", "C", "D", "E"] { try bench.makeZone(Self.zone(name)) }
        let token = try bench.zonePage().token
        try Self.delete("A", "D", "E", in: bench)
        for (name, reason) in [("B", HostPurgeReason.purged), ("C", .encryptedDataReset)] {
            try bench.service.purgeZone(Self.zone(name), of: bench.alice.id, in: RecordBench.container, reason: reason)
        }
        try bench.makeZone(Self.zone("D"))
        try bench.makeZone(Self.zone("E"))
        try Self.delete("E", in: bench)
        let page = try bench.zonePage(token)
        #expect(page.changed == [Self.zone("D")])
        #expect(
            Set(page.deleted) == [
                ZoneDeletion(zone: Self.zone("A"), reason: .deleted),
                ZoneDeletion(zone: Self.zone("B"), reason: .purged),
                ZoneDeletion(zone: Self.zone("C"), reason: .encryptedDataReset),
                ZoneDeletion(zone: Self.zone("E"), reason: .deleted),
            ])
        #expect(page.deleted.count == 4)
    }

    @Test("[T-02] the public database has no feed of zones")
    func publicDatabase() throws {
        let bench = try RecordBench()
        for account in [bench.alice, nil] {
            let error = try thrown {
                _ = try bench.service.fetchDatabaseChanges(.init(), as: bench.caller(account), in: .public)
            }
            #expect(error.code == .badDatabase)
        }
        let error = try thrown {
            _ = try bench.service.fetchDatabaseChanges(.init(), as: bench.caller(nil), in: .shared)
        }
        #expect(error.code == .notAuthenticated)
    }

    @Test("[D-06][D-08][M-08][X-16] the shared feed reports zones as the caller gains and loses access to them")
    func shared() throws {
        let bench = try RecordBench.forSharing()
        let notes = bench.others()
        func page(_ token: [UInt8]?) throws -> FetchDatabaseChangesResponse {
            try bench.zonePage(token, by: bench.bob, in: .shared)
        }
        var token = try page(nil).token
        func expect(changed: Bool = false, deleted: Bool = false, sourceLocation: SourceLocation = #_sourceLocation)
            throws
        {
            let found = try page(token)
            #expect(found.changed == (changed ? [notes] : []), sourceLocation: sourceLocation)
            let gone = ZoneDeletion(zone: notes, reason: .deleted)
            #expect(found.deleted == (deleted ? [gone] : []), sourceLocation: sourceLocation)
            token = found.token
        }
        let one = try bench.share("one", as: "One", with: [.email("bob@example.com")])
        try expect()
        _ = try bench.accept(one, by: bench.bob).get()
        try expect(changed: true)
        try expect()
        let two = try bench.share("two", as: "Two", with: [.email("bob@example.com")])
        try expect(changed: true)
        _ = try bench.accept(two, by: bench.bob).get()
        try expect(changed: true)
        try bench.permit(bench.bob, nil, in: "One")
        try expect(changed: true)
        try bench.permit(bench.bob, ParticipantPermission.none, in: "Two")
        try expect(deleted: true)
        try expect()
        try bench.touch("two")
        try expect()
        try bench.permit(bench.bob, .readOnly, in: "Two")
        try expect(changed: true)
        // The participant does not learn the owner's reason.
        try bench.service.purgeZone(RecordBench.notes, of: bench.alice.id, in: RecordBench.container, reason: .purged)
        try expect(deleted: true)
        try bench.makeNotes()
        try expect()
        try bench.share("three", as: "Three", with: bench.bob, "bob@example.com")
        try expect(changed: true)
        #expect(try page(nil).changed == [notes])
    }

    @Test("[L-14][T-14] zones come in pages, each exactly once, however many change meanwhile")
    func pages() throws {
        let bench = try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false)
        let names = (0..<30).map { "Z\($0)" }
        for name in names {
            try bench.makeZone(Self.zone(name))
            let share = RecordSave.share(
                "Share", root: "r", with: [.email("bob@example.com")], in: Self.zone(name))
            let saved = try bench.modify([.new("r", in: Self.zone(name)), share]).saves[1].get()
            _ = try bench.service.acceptShares([saved.sharing?.url ?? ""], as: bench.caller(bench.bob))[0].get()
        }
        for (account, database) in [(bench.alice, DatabaseSelector.private), (bench.bob, .shared)] {
            var told: [String] = []
            var token: [UInt8]?
            var pageCount = 0
            while true {
                let page = try bench.zonePage(token, limit: 4, by: account, in: database)
                #expect(page.changed.count <= 4)
                #expect(page.deleted.isEmpty)
                told += page.changed.map(\.zoneName)
                token = page.token
                pageCount += 1
                guard page.isMoreComing else { break }
                // A busy zone does not delay the others.
                if pageCount < 12 { try Self.save("r\(account.userName)\(pageCount)", in: "Z0", bench) }
            }
            #expect(Set(told).isSuperset(of: names))
            #expect(told.filter { $0 != "Z0" && $0 != "Notes" }.count == 29)
        }
    }
}
