// Deleting a zone with assets: gone at once at a constant cost, its assets released afterwards, each once, whatever
// happens in between.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("assets of deleted zones")
struct ZoneReleaseTests {
    private static let notes = ReleaseBench.notes
    private static let photos = ReleaseBench.photos

    @Test("the release of assets reports progress for every record and tombstone, and continues with the rest")
    func progress() throws {
        let bench = try ReleaseBench(batchCount: 2)
        for zone in [Self.notes, Self.photos] { try bench.makeZone(zone) }
        try bench.save(0..<5, in: Self.notes)
        try bench.save(3..<6, in: Self.photos)
        for zone in [Self.notes, Self.photos] { try bench.deleteZone(zone) }
        func release(stoppingAt stop: Int) throws -> [[Int]] {
            var told: [[Int]] = []
            try bench.service.releaseAssets(
                UpkeepPace(pause: {}, shouldContinue: { told.last.map { $0[0] < stop } ?? true })
            ) { told.append([$0, $1]) }
            return told
        }
        let (first, second, third) = (
            try release(stoppingAt: 2), try release(stoppingAt: .max), try release(stoppingAt: .max)
        )
        #expect(first == [[0, 8], [2, 8]])
        #expect(second == [[0, 6], [2, 6], [3, 6], [5, 6], [6, 6]])
        #expect(third == [[0, 0]])
        #expect(try bench.heldCount() == 0)
        #expect(try bench.problems() == [])
    }

    @Test("records of deleted zones that still hold contents are counted page by page, each once")
    func verification() throws {
        let bench = try ReleaseBench(batchCount: 2)
        for zone in [Self.notes, Self.photos] { try bench.makeZone(zone) }
        try bench.save(0..<7, in: Self.notes)
        try bench.save(3..<6, in: Self.photos)
        for zone in [Self.notes, Self.photos] { try bench.deleteZone(zone) }
        var batchCount = 0
        try bench.service.releaseAssets(UpkeepPace(pause: {}, shouldContinue: { batchCount < 1 })) { done, _ in
            batchCount = done > 0 ? 1 : 0
        }
        let assets = try #require(bench.service.assets)
        let ledgerCount = try bench.service.engine.read { try $0.entryCount(in: GlobalKeys.keyspace(.assets)) }
        let left = try bench.service.engine.read { reader in
            try reader.releases().map { try reader.recordCount(of: $0) }
        }
        #expect(left.count == 2)
        #expect(left.reduce(0, +) == 8)
        for count in [1, 2, 3, 5, 8] {
            let verifier = AssetVerifier(engine: bench.service.engine, store: assets, releasedRecordsAtOnce: count)
            var told: [[Int]] = []
            let report = try verifier.verifyCounts(owner: CloudService.assetOwner) { told.append([$0, $1]) }
            #expect(report.findings == [], "\(count) \(told)")
            #expect(told.last == [ledgerCount + 8, ledgerCount + 8], "\(count) \(told)")
        }
    }

    @Test("counting a purge's work reports progress, and stops without removing anything if no caller waits for it")
    func counting() throws {
        let bench = try ReleaseBench()
        try bench.makeZone(Self.notes)
        for page in 0..<10 {
            let saves = (0..<250).map { RecordSave.new("r\(page)-\($0)", in: Self.notes, [:]) }
            let request = ModifyRecordsRequest(saves: saves, policy: .allKeys)
            _ = try bench.service.modifyRecords(request, as: bench.caller, in: .private)
        }
        try bench.deleteZone(Self.notes)
        /// The reported counts, and how many entries of how many were removed.
        func purge(stopsWhenCounted: Bool) throws -> (counts: [Int], removed: Int, total: Int?) {
            var told: [FreeingProgress] = []
            let pace = UpkeepPace(
                pause: {}, shouldContinue: { !stopsWhenCounted || told.allSatisfy { $0.part != .counting } })
            let progress = try bench.service.purge(pace) { told.append($0) }
            let counts = told.filter { $0.part == .counting }
            #expect(counts.allSatisfy { $0.totalCount == nil })
            return (
                counts.map(\.doneCount), progress.entriesDeleted, told.last { $0.part == .entries }?.totalCount
            )
        }
        let stopped = try purge(stopsWhenCounted: true)
        #expect(stopped.counts == [WorkCounter.tellingInterval])
        #expect(stopped.removed == 0)
        let whole = try purge(stopsWhenCounted: false)
        #expect(whole.removed > 2 * WorkCounter.tellingInterval)
        #expect(whole.removed == whole.total)
        let interval = WorkCounter.tellingInterval
        #expect(whole.counts == Array(stride(from: interval, through: whole.removed, by: interval)))
    }

    @Test("[Z-04][S-16] deleting a zone costs the same with 10 assets and with 2,000, and frees its quota at once")
    func cost() async throws {
        for purges in [false, true] {
            let costs = try await TestThreads.offPool {
                try [10, 2_000].map { try Self.costOfDeleting(assetCount: $0, purges: purges) }
            }
            #expect(costs[0] == costs[1])
            #expect(costs[0].reads < 60)
            #expect(costs[0].entriesWritten < 30)
        }
    }

