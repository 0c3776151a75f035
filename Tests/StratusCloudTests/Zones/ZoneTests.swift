// Zones: creating, deleting, fetching, and what a host's purge leaves behind.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("zones")
struct ZoneTests {
    private func modify(
        _ bench: RecordBench, saving saves: [ClientZone] = [], deleting deletes: [ZoneAddress] = [],
        in database: DatabaseSelector = .private
    ) throws -> ModifyZonesResponse {
        try bench.service.modifyZones(
            ModifyZonesRequest(saves: saves, deletes: deletes), as: bench.caller(bench.alice), in: database)
    }

    private func fetch(
        _ bench: RecordBench, _ request: FetchZonesRequest, in database: DatabaseSelector = .private
    ) throws -> [(ZoneAddress, Result<ClientZone, CloudError>)] {
        try bench.service.fetchZones(request, as: bench.caller(bench.alice), in: database)
    }

    @Test("[Z-01] zones are created and deleted in private databases only; elsewhere it is badDatabase")
    func badDatabase() throws {
        let bench = try RecordBench()
        let zone = ClientZone(address: RecordBench.notes)
        for database in [DatabaseSelector.public, .shared] {
            #expect(try thrown { _ = try modify(bench, saving: [zone], in: database) }.code == .badDatabase)
        }
        #expect(try thrown { _ = try modify(bench, deleting: [RecordBench.notes], in: .public) }.code == .badDatabase)
        #expect(try modify(bench, deleting: [RecordBench.notes], in: .shared).deletes[0].code == .invalidArguments)
        #expect(try modify(bench, saving: [zone]).saves[0].error == nil)
    }

    @Test("[Z-02] custom zones have all capabilities, the default zone none")
    func capabilities() throws {
        let bench = try RecordBench()
        let saved = try modify(bench, saving: [ClientZone(address: RecordBench.notes)]).saves[0].get()
        #expect(saved.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        let zones = try fetch(bench, .named([RecordBench.notes, .defaultZone])).map { try $0.1.get() }
        #expect(zones.map(\.capabilities) == [saved.capabilities, []])
        #expect(try fetch(bench, .all, in: .public).map { try $0.1.get().capabilities } == [[]])
    }

