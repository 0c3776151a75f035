// Counting contents in the transactions of their records, and collecting unused ones.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("the ledger of assets", .inBothPlaces)
struct AssetLedgerTests {
    private let scratch: AssetScratch
    private let fixture: AssetFixture
    private let path: String

    init() throws {
        scratch = try AssetScratch()
        fixture = try AssetFixture(on: TwiceRunningStore(MemoryStore()), directory: scratch.path + "/assets")
        path = try scratch.write([1, 2, 3], to: "a")
    }

    private func fileCount() throws -> Int { try fixture.contentCount(in: scratch.path + "/assets") }

    @Test("[R-14] a content is counted once for each record, and collected with the last one")
    func counting() throws {
        let asset = try fixture.save(path)
        #expect(try fixture.save(path) == asset)
        #expect(try fixture.count(of: asset) == 2)
        try fixture.settle(removing: [asset])
        #expect(try fixture.count(of: asset) == 1)
        #expect(try fixture.collector.collectOrphans() == 0)
        #expect(try fileCount() == 1)
        try fixture.settle(removing: [asset])
        #expect(try fixture.count(of: asset) == nil)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(try fileCount() == 0)
        #expect(try fixture.collector.collectOrphans() == 0)
    }

    @Test("[R-14] setting a field to another file counts one up and one down; setting the same file counts nothing")
    func replacing() throws {
        let old = try fixture.save(path)
        let new = try fixture.store.takeIn(path: try scratch.write([4], to: "b"), owner: AssetFixture.owner)
        try fixture.settle(adding: [new], removing: [old])
        #expect(try fixture.count(of: old) == nil)
        #expect(try fixture.count(of: new) == 1)
        try fixture.settle(adding: [new, new], removing: [new, new])
        #expect(try fixture.count(of: new) == 1)
    }

    @Test("content that no record holds and no request has imported cannot be added")
    func withoutLease() throws {
        let asset = AssetDescriptor(digest: [UInt8](repeating: 9, count: 32), byteCount: 1)
        #expect(cloudErrorCode { try fixture.settle(adding: [asset]) } == .assetNotAvailable)
        #expect(try fixture.count(of: asset) == nil)
    }

    @Test("a lease belongs to one owner: another owner's content cannot be added by its digest")
    func otherOwner() throws {
        let asset = try fixture.save(path)
        #expect(cloudErrorCode { try fixture.settle(adding: [asset], owner: "_bob") } == .assetNotAvailable)
    }