    /// The store operations for deleting a zone, except the lengths of its counters.
    private static func costOfDeleting(assetCount: Int, purges: Bool) throws -> StoreCost {
        let bench = try ReleaseBench()
        try bench.makeZone(notes)
        try bench.save(0..<assetCount, in: notes)
        let before = bench.service.engine.store.statistics
        if purges {
            try bench.service.purgeZone(
                notes, of: bench.account.id, in: ReleaseBench.container, reason: .purged)
        } else {
            try bench.deleteZone(notes)
        }
        let after = bench.service.engine.store.statistics
        let commitCount = after.transactionsCommitted - before.transactionsCommitted
        let usage = try bench.service.usage(of: bench.account.userName)
        guard commitCount == 1, usage == 0, try bench.problems().isEmpty else {
            throw ConformanceFailure("\(commitCount) commits, usage \(usage), \(try bench.problems())")
        }
        var cost = after.cost - before.cost
        cost.bytesWritten = 0
        return cost
    }

    @Test(
        "[R-14] the contents of a deleted zone are released in batches, and every verifier passes before, between and after"
    )
    func batches() throws {
        let bench = try ReleaseBench(on: MemoryStore(runsBodiesTwice: true), batchCount: 7)
        try bench.makeZone(Self.photos)
        try bench.save(40..<60, in: Self.photos)
        // The first upkeep of a store records that it has checked its indexes.
        try bench.upkeep()
        let empty = try bench.entryCount()
        try bench.makeZone(Self.notes)
        try bench.save(0..<50, in: Self.notes)
        try bench.deleteZone(Self.notes)
        #expect(try bench.heldCount() == 70)
        #expect(try bench.problems() == [])
        var counts: [UInt64] = []
        var problems: [String] = []
        let progress = try bench.release(rest: {
            counts.append((try? bench.heldCount()) ?? 0)
            problems += (try? bench.problems()) ?? ["cannot be verified"]
        })
        #expect(counts == [63, 56, 49, 42, 35, 28, 21])
        #expect(problems == [])
        #expect(progress.assetsReleased == 50)
        #expect(progress.zonesFinished == 1)
        #expect(progress.commits == 8)
        #expect(try bench.heldCount() == 20)
        #expect(try bench.problems() == [])
        // The zone's place in its database's feed stays.
        try bench.upkeep()
        #expect(try bench.contentCount() == 20)
        #expect(try bench.service.verifyAssets() == [])
        #expect(try bench.entryCount() == empty + 1)
        #expect(try bench.release() == AssetReleaseProgress())
    }

    @Test("no key of a deleted zone is purged while its assets still count")
    func purgeWaits() throws {
        let bench = try ReleaseBench(batchCount: 5)
        try bench.makeZone(Self.notes)
        try bench.save(0..<20, in: Self.notes)
        try bench.deleteZone(Self.notes)
        var batchCount = 0
        try bench.release(shouldContinue: {
            batchCount += 1
            return batchCount <= 2
        })
        let before = try bench.entryCount()
        #expect(try bench.service.engine.purgeDeletedZones(pause: {}) == PurgeProgress())
        #expect(try bench.entryCount() == before)
        #expect(try bench.heldCount() == 10)
        try bench.release()
        #expect(try bench.service.engine.purgeDeletedZones(pause: {}).zonesFinished == 1)
        #expect(try bench.problems() == [])
    }

    @Test("if the process ends after any batch, the next one finishes, and each asset is counted once")
    func crashes() throws {
        for batchCount in 0...8 {
            let store = MemoryStore()
            let bench = try ReleaseBench(on: store, batchCount: 3)
            for zone in [Self.notes, Self.photos] { try bench.makeZone(zone) }
            try bench.save(0..<20, in: Self.notes)
            try bench.save(10..<30, in: Self.photos)
            try bench.deleteZone(Self.notes)
            var asked = 0
            try bench.upkeep {
                asked += 1
                return asked <= batchCount
            }
            let reopened = store.reopened()
            let next = try bench.next(on: reopened, batchCount: 4)
            #expect(try next.problems() == [], "after \(batchCount)")
            try next.upkeep()
            #expect(try next.heldCount() == 20, "after \(batchCount)")
            #expect(try next.contentCount() == 20, "after \(batchCount)")
            #expect(try next.service.verifyAssets() == [], "after \(batchCount)")
            #expect(try next.problems() == [], "after \(batchCount)")
        }
    }