    @Test("[Z-03] saving an existing zone succeeds, writes nothing, and keeps its records")
    func savingAgain() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"))
        let commits = bench.commitCount
        #expect(
            try modify(bench, saving: [ClientZone(address: RecordBench.notes), ClientZone(address: .defaultZone)])
                .saves.allSatisfy { $0.error == nil })
        #expect(bench.commitCount == commits)
        #expect(try bench.exists(.note("a")))
    }

    @Test("[Z-04] deleting a zone deletes its records; the default zone stays; an unknown one is zoneNotFound")
    func deleting() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let saved = try bench.save(.new("a"))[0]
        let answer = try modify(bench, deleting: [RecordBench.notes, .defaultZone, ZoneAddress(zoneName: "Other")])
        #expect(answer.deletes.map(\.code) == [nil, .invalidArguments, .zoneNotFound])
        #expect(bench.events.value.last?.commitCount == 1)
        #expect(try bench.fetch(.note("a")).code == .zoneNotFound)
        #expect(try bench.modify([.change(saved)]).saves[0].code == .zoneNotFound)
        try bench.makeNotes()
        #expect(try !bench.exists(.note("a")))
        #expect(try bench.modify([.change(saved)]).saves[0].code == .unknownItem)
    }

    @Test(
        "[Z-05] all zones include the default zone, even if never written; the shared database has only other people's")
    func all() throws {
        let bench = try RecordBench()
        #expect(try fetch(bench, .all).map(\.0) == [.defaultZone])
        try bench.makeNotes()
        try bench.makeZone(ZoneAddress(zoneName: "A"))
        try bench.save(.new("x", in: .defaultZone))
        #expect(try fetch(bench, .all).map(\.0.zoneName) == ["_defaultZone", "A", "Notes"])
        #expect(try fetch(bench, .all, in: .public).map(\.0) == [.defaultZone])
        #expect(try fetch(bench, .all, in: .shared).isEmpty)
        let named = try fetch(bench, .named([RecordBench.notes, ZoneAddress(zoneName: "None")]))
        #expect(named.map(\.1.code) == [nil, .zoneNotFound])
        #expect(try fetch(bench, .named([RecordBench.notes]), in: .public)[0].1.code == .zoneNotFound)
    }

    @Test("[Z-06] the encryption scope is stored, fixed when the zone is created, and deleted with the zone")
    func encryptionScope() throws {
        let bench = try RecordBench()
        let plain = ClientZone(address: ZoneAddress(zoneName: "Plain"))
        let sealed = ClientZone(address: RecordBench.notes, encryptionScope: .perZone)
        let saved = try modify(bench, saving: [sealed, plain]).saves.map { try $0.get() }
        #expect(saved.map(\.encryptionScope) == [.perZone, .perRecord])
        #expect(saved[0].capabilities == [.fetchChanges, .atomic, .zoneWideSharing])
        #expect(try fetch(bench, .named([RecordBench.notes]))[0].1.get() == saved[0])
        var other = plain
        other.encryptionScope = .perZone
        let changed = try modify(bench, saving: [ClientZone(address: RecordBench.notes), other])
        #expect(changed.saves.map(\.code) == [.serverRejectedRequest, .invalidArguments])
        #expect(try modify(bench, saving: [sealed]).saves[0].get() == saved[0])
        _ = try modify(bench, deleting: [RecordBench.notes])
        #expect(
            try modify(bench, saving: [ClientZone(address: RecordBench.notes)]).saves[0].get().encryptionScope
                == .perRecord)
    }

    @Test("[L-08] a zone name has 1 to 255 ASCII characters and does not begin with an underscore")
    func names() throws {
        let bench = try RecordBench(inMemory: true)
        let bad = ["", "_zone", "zöne", String(repeating: "z", count: 256)]
        let answer = try modify(bench, saving: bad.map { ClientZone(address: ZoneAddress(zoneName: $0)) })
        #expect(answer.saves.map(\.code) == bad.map { _ in .invalidArguments })
        for name in bad {
            #expect(try bench.modify([.new("a", in: ZoneAddress(zoneName: name))]).saves[0].code == .zoneNotFound)
            #expect(try fetch(bench, .named([ZoneAddress(zoneName: name)]))[0].1.code == .zoneNotFound)
        }
        for name in ["z", "a b/c", String(repeating: "z", count: 255)] {
            #expect(try modify(bench, saving: [ClientZone(address: ZoneAddress(zoneName: name))]).saves[0].error == nil)
        }
    }

    @Test("[L-06] a database has at most 1000 zones of its own")
    func zoneLimit() throws {
        let bench = try RecordBench(inMemory: true)
        for page in 0..<5 {
            let zones = (0..<200).map { ClientZone(address: ZoneAddress(zoneName: "z\(page)-\($0)")) }
            #expect(try modify(bench, saving: zones).saves.allSatisfy { $0.error == nil })
        }
        let over = try modify(bench, saving: [ClientZone(address: ZoneAddress(zoneName: "over"))])
        #expect(over.saves[0].code == .limitExceeded)
        #expect(try modify(bench, saving: [ClientZone(address: ZoneAddress(zoneName: "z0-0"))]).saves[0].error == nil)
        let swap = try modify(
            bench, saving: [ClientZone(address: ZoneAddress(zoneName: "over"))],
            deleting: [ZoneAddress(zoneName: "z0-0")])
        #expect(swap.saves[0].error == nil)
    }

    @Test("a zone named twice, or saved and deleted, fails the whole request")
    func duplicates() throws {
        let bench = try RecordBench(inMemory: true)
        let zone = ClientZone(address: RecordBench.notes)
        let own = ZoneAddress(zoneName: "Notes", ownerName: bench.alice.userName.text)
        #expect(try thrown { _ = try modify(bench, saving: [zone, zone]) }.code == .invalidArguments)
        #expect(try thrown { _ = try modify(bench, saving: [zone], deleting: [own]) }.code == .invalidArguments)
    }

    @Test(
        "[S-12][Z-07][Z-08] a purged zone is userDeletedZone, one with lost keys is zoneNotFound with the mark, until recreated"
    )
    func purged() throws {
        let bench = try RecordBench()
        let reset = ZoneAddress(zoneName: "Reset")
        try bench.makeNotes()
        try bench.makeZone(reset)
        try bench.save(.new("a"))
        for (zone, reason) in [(RecordBench.notes, HostPurgeReason.purged), (reset, .encryptedDataReset)] {
            try bench.service.purgeZone(zone, of: bench.alice.id, in: RecordBench.container, reason: reason)
        }
        let codes = [CloudError.Code.userDeletedZone, .zoneNotFound]
        let saves = try bench.modify([.new("a"), .new("a", in: reset)]).saves
        #expect(saves.map(\.code) == codes)
        #expect(saves.map { $0.error?.didResetEncryptedData } == [false, true])
        #expect(try bench.fetch(.note("a")).code == .userDeletedZone)
        let named = try fetch(bench, .named([RecordBench.notes, reset]))
        #expect(named.map(\.1.code) == codes)
        #expect(named[1].1.error?.didResetEncryptedData == true)
        #expect(try fetch(bench, .all).map(\.0) == [.defaultZone])
        #expect(try modify(bench, deleting: [RecordBench.notes]).deletes[0].code == .userDeletedZone)
        try bench.makeNotes()
        #expect(try bench.fetch(.note("a")).code == .unknownItem)
        #expect(
            try thrown {
                try bench.service.purgeZone(reset, of: bench.alice.id, in: RecordBench.container, reason: .purged)
            }.code == .zoneNotFound)
    }

    @Test("records, scopes and reasons survive reopening the store")
    func reopening() throws {
        let bench = try RecordBench()
        let gone = ZoneAddress(zoneName: "Gone")
        _ = try modify(
            bench,
            saving: [ClientZone(address: RecordBench.notes, encryptionScope: .perZone), ClientZone(address: gone)])
        let saved = try bench.save(.new("a", ["n": .int64(1)]), .new("b", parent: "a"))
        try bench.service.purgeZone(gone, of: bench.alice.id, in: RecordBench.container, reason: .purged)
        let service = try bench.reopened()
        defer { service.engine.store.close() }
        let caller = bench.caller(bench.alice)
        let fetch = FetchRecordsRequest(addresses: [.note("a"), .note("b"), RecordAddress(recordName: "a", zone: gone)])
        let records = try service.fetchRecords(fetch, as: caller, in: .private).records
        #expect(try records.prefix(2).map { try $0.get() } == saved)
        #expect(records[2].code == .userDeletedZone)
        let zones = try service.fetchZones(.named([RecordBench.notes]), as: caller, in: .private)
        #expect(try zones[0].1.get().encryptionScope == .perZone)
    }

    @Test("planned errors of zones occur in their position")
    func faults() throws {
        let bench = try RecordBench(inMemory: true)
        bench.faults.set {
            if case .zone(RecordBench.notes, _, _) = $0 { CloudError(.zoneBusy, "busy") } else { nil }
        }
        let zones = [ClientZone(address: RecordBench.notes), ClientZone(address: ZoneAddress(zoneName: "B"))]
        #expect(try modify(bench, saving: zones).saves.map(\.code) == [.zoneBusy, nil])
        #expect(
            try fetch(bench, .named([RecordBench.notes, ZoneAddress(zoneName: "B")])).map(\.1.code) == [.zoneBusy, nil])
    }
}
