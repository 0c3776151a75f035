// The quota that an owner's data uses, and what happens at the limit.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("quotas")
struct QuotaTests {
    private struct Home {
        let bench: AccountBench
        let account: StoredAccount
        let first: ZoneID
        let second: ZoneID

        init() throws {
            bench = try AccountBench()
            account = try bench.service.createAccount(.init())
            first = AccountBench.zone("first", of: account.userName)
            second = AccountBench.zone("second", of: account.userName, in: "iCloud.com.example.other")
            for zone in [first, second] {
                try bench.makeZone(zone, by: account.userName, in: bench.service.engine)
            }
        }

        func save(
            _ records: [Record], deleting deletes: [RecordName] = [], in zone: ZoneID, limit: Int64? = nil
        ) throws {
            try bench.save(records, deleting: deletes, in: zone, limit: limit, engine: bench.service.engine)
        }

        func usage() throws -> Int64 { try bench.service.usage(of: account.userName) }
        func report() throws -> UsageReport { try bench.service.verifyUsage(of: account.userName) }
    }

    private static func record(_ name: String, byteCount: Int, assetByteCount: Int64? = nil) -> Record {
        var record = Record(
            name: RecordName(name), type: "T", fields: ["b": Field(.bytes([UInt8](repeating: 1, count: byteCount)))])
        if let assetByteCount {
            let digest = [UInt8](repeating: 7, count: 32)
            record.fields["a"] = Field(.asset(AssetDescriptor(digest: digest, byteCount: assetByteCount)))
        }
        return record
    }

    @Test("[S-16] a write that would exceed its owner's quota is quotaExceeded, and none of it is written")
    func limit() throws {
        let home = try Home()
        let one = Self.record("a", byteCount: 1_000)
        let cost = QuotaLedger.byteCount(of: one)
        try home.save([one], in: home.first, limit: 2 * cost)
        try home.save([Self.record("b", byteCount: 1_000)], in: home.second, limit: 2 * cost)
        #expect(try home.usage() == 2 * cost)
        let error = cloudError { try home.save([Self.record("c", byteCount: 0)], in: home.first, limit: 2 * cost) }
        #expect(error?.code == .quotaExceeded)
        #expect(try home.usage() == 2 * cost)
        let found = try home.bench.service.engine.read { try $0.existingZone(home.first).record("c") }
        #expect(found == nil)
        // Over the limit already: growing is refused, shrinking and staying are not.
        let larger = Self.record("a", byteCount: 1_001)
        #expect(cloudError { try home.save([larger], in: home.first, limit: cost) }?.code == .quotaExceeded)
        try home.save([Self.record("a", byteCount: 999)], in: home.first, limit: cost)
        try home.save([Self.record("a", byteCount: 999)], in: home.first, limit: cost)
        try home.save([], deleting: ["b"], in: home.second, limit: 0)
        #expect(try home.usage() == cost - 1)
        #expect(try home.report().isExact)
    }

    @Test("assets are charged for every record that holds them, and no sum overflows")
    func assets() throws {
        let plain = QuotaLedger.byteCount(of: Self.record("a", byteCount: 0))
        let withAsset = QuotaLedger.byteCount(of: Self.record("a", byteCount: 0, assetByteCount: 1 << 40))
        #expect(withAsset == plain + (1 << 40) + 33)
        #expect(QuotaLedger.byteCount(of: Self.record("a", byteCount: 0, assetByteCount: .max)) == .max)
        #expect(QuotaLedger.byteCount(of: Self.record("a", byteCount: 0, assetByteCount: -5)) == plain + 33)
        let home = try Home()
        try home.save([Self.record("a", byteCount: 0, assetByteCount: 1 << 62)], in: home.first)
        try home.save([Self.record("b", byteCount: 0, assetByteCount: 1 << 62)], in: home.second)
        #expect(try home.usage() == .max)
    }