    @Test("a zone recreated under the same name, with the same files, keeps its own while the old ones are released")
    func sameName() throws {
        let bench = try ReleaseBench(batchCount: 4)
        try bench.makeZone(Self.notes)
        try bench.save(0..<20, in: Self.notes)
        try bench.deleteZone(Self.notes)
        try bench.makeZone(Self.notes)
        try bench.save(0..<5, in: Self.notes)
        var step = 5
        try bench.release(rest: {
            // Saved, deleted and recreated between the batches.
            try? bench.save(step..<step + 1, in: Self.notes)
            step += 1
            if step == 7 {
                try? bench.deleteZone(Self.notes)
                try? bench.makeZone(Self.notes)
                try? bench.save(0..<3, in: Self.notes)
            }
        })
        #expect(step > 7)
        try bench.upkeep()
        let held = try bench.heldCount()
        #expect(held == UInt64(3 + step - 7))
        #expect(try bench.contentCount() == Int(held))
        #expect(try bench.problems() == [])
        #expect(try bench.service.verifyUsage(of: bench.account.userName).isExact)
    }

    @Test("two concurrent releases of the same zone release everything exactly once")
    func twice() throws {
        let bench = try ReleaseBench(batchCount: 3)
        for zone in [Self.notes, Self.photos] {
            try bench.makeZone(zone)
            try bench.save(0..<20, in: zone)
        }
        try bench.deleteZone(Self.notes)
        var rounds = 0
        try bench.release(rest: {
            rounds += 1
            guard rounds == 2 else { return }
            // The other takes some batches, and the rest of them after this one has continued.
            var asked = 0
            _ = try? bench.release(shouldContinue: {
                asked += 1
                return asked <= 2
            })
        })
        #expect(try bench.problems() == [])
        try bench.release()
        #expect(try bench.heldCount() == 20)
        #expect(try bench.problems() == [])
    }

    @Test("lists of assets, records in chunks and tombstones: all held contents are released, and nothing else")
    func shapes() throws {
        let bench = try ReleaseBench(batchCount: 2)
        try bench.makeZone(Self.notes)
        let long = Data(repeating: 1, count: 300_000)
        let files = (0..<6).map { ClientValue.asset(bench.file($0)) }
        let saves = [
            RecordSave.new("a", ["list": .list(files), "one": files[0]]),
            .new("b", ["long": .bytes(.init(long)), "one": files[1]]),
            .new("c"), .new("d", ["one": files[2]]), .new("e", ["one": files[3]]),
        ]
        for save in saves {
            let request = ModifyRecordsRequest(saves: [save])
            _ = try bench.service.modifyRecords(request, as: bench.caller, in: .private).saves[0].get()
        }
        let delete = ModifyRecordsRequest(deletes: [.note("d")])
        _ = try bench.service.modifyRecords(delete, as: bench.caller, in: .private).deletes[0].get()
        #expect(try bench.heldCount() == 9)
        try bench.deleteZone(Self.notes)
        #expect(try bench.problems() == [])
        #expect(try bench.release().assetsReleased == 9)
        #expect(try bench.heldCount() == 0)
        try bench.upkeep()
        #expect(try bench.contentCount() == 0)
    }

    @Test("deleting an account also releases what its deleted zones still counted")
    func departure() throws {
        let bench = try ReleaseBench(batchCount: 3)
        try bench.makeZone(Self.notes)
        try bench.save(0..<10, in: Self.notes)
        let other = try bench.service.createAccount(AccountDraft(externalID: "bob"))
        try bench.deleteZone(Self.notes)
        var asked = 0
        try bench.release(shouldContinue: {
            asked += 1
            return asked <= 2
        })
        try bench.service.deleteAccount(bench.account.id)
        #expect(try bench.heldCount() == 0)
        #expect(try bench.problems() == [])
        #expect(try bench.service.finishDepartures() == 0)
        #expect(try bench.contentCount() == 0)
        #expect(try bench.problems() == [])
        #expect(try bench.service.account(other.id) == other)
        let names = try bench.service.engine.read { try $0.databases().map(\.id.owner) }
        #expect(!names.contains(bench.account.userName))
    }

    @Test("a zone whose assets are counted too low stays and is reported; the others are still released")
    func damage() throws {
        let bench = try ReleaseBench()
        for zone in [Self.notes, Self.photos] { try bench.makeZone(zone) }
        try bench.save(0..<5, in: Self.notes)
        try bench.save(5..<10, in: Self.photos)
        let key = try bench.service.engine.read { reader in
            var first: [UInt8] = []
            let id = ZoneID(
                database: DatabaseID(
                    container: ReleaseBench.container, owner: bench.account.userName, scope: .private), name: "Notes")
            for (asset, _) in try reader.existingZone(id).record("r0")?.record.assets ?? [:] {
                first = GlobalKeys.asset(owner: bench.account.userName, digest: asset.digest)
            }
            return first
        }
        try bench.service.engine.transact { try $0.delete(key) }
        for zone in [Self.notes, Self.photos] { try bench.deleteZone(zone) }
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try bench.upkeep() }
            #expect(error?.code == .corruption)
            #expect(try bench.heldCount() == 4)
            let findings = try bench.service.verifyAssets().filter { $0.kind == .miscounted }
            #expect(findings.count == 1)
        }
        #expect(try bench.service.engine.read { try $0.releases().count } == 1)
    }
}
