// Contents of assets in the store: uploads, leases, what is removed when, and what a crash or another host leaves.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("contents of assets in the store")
struct StoredContentsTests {
    private static let owner = AssetFixture.owner

    private let scratch: AssetScratch
    private let clock = HandClock()
    private let memory: MemoryContents
    private let records: ContentsStore
    private let fixture: AssetFixture

    init() throws {
        let clock = clock
        scratch = try AssetScratch()
        memory = MemoryContents { UInt64(clock.uptimeSeconds * 1_000) }
        records = ContentsStore(TwiceRunningStore(MemoryStore()), memory)
        fixture = try AssetFixture(on: records, directory: scratch.path + "/assets", clock: clock)
    }

    /// Another process with the same store, after this one has died.
    private func reopened(files: any AssetFiles = SystemAssetFiles()) throws -> AssetFixture {
        try AssetFixture(on: records, directory: scratch.path + "/assets", files: files, clock: clock, session: UUID())
    }

    private func write(_ number: Int, byteCount: Int = 10) throws -> String {
        try scratch.write([UInt8](repeating: UInt8(number), count: byteCount), to: "\(number)")
    }

    private func entryCount(_ keyspace: GlobalKeyspace) throws -> Int {
        try fixture.engine.read { try $0.store.keys(in: GlobalKeys.keyspace(keyspace)).count }
    }

