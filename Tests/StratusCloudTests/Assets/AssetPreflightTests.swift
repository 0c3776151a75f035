// Refusals that do not depend on the files copy nothing.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("refusing before files are copied", .inBothPlaces)
struct AssetPreflightTests {
    /// A record in Notes with a file.
    private static func save(
        _ name: String, file: Int = 1, in zone: ZoneAddress = AssetTown.notes, parent: String? = nil,
        _ values: [String: ClientValue] = [:]
    ) -> RecordSave {
        .new(name, in: zone, parent: parent, values.merging(["file": .file(file)]) { own, _ in own })
    }

    @Test("[S-12][R-14] a missing zone copies no file, and its answer is the same as without files")
    func zone() throws {
        let town = try AssetTown()
        let request = ModifyRecordsRequest(saves: [Self.save("a"), .new("b")])
        let answer = try town.service.modifyRecords(request, as: town.caller(), in: .private)
        #expect(answer.saves.map(\.code) == [.zoneNotFound, .zoneNotFound])
        #expect(town.isUntouched)
    }

    @Test("[S-18] saving a record that another account created copies no file")
    func permission() throws {
        let town = try AssetTown()
        _ = try town.modify([.new("a", in: .defaultZone)], in: .public).saves[0].get()
        let answer = try town.modify([Self.save("a", in: .defaultZone)], by: town.bob, in: .public)
        #expect(answer.saves.map(\.code) == [.permissionFailure])
        #expect(town.isUntouched)
    }

    @Test(
        "[S-04][L-03] conflicts, oversized records and client claims copy no file; in an atomic zone neither do the other records"
    )
    func refusedItems() throws {
        let town = try AssetTown()
        try town.makeZones(AssetTown.notes)
        _ = try town.modify([.new("a")]).saves[0].get()
        var stale = Self.save("a")
        stale.baseTag = "x"
        let refused: [(RecordSave, CloudError.Code)] = [
            (stale, .serverRecordChanged),
            (Self.save("b", ["body": .bytes(.init([UInt8](repeating: 1, count: 1_100_000)))]), .limitExceeded),
            (Self.save("b", ["claimed": .asset(.missing)]), .assetFileNotFound),
            (Self.save("b", ["link": .link("x", in: AssetTown.other)]), .invalidArguments),
            (Self.save("b", ["file": .asset(.file(path: "/in/none"))]), .assetFileNotFound),
        ]
        for (save, code) in refused {
            let request = ModifyRecordsRequest(saves: [
                save, Self.save("c", file: 2), Self.save("d", parent: "missing"),
            ])
            let answer = try town.service.modifyRecords(request, as: town.caller(), in: .private)
            #expect(answer.saves.map(\.code) == [code, .batchRequestFailed, .referenceViolation])
            #expect(town.isUntouched, "\(code)")
        }
    }

    @Test("[A-05] without atomicity, only the files of records that are not refused are copied")
    func standingAlone() throws {
        let town = try AssetTown()
        try town.makeZones(AssetTown.notes, AssetTown.other)
        _ = try town.modify([.new("a")]).saves[0].get()
        let request = ModifyRecordsRequest(
            saves: [Self.save("a", file: 1), Self.save("b", file: 2), Self.save("c", file: 3, in: AssetTown.other)],
            isAtomic: false)
        let answer = try town.service.modifyRecords(request, as: town.caller(), in: .private)
        #expect(answer.saves.map(\.code) == [.serverRecordChanged, nil, nil])
        #expect(try town.contentCount() == 2)
        #expect(try town.service.verifyAssets().isEmpty)
    }

    @Test(
        "[S-16][R-11] a save over the quota in every order of the items copies no file, and a missing parent is still reported"
    )
    func quota() throws {
        let town = try AssetTown()
        try town.makeZones(AssetTown.notes)
        _ = try town.modify([.new("a")]).saves[0].get()
        _ = try town.service.changeAccount(town.alice.id) { $0.quotaByteCount = 250 }
        let atomic = try town.modify([Self.save("b"), .new("c"), Self.save("d", parent: "missing")])
        #expect(atomic.saves.map(\.code) == [.batchRequestFailed, .batchRequestFailed, .referenceViolation])
        let full = try town.modify([Self.save("b"), .new("c")])
        #expect(full.saves.map(\.code) == [.quotaExceeded, .quotaExceeded])
        #expect(town.isUntouched)
        let alone = try town.modify([Self.save("b"), .new("c")], atomic: false)
        #expect(alone.saves.map(\.code) == [.quotaExceeded, nil])
        #expect(town.isUntouched)
        #expect(try town.service.verifyUsage(of: town.alice.userName).isExact)
    }

    @Test("[S-16] quota freed by the same request counts: a deletion, or a smaller file replacing a larger one")
    func freed() throws {
        let town = try AssetTown()
        try town.makeZones(AssetTown.notes)
        _ = try town.modify([Self.save("a", file: 4), Self.save("b", file: 4)]).saves.map { try $0.get() }
        let usage = try town.service.usage(of: town.alice.userName)
        _ = try town.service.changeAccount(town.alice.id) { $0.quotaByteCount = usage }
        let swap = try town.modify([Self.save("c", file: 3)], deleting: [RecordSave.new("a").address])
        #expect(swap.saves[0].error == nil)
        #expect(swap.deletes[0].error == nil)
        #expect(
            try town.modify([Self.save("b", file: 1), Self.save("c", file: 4)]).saves.allSatisfy { $0.error == nil })
        #expect(try town.modify([Self.save("d")]).saves.map(\.code) == [.quotaExceeded])
        try town.service.collectAssets()
        #expect(try town.service.verifyAssets().isEmpty)
        #expect(try town.service.verifyUsage(of: town.alice.userName).isExact)
    }

    @Test(
        "[A-02][A-05] content that is no longer available is the error of the record that names it, and of no other",
        .onlyFiles)
    func endedLease() throws {
        for isAtomic in [true, false] {
            // Every lease has ended when its commit comes.
            let town = try AssetTown(leaseSeconds: -1)
            try town.makeZones(AssetTown.notes)
            let saves = [Self.save("a", file: 1), .new("b"), .new("c", parent: "missing")]
            let answer = try town.modify(saves, atomic: isAtomic)
            #expect(
                answer.saves.map(\.code) == [
                    .assetNotAvailable, isAtomic ? .batchRequestFailed : nil, .referenceViolation,
                ])
            let plain = try town.modify([Self.save("d", file: 2), .new("e")], deleting: [RecordSave.new("x").address])
            #expect(plain.saves.map(\.code) == [.assetNotAvailable, .batchRequestFailed])
            #expect(plain.deletes.map(\.code) == [.batchRequestFailed])
        }
    }
}