    @Test("the quota is the account's own, or else the store's")
    func ownLimit() throws {
        var options = CloudOptions()
        options.quotaByteCount = 500
        let bench = try AccountBench(options: options)
        let account = try bench.service.createAccount(.init())
        #expect(bench.service.quotaLimit(of: account) == 500)
        #expect(
            bench.service.quotaLimit(of: try bench.service.changeAccount(account.id) { $0.quotaByteCount = 9 }) == 9)
        #expect(
            bench.service.quotaLimit(of: try bench.service.changeAccount(account.id) { $0.quotaByteCount = nil }) == 500
        )
    }

    @Test("deleting a zone frees its quota without reading its records")
    func zoneDeletion() throws {
        let home = try Home()
        try home.save((0..<50).map { Self.record("r\($0)", byteCount: $0) }, in: home.first)
        try home.save([Self.record("a", byteCount: 10)], in: home.second)
        let kept = QuotaLedger.byteCount(of: Self.record("a", byteCount: 10))
        let service = home.bench.service
        let before = home.bench.store.statistics.cost
        try service.engine.transact { transaction in
            let identity = try transaction.existingZone(home.first).header().identity
            try QuotaLedger.release(zone: identity, of: home.account.userName, in: transaction)
            try transaction.deleteZone(home.first)
        }
        #expect(home.bench.store.statistics.cost.reads - before.reads < 40)
        #expect(try home.usage() == kept)
        #expect(try home.report().isExact)
        // A zone of the same name is another zone.
        try home.bench.makeZone(home.first, by: home.account.userName, in: service.engine)
        try home.save([Self.record("a", byteCount: 10)], in: home.first)
        #expect(try home.usage() == 2 * kept)
        #expect(try home.report().isExact)
    }

    @Test("usage equals the sum of the stored data after any history, from many threads, and after a restart")
    func histories() throws {
        let home = try Home()
        let seed = SplitMix64.announced("usage")
        try TestThreads.run(6) { thread in
            var random = seed.generator(forCase: thread)
            for _ in 0..<40 {
                let zone = random.element(of: [home.first, home.second])
                let names = Set((0..<random.below(4)).map { _ in "r\(random.below(20))" }).sorted()
                let saves = names.map { Self.record($0, byteCount: random.below(300)) }
                let deleted = (20..<40).map { "r\($0 - 10)" }.filter { !names.contains($0) }
                let deletes = random.isOne(in: 3) ? [RecordName(random.element(of: deleted))] : []
                do {
                    try home.save(saves, deleting: deletes, in: zone, limit: 6_000)
                } catch let error as CloudError where error.code == .quotaExceeded {}
            }
        }
        let report = try home.report()
        #expect(report.isExact)
        #expect(report.zones.count == 2)
        #expect(report.total.foundByteCount == (try home.usage()))
        #expect(try home.usage() <= 6_000)
        #expect(try home.usage() > 0)
        try home.bench.reopen()
        #expect(try home.report() == report)
    }

    @Test("a counter that is wrong is found")
    func wrongCounters() throws {
        let home = try Home()
        let owner = home.account.userName
        try home.save([Self.record("a", byteCount: 10)], in: home.first)
        let right = try home.usage()
        let service = home.bench.service
        /// Ends the transaction, so that the counter is right again.
        struct Planted: Error {}
        let faults: [(String, @Sendable (RecordTransaction) throws -> Void)] = [
            ("total", { try $0.set(GlobalKeys.usage(of: owner), to: UsageEntry(byteCount: 1).encoded()) }),
            ("total lost", { try $0.delete(GlobalKeys.usage(of: owner)) }),
            (
                "zone",
                { transaction in
                    let zone = try transaction.existingZone(home.first).header().identity
                    try transaction.set(
                        GlobalKeys.zoneUsage(of: owner, zone: zone), to: UsageEntry(byteCount: .max).encoded())
                }
            ),
            (
                "dead zone",
                { transaction in
                    let zone = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
                    try transaction.set(
                        GlobalKeys.zoneUsage(of: owner, zone: zone), to: UsageEntry(byteCount: 5).encoded())
                }
            ),
        ]
        for (name, plant) in faults {
            #expect(throws: Planted.self) {
                try service.engine.transact { transaction in
                    try plant(transaction)
                    let report = try QuotaLedger.verify(owner, in: transaction)
                    #expect(!report.isExact, "\(name)")
                    throw Planted()
                }
            }
            #expect(try home.report().isExact, "\(name)")
            #expect(try home.usage() == right)
        }
    }

    @Test("freeing more than is in use is an error and changes nothing")
    func underflow() throws {
        let home = try Home()
        try home.save([Self.record("a", byteCount: 10)], in: home.first)
        let usage = try home.usage()
        let error = cloudError {
            try home.bench.service.engine.transact { transaction in
                let zone = try transaction.existingZone(home.first).header().identity
                try QuotaLedger.charge(
                    byteCount: -usage - 1, to: home.account.userName, zone: zone, limit: nil, in: transaction)
            }
        }
        #expect(error?.code == .internalError)
        #expect(try home.usage() == usage)
    }
}