    private func name(of asset: AssetDescriptor) throws -> [UInt8] {
        try #require(
            try fixture.store.stored?.names(of: AssetKey(owner: Self.owner, digest: asset.digest)).first)
    }

    private func copy(of asset: AssetDescriptor) throws -> Data? {
        FileManager.default.contents(atPath: try fixture.store.privateCopy(of: asset, owner: Self.owner))
    }

    @Test("a large file is sent in commits of few parts, and copied part by part")
    func streaming() throws {
        let content = (0..<100_500).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
        let asset = try fixture.save(try scratch.write(content, to: "large"))
        #expect(memory.largestAppend == 16 * memory.partByteCount)
        #expect(try copy(of: asset) == Data(content))
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("a content that the store has is not sent again")
    func sentOnce() throws {
        let path = try write(1)
        try fixture.save(path)
        memory.fail(atAppend: 1, StoreError(.diskFull, "Nothing may be sent."))
        try fixture.save(path)
        #expect(memory.count == 1)
    }

    @Test("the transaction of a record writes the ledger's entry and nothing else")
    func writesOfRecord() throws {
        let asset = try fixture.store.takeIn(path: write(1), owner: Self.owner)
        let uptimeSeconds = clock.uptimeSeconds
        let cost = try fixture.engine.transact { transaction in
            try fixture.ledger.settle(
                adding: [asset: 1], removing: [:], owner: Self.owner, atUptimeSeconds: uptimeSeconds, in: transaction)
            return transaction.store.cost
        }
        #expect(cost.entriesWritten == 1)
        #expect(cost.reads == 2)
    }

    @Test("what a request has leased goes with the next collection after its end, and leaves no entry")
    func nothingStays() throws {
        let asset = try fixture.save(write(1))
        #expect(try entryCount(.uploads) == 1)
        #expect(try fixture.collector.collectOrphans() == 0)
        #expect(try entryCount(.uploads) == 0)
        try fixture.settle(removing: [asset])
        #expect(try entryCount(.collecting) == 1)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(try entryCount(.collecting) == 0)
        #expect(memory.count == 0)
    }

    @Test("[C-10] a file that changes between the two readings is assetFileModified, and nothing of it is kept")
    func modifiedBetween() throws {
        let path = try scratch.write([UInt8](repeating: 7, count: 600_000), to: "a")
        // Four reads for the digest, the last at the end of the file.
        let files = MeddlingFiles { read in
            guard read == 6 else { return }
            try? FileHandle(forWritingAtPath: path)?.write(contentsOf: Data([8]))
        }
        let fixture = try reopened(files: files)
        #expect(cloudErrorCode { try fixture.save(path) } == .assetFileModified)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(memory.count == 0)
        #expect(try entryCount(.uploads) == 0)
    }

    @Test("an upload for which the store has no room fails its file alone, with the remedy, and nothing of it stays")
    func noRoom() throws {
        let paths = [try write(1, byteCount: 40_000), try write(2)]
        memory.fail(atAppend: 2, StoreError(.diskFull, "The disk is full."))
        let results = fixture.store.takeIn(paths: paths, owner: Self.owner)
        let error = cloudError { _ = try results[0].get() }
        #expect(error?.code == .serviceUnavailable)
        #expect(error?.message.contains("the server's disk is full") == true)
        #expect(cloudErrorCode { try results[1].get() } == nil)
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(memory.count == 1)
    }

    @Test("two hosts that upload one content at once use different names, and one of them is removed")
    func twoUploads() throws {
        let path = try write(1)
        let other = try reopened()
        let asset = try fixture.store.takeIn(path: path, owner: Self.owner)
        #expect(try other.store.takeIn(path: path, owner: Self.owner) == asset)
        #expect(memory.count == 2)
        try fixture.settle(adding: [asset])
        fixture.store.release([asset], owner: Self.owner)
        try other.settle(adding: [asset])
        other.store.release([asset], owner: Self.owner)
        #expect(try fixture.collector.collectOrphans() + other.collector.collectOrphans() == 1)
        #expect(memory.count == 1)
        #expect(try fixture.count(of: asset) == 2)
        #expect(try copy(of: asset) == Data([UInt8](repeating: 1, count: 10)))
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("what a dead host has uploaded is removed when its leases have expired by the store's clock")
    func deadHost() throws {
        let kept = try fixture.save(write(1))
        _ = try fixture.store.takeIn(path: write(2), owner: Self.owner)
        let next = try reopened()
        #expect(try next.collector.collectOrphans() == 0)
        clock.advance(seconds: 61)
        #expect(try next.collector.collectOrphans() == 1)
        #expect(memory.count == 1)
        #expect(try entryCount(.uploads) == 0)
        #expect(try next.count(of: kept) == 1)
        #expect(try next.verifier.verify().findings.isEmpty)
    }

    @Test("a host whose lease was removed cannot commit, and a sweep finds parts that it has written since")
    func pausedHost() throws {
        let asset = try fixture.store.takeIn(path: write(1), owner: Self.owner)
        let name = try name(of: asset)
        clock.advance(seconds: 61)
        let next = try reopened()
        #expect(try next.collector.collectOrphans() == 1)
        try memory.append([[1]], from: 0, to: name)
        #expect(cloudErrorCode { try fixture.settle(adding: [asset]) } == .assetNotAvailable)
        #expect(try next.verifier.verify().strayCount == 1)
        #expect(try next.collector.collectOrphans() == 0)
        let report = try next.collector.sweep()
        #expect(report.filesSeen == 1)
        #expect(report.filesRemoved == 1)
        #expect(memory.count == 0)
    }

    @Test("a sweep that is interrupted after every page covers everything in the end, and removes nothing that is used")
    func resuming() throws {
        for number in 0..<3 { try fixture.save(write(number)) }
        try memory.append([[1]], from: 0, to: [0xFF])
        try memory.append([[1]], from: 0, to: GlobalKeys.operation("operation", 1))
        for number in 0..<600 {
            let parts = ContentKeyParts(
                owner: "_gone", digest: [UInt8(number & 255), UInt8(number >> 8)], upload: AssetFixture.session)
            try memory.append([[1]], from: 0, to: GlobalKeys.content(parts))
        }
        var (position, rounds, removed, foreign) = (AssetSweepPosition?.none, 0, 0, 0)
        repeat {
            var isFirst = true
            let report = try fixture.collector.sweep(from: position) { _ in
                defer { isFirst = false }
                return isFirst
            }
            (position, rounds) = (report.position, rounds + 1)
            removed += report.filesRemoved
            foreign += report.foreignNames
        } while position != nil && rounds < 100
        #expect(rounds == 3)
        #expect(removed == 600)
        #expect(foreign == 1)
        #expect(memory.count == 5)
    }

    @Test("leases are extended while an upload takes long")
    func renewal() throws {
        let clock = clock
        let path = try scratch.write([UInt8](repeating: 7, count: 1_200_000), to: "slow")
        let collector = fixture.collector
        let files = MeddlingFiles { _ in
            clock.advance(seconds: 20)
            try? _ = collector.collectOrphans()
        }
        let slow = try reopened(files: files)
        let asset = try slow.store.takeIn(path: path, owner: Self.owner)
        try slow.settle(adding: [asset])
        slow.store.release([asset], owner: Self.owner)
        #expect(try slow.collector.collectOrphans() == 0)
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("a content that is damaged or cut off is never returned, is found by name, and saving its file repairs it")
    func damage() throws {
        let paths = try (0..<4).map { try write($0, byteCount: 2_500) }
        let assets = try paths.map { try fixture.save($0) }
        memory.damage(1, of: try name(of: assets[0]), to: [UInt8](repeating: 9, count: 1_000))
        memory.damage(2, of: try name(of: assets[1]), to: nil)
        memory.damage(0, of: try name(of: assets[2]), to: nil)
        for asset in assets[..<3] { #expect(cloudErrorCode { try copy(of: asset) } == .assetNotAvailable) }
        func key(_ index: Int) -> AssetKey { AssetKey(owner: Self.owner, digest: assets[index].digest) }
        let quick: Set<AssetFinding> = [.damaged(key(1)), .missing(key(2))]
        #expect(Set(try fixture.verifier.verify(readsContents: false).findings) == quick)
        #expect(Set(try fixture.verifier.verify().findings) == quick.union([.damaged(key(0))]))
        for path in paths { try fixture.save(path) }
        for (number, asset) in assets.enumerated() {
            #expect(try copy(of: asset) == Data([UInt8](repeating: UInt8(number), count: 2_500)))
            #expect(try fixture.count(of: asset) == 2)
        }
        #expect(try fixture.collector.collectOrphans() == 3)
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("a deleted person's contents are removed with their leases, and others stay")
    func forgetting() throws {
        for number in 0..<5 { try fixture.save(write(number)) }
        _ = try fixture.store.takeIn(path: write(9), owner: Self.owner)
        let theirs = try fixture.save(write(1), owner: "_bob")
        #expect(try fixture.collector.fileCount(of: Self.owner) == 6)
        // The ledger goes first when an account is deleted.
        try fixture.engine.transact { transaction in
            for key in try transaction.store.keys(in: GlobalKeys.assets(of: Self.owner)) { try transaction.delete(key) }
        }
        try fixture.collector.forgetOwner(Self.owner)
        #expect(memory.count == 1)
        #expect(try fixture.count(of: theirs, owner: "_bob") == 1)
        #expect(try fixture.collector.collectOrphans() == 0)
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("the store has no file but the copies of clients")
    func noFiles() throws {
        let asset = try fixture.save(write(1))
        _ = try copy(of: asset)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/assets")
        #expect(names == ["copies"])
        #expect(try fixture.engine.read { try $0.store.keys(in: GlobalKeys.keyspace(.assets)).count } == 1)
    }

    @Test("a content that is removed, or named, between two snapshots of a verification is no finding")
    func verifyingMeanwhile() throws {
        let meddling = MeddlingContents(memory)
        let store = MeddledStore(wrapped: records, contents: meddling)
        let fixture = try AssetFixture(on: store, directory: scratch.path + "/assets", clock: clock)
        let removed = try fixture.save(write(1))
        meddling.afterNextNames {
            try fixture.settle(removing: [removed])
            #expect(try fixture.collector.collectOrphans() == 1)
        }
        let first = try fixture.verifier.verify()
        #expect(first.findings.isEmpty)
        #expect(first.strayCount == 0)
        let added = try fixture.store.takeIn(path: write(2), owner: Self.owner)
        meddling.afterNextParts(1) { try fixture.settle(adding: [added]) }
        let second = try fixture.verifier.verify()
        #expect(second.findings.isEmpty)
        #expect(second.strayCount == 0)
        #expect(!meddling.waits)
    }

    @Test("over a wire, a record's transaction makes one trip more for the lease")
    func trips() throws {
        let clock = clock
        let trips = TripStore()
        let store = ContentsStore(trips, MemoryContents { UInt64(clock.uptimeSeconds * 1_000) })
        let fixture = try AssetFixture(on: store, directory: scratch.path + "/wired", clock: clock)
        let asset = try fixture.store.takeIn(path: write(1), owner: Self.owner)
        let before = trips.statistics.trips
        try fixture.settle(adding: [asset])
        // The ledger, the lease, and the commit.
        #expect(trips.statistics.trips - before == 3)
        fixture.store.release([asset], owner: Self.owner)
        #expect(try fixture.collector.collectOrphans() == 0)
        try fixture.settle(removing: [asset])
        #expect(try fixture.collector.collectOrphans() == 1)
    }
}

/// Contents around which something happens.
private final class MeddlingContents: StoreContents {
    private struct State: Sendable {
        var afterNames: (@Sendable () throws -> Void)?
        var afterParts: (left: Int, action: @Sendable () throws -> Void)?
    }

    private let memory: MemoryContents
    private let state = Locked(State())

    init(_ memory: MemoryContents) { self.memory = memory }

    /// Whether something has not happened yet.
    var waits: Bool { state.withLock { $0.afterNames != nil || $0.afterParts != nil } }

    func afterNextNames(_ action: @escaping @Sendable () throws -> Void) { state.withLock { $0.afterNames = action } }

    /// Acts after so many parts have been read.
    func afterNextParts(_ count: Int, _ action: @escaping @Sendable () throws -> Void) {
        state.withLock { $0.afterParts = (count, action) }
    }

    var partByteCount: Int { memory.partByteCount }

    func append(_ parts: [[UInt8]], from index: Int, to name: [UInt8]) throws {
        try memory.append(parts, from: index, to: name)
    }

    func part(_ index: Int, of name: [UInt8]) throws -> [UInt8]? {
        let part = memory.part(index, of: name)
        let action = state.withLock { state -> (@Sendable () throws -> Void)? in
            guard let (left, action) = state.afterParts else { return nil }
            state.afterParts = left > 1 ? (left - 1, action) : nil
            return left > 1 ? nil : action
        }
        try action?()
        return part
    }

    func names(after name: [UInt8]?, limit: Int) throws -> [[UInt8]] {
        let names = memory.names(after: name, limit: limit)
        let action = state.withLock { state in
            defer { state.afterNames = nil }
            return state.afterNames
        }
        try action?()
        return names
    }

    func remove(_ name: [UInt8], limit: Int) -> Bool { memory.remove(name, limit: limit) }

    func milliseconds() -> UInt64 { memory.milliseconds() }
}

/// A store with these contents.
private final class MeddledStore: StoreWrapper {
    let wrapped: any OrderedStore
    let contents: (any StoreContents)?

    init(wrapped: any OrderedStore, contents: any StoreContents) { (self.wrapped, self.contents) = (wrapped, contents) }
}