    @Test("removing content more often than it is counted is corruption, and changes nothing")
    func corruption() throws {
        let asset = try fixture.save(path)
        do {
            try fixture.settle(removing: [asset, asset])
            Issue.record("the ledger went below zero")
        } catch let error as StoreError { #expect(error.code == .corruption) }
        #expect(try fixture.count(of: asset) == 1)
    }

    @Test("the content of a failed request can be collected at once")
    func failedRequest() throws {
        let asset = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        #expect(try fixture.collector.collectOrphans() == 0)
        fixture.store.release([asset], owner: AssetFixture.owner)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(try fileCount() == 0)
    }

    @Test("content of a running request is not collected; if the request never ends, its lease expires")
    func leases() throws {
        let asset = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        #expect(try fixture.collector.sweep().filesRemoved == 0)
        fixture.clock.advance(seconds: 59)
        #expect(try fixture.collector.sweep().filesRemoved == 0)
        fixture.clock.advance(seconds: 2)
        #expect(try fixture.collector.sweep().filesRemoved == 1)
        #expect(cloudErrorCode { try fixture.settle(adding: [asset]) } == .assetNotAvailable)
        #expect(
            cloudErrorCode { try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner) } == .assetNotAvailable
        )
    }

    @Test("content whose lease has expired goes with the next collection")
    func expiry() throws {
        _ = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        #expect(try fixture.collector.collectOrphans() == 0)
        fixture.clock.advance(seconds: 61)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(try fileCount() == 0)
    }

    @Test("content that was deleted while another request held it is collected when that request fails")
    func heldWhileDeleted() throws {
        let asset = try fixture.save(path)
        _ = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        try fixture.settle(removing: [asset])
        #expect(try fixture.collector.collectOrphans() == 0)
        fixture.store.release([asset], owner: AssetFixture.owner)
        #expect(try fixture.collector.collectOrphans() == 1)
    }

    @Test("a commit extends the lease it relies on")
    func renewal() throws {
        let asset = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        fixture.clock.advance(seconds: 59)
        let uptimeSeconds = fixture.clock.uptimeSeconds
        try fixture.engine.transact { transaction in
            try fixture.ledger.settle(
                adding: [asset: 1], removing: [:], owner: AssetFixture.owner, atUptimeSeconds: uptimeSeconds,
                in: transaction)
            fixture.clock.advance(seconds: 20)
        }
        #expect(try fixture.collector.sweep().filesRemoved == 0)
        #expect(try fixture.count(of: asset) == 1)
    }

    @Test(
        "a lease is judged by the time before the transaction, and never shortened by a commit with an earlier time",
        .onlyFiles)
    func drawnTime() throws {
        let (early, asset) = (
            fixture.clock.uptimeSeconds, try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        )
        func settle(adding count: Int, atUptimeSeconds uptimeSeconds: Double?) throws {
            try fixture.engine.transact { transaction in
                try fixture.ledger.settle(
                    adding: count > 0 ? [asset: count] : [:], removing: count < 0 ? [asset: -count] : [:],
                    owner: AssetFixture.owner, atUptimeSeconds: uptimeSeconds, in: transaction)
            }
        }
        fixture.clock.advance(seconds: 50)
        _ = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        try settle(adding: 1, atUptimeSeconds: early)
        try settle(adding: -1, atUptimeSeconds: nil)
        // The second lease ends at 110, whatever the first one's commit drew.
        fixture.clock.advance(seconds: 55)
        #expect(try fixture.collector.sweep().filesRemoved == 0)
        fixture.clock.advance(seconds: 30)
        let drawn = fixture.clock.uptimeSeconds
        #expect(cloudErrorCode { try settle(adding: 1, atUptimeSeconds: drawn) } == .assetNotAvailable)
        #expect(cloudErrorCode { try settle(adding: 1, atUptimeSeconds: nil) } == .assetNotAvailable)
        try settle(adding: 1, atUptimeSeconds: early)
    }

    @Test("missing content is detected before anything is written")
    func unavailable() throws {
        let held = try fixture.save(path)
        let leased = try fixture.store.takeIn(path: try scratch.write([9], to: "other"), owner: AssetFixture.owner)
        let gone = AssetDescriptor(digest: [UInt8](repeating: 9, count: 32), byteCount: 1)
        let uptimeSeconds = fixture.clock.uptimeSeconds
        func unavailable(at uptimeSeconds: Double) throws -> Set<[UInt8]> {
            try fixture.engine.transact { transaction in
                try fixture.ledger.unavailable(
                    adding: [held: 1, leased: 1, gone: 2], removing: [gone: 1], owner: AssetFixture.owner,
                    atUptimeSeconds: uptimeSeconds, in: transaction)
            }
        }
        #expect(try unavailable(at: uptimeSeconds) == [gone.digest])
        // In the store, a lease lasts until the collector has removed it.
        let isInStore = ContentPlace.current == .store
        #expect(try unavailable(at: uptimeSeconds + 61) == (isInStore ? [gone.digest] : [gone.digest, leased.digest]))
        fixture.clock.advance(seconds: 61)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(try unavailable(at: fixture.clock.uptimeSeconds) == [gone.digest, leased.digest])
        #expect(try fixture.count(of: held) == 1)
        #expect(try fixture.count(of: leased) == nil)
    }

    @Test("the end of one request does not end another's lease of the same content")
    func twoHolders() throws {
        let asset = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        _ = try fixture.store.takeIn(path: path, owner: AssetFixture.owner)
        fixture.store.release([asset], owner: AssetFixture.owner)
        #expect(try fixture.collector.sweep().filesRemoved == 0)
        #expect(try fixture.collector.collectOrphans() == 0)
        try fixture.settle(adding: [asset])
        fixture.store.release([asset], owner: AssetFixture.owner)
        #expect(try fixture.collector.sweep().filesRemoved == 0)
    }

    @Test("a record's contents are those of its fields and of its lists, each counted as often as it is held")
    func contentsOfRecord() {
        let (a, b) = (AssetDescriptor(digest: [1], byteCount: 1), AssetDescriptor(digest: [2], byteCount: 2))
        let record = Record(
            name: "r", type: "T",
            fields: [
                "one": Field(.asset(a)), "many": Field(.list([.asset(a), .asset(b)])), "text": Field(.string("x")),
                "none": Field(.list([])),
            ])
        #expect(record.assets == [a: 2, b: 1])
    }
}
