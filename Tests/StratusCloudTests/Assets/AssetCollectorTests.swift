// Sweeping all files, forgetting owners, and finding inconsistencies.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("collecting assets")
struct AssetCollectorTests {
    private let files = MemoryFiles()
    private let records = MemoryStore()
    private let fixture: AssetFixture

    init() throws {
        files.put([], at: "/store/marker")
        fixture = try AssetFixture(on: records, directory: "/store/assets", files: files)
    }

    private func put(_ number: Int) -> String {
        files.put(Array("content \(number)".utf8), at: "/in/\(number)")
        return "/in/\(number)"
    }

    private func path(of asset: AssetDescriptor, owner: UserName = AssetFixture.owner) -> String {
        "/store/assets/content/\(owner)/\(Hex.text([asset.digest[0]]))/\(Hex.text(asset.digest))"
    }

    @Test("[R-14] a sweep removes the contents that no record holds, and nothing else, from every earlier session")
    func sweep() throws {
        let kept = try (0..<40).map { try fixture.save(put($0)) }
        let lost = try (40..<80).map { try fixture.store.takeIn(path: put($0), owner: AssetFixture.owner) }
        let next = try AssetFixture(on: records, directory: "/store/assets", files: files)
        let report = try next.collector.sweep()
        #expect(report.filesSeen == 80)
        #expect(report.filesRemoved == 40)
        #expect(report.position == nil)
        for asset in kept { #expect(files.content(at: path(of: asset)) != nil) }
        for asset in lost { #expect(files.content(at: path(of: asset)) == nil) }
        #expect(try next.verifier.verify().findings.isEmpty)
    }

    @Test("a sweep that is interrupted after every directory covers everything in the end")
    func resuming() throws {
        for number in 0..<60 {
            let owner = UserName("_user\(number % 3)")
            if number.isMultiple(of: 2) {
                try fixture.save(put(number), owner: owner)
            } else {
                _ = try fixture.store.takeIn(path: put(number), owner: owner)
            }
        }
        fixture.clock.advance(seconds: 100)
        var (position, seen, removed, rounds) = (AssetSweepPosition?.none, 0, 0, 0)
        repeat {
            let report = try fixture.collector.sweep(from: position) { $0.filesSeen == 0 }
            (position, rounds) = (report.position, rounds + 1)
            seen += report.filesSeen
            removed += report.filesRemoved
        } while position != nil && rounds < 1_000
        #expect(seen == 60)
        #expect(removed == 30)
        #expect(rounds > 10)
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("a sweep ignores files that are not contents")
    func foreignNames() throws {
        let asset = try fixture.save(put(1))
        let digest = Hex.text(asset.digest)
        let names = [
            "/store/assets/content/_alice/00/notes.txt", "/store/assets/content/_alice/zz/\(digest)",
            "/store/assets/content/_alice/\(digest.prefix(2))/\(digest.uppercased())",
            "/store/assets/content/%5falice/\(digest.prefix(2))/\(digest)",
        ]
        for name in names { files.put([1], at: name) }
        let report = try fixture.collector.sweep()
        #expect(report.filesRemoved == 0)
        #expect(report.foreignNames == 4)
        for name in names { #expect(files.content(at: name) != nil) }
        let findings = try fixture.verifier.verify().findings
        #expect(findings.count == 4)
        #expect(findings.allSatisfy { $0.kind == .foreign })
    }

    @Test("a failed write of the store stops the collector, because it no longer knows what is committed")
    func unknownCommits() throws {
        let asset = try fixture.store.takeIn(path: put(1), owner: AssetFixture.owner)
        fixture.clock.advance(seconds: 100)
        records.close()
        #expect(throws: (any Error).self) { try fixture.collector.sweep() }
        #expect(files.content(at: path(of: asset)) != nil)
    }

    @Test("a purged owner leaves neither files nor ledger, and the other owners keep theirs")
    func forgetting() throws {
        let mine = try (0..<20).map { try fixture.save(put($0)) }
        let theirs = try (0..<20).map { try fixture.save(put($0), owner: "_bob") }
        try fixture.collector.forgetOwner(AssetFixture.owner)
        for asset in mine {
            #expect(try fixture.count(of: asset) == nil)
            #expect(files.content(at: path(of: asset)) == nil)
        }
        for asset in theirs { #expect(files.content(at: path(of: asset, owner: "_bob")) != nil) }
        #expect(try files.names(in: "/store/assets/content") == ["_bob"])
        #expect(try fixture.verifier.verify().findings.isEmpty)
        try fixture.collector.forgetOwner(AssetFixture.owner)
        try fixture.save(put(1))
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("the verifier finds a missing, a truncated, a changed and an orphaned content, each by name")
    func findings() throws {
        let assets = try (0..<4).map { try fixture.save(put($0)) }
        #expect(try fixture.verifier.verify().findings.isEmpty)
        try files.removeFile(path(of: assets[0]))
        files.put([1], at: path(of: assets[1]))
        files.put(Array("CONTENT 2".utf8), at: path(of: assets[2]))
        let orphan = try fixture.store.takeIn(path: put(9), owner: AssetFixture.owner)
        func key(_ asset: AssetDescriptor) -> AssetKey { AssetKey(owner: AssetFixture.owner, digest: asset.digest) }
        let expected: Set<AssetFinding> = [
            .missing(key(assets[0])), .damaged(key(assets[1])), .damaged(key(assets[2])), .orphaned(key(orphan)),
        ]
        #expect(Set(try fixture.verifier.verify().findings) == expected)
        let quick = Set(try fixture.verifier.verify(readsContents: false).findings)
        #expect(quick == expected.subtracting([.damaged(key(assets[2]))]))
    }

    @Test("each owner is visited once: with files and no ledger, with an empty directory, and with neither")
    func owners() throws {
        let empty = try fixture.save(put(1), owner: "_anne")
        try files.removeFile(path(of: empty, owner: "_anne"))
        let gone = try fixture.save(put(2), owner: "_zoe")
        try files.removeFile(path(of: gone, owner: "_zoe"))
        for name in try files.names(in: "/store/assets/content/_zoe") {
            try files.removeDirectory("/store/assets/content/_zoe/" + name)
        }
        try files.removeDirectory("/store/assets/content/_zoe")
        let orphan = try fixture.store.takeIn(path: put(3), owner: "_bob")
        try fixture.save(put(4), owner: "_carl")
        let report = try fixture.verifier.verify()
        let expected: Set<AssetFinding> = [
            .missing(AssetKey(owner: "_anne", digest: empty.digest)),
            .missing(AssetKey(owner: "_zoe", digest: gone.digest)),
            .orphaned(AssetKey(owner: "_bob", digest: orphan.digest)),
        ]
        #expect(Set(report.findings) == expected)
        #expect(report.findings.count == 3)
    }

    @Test(
        "if all contents are gone, each is named; of wrong counts, the first; stray files are still reported")
    func manyFindings() throws {
        let kept = VerifierReport<AssetFault>.maximumCount
        let count = kept + 20
        let assets = try (0..<count).map { try fixture.save(put($0)) }
        for asset in assets { try files.removeFile(path(of: asset)) }
        files.put([1], at: "/store/assets/content/notes.txt")
        let report = try fixture.verifier.verify()
        #expect(report.faultCount == count)
        #expect(report.strayCount == 1)
        #expect(report.findings.count == count + 1)
        #expect(report.unkeptCount == 0)
        #expect(report.findings.contains(.foreign(path: "/store/assets/content/notes.txt")))
        #expect(try fixture.verifier.verify() == report)
        // No record holds them.
        let all = try fixture.verifier.verifyCounts(addingTo: report) { $0.owner }
        #expect(all.faultCount == 2 * count)
        #expect(all.strayCount == 1)
        #expect(all.findings.count == count + kept + 1)
    }

    @Test("contents beyond what the collector can remember are found by another sweep in the same session")
    func overflow() throws {
        let store = AssetStore(
            directory: "/store/assets", session: AssetFixture.session, clock: fixture.clock, orphanCount: 3,
            files: files)
        let ledger = AssetLedger(store: store)
        let collector = AssetCollector(engine: fixture.engine, store: store)
        // The session's own sweep ends before.
        #expect(try collector.collect() == 0)
        let assets = try (0..<10).map { number in
            let asset = try store.takeIn(path: put(number), owner: AssetFixture.owner)
            let uptimeSeconds = fixture.clock.uptimeSeconds
            try fixture.engine.transact {
                try ledger.settle(
                    adding: [asset: 1], removing: [:], owner: AssetFixture.owner, atUptimeSeconds: uptimeSeconds,
                    in: $0)
            }
            store.release([asset], owner: AssetFixture.owner)
            return asset
        }
        func lose(_ assets: some Sequence<AssetDescriptor>) throws {
            for asset in assets {
                try fixture.engine.transact {
                    try ledger.settle(adding: [:], removing: [asset: 1], owner: AssetFixture.owner, in: $0)
                }
            }
        }
        try lose(assets[..<3])
        #expect(try collector.collect() == 3)
        let callCount = files.callCount
        #expect(try collector.collect() == 0)
        #expect(files.callCount == callCount)
        try lose(assets[3...])
        #expect(try collector.collect() == 7)
        #expect(try fixture.verifier.verify().findings == [])
        #expect(try collector.collect() == 0)
    }

    @Test("an interrupted sweep starts over if the collector lost track of contents behind it")
    func overflowBehindSweep() throws {
        let store = AssetStore(
            directory: "/store/assets", session: AssetFixture.session, clock: fixture.clock, orphanCount: 1,
            files: files)
        let collector = AssetCollector(engine: fixture.engine, store: store)
        for number in 0..<20 { _ = try fixture.save(put(number)) }
        var directories = 0
        #expect(
            try collector.collect {
                directories += 1
                return directories <= 15
            } == 0)
        // None of these is committed: all but one are forgotten when their leases are released.
        let lost = try (100..<150).map { try store.takeIn(path: put($0), owner: AssetFixture.owner) }
        store.release(lost, owner: AssetFixture.owner)
        #expect(try collector.collect() == 50)
        #expect(try fixture.verifier.verify().findings == [])
    }

    @Test("the verifier finds contents whose count differs from what records hold")
    func miscounts() throws {
        let asset = try fixture.save(put(1))
        let database = DatabaseID(container: "c", owner: AssetFixture.owner, scope: .private)
        let zone = ZoneID(database: database, name: "z")
        let stamp = Stamp(date: fixture.clock.now, user: AssetFixture.owner)
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
        func save(_ name: RecordName, _ asset: AssetDescriptor) throws {
            let record = Record(name: name, type: "T", fields: ["a": Field(.asset(asset))])
            try fixture.engine.transact { transaction in
                try transaction.createZone(zone, birth)
                try transaction.apply(MutationRequest([.save(record)], stamp: stamp, tagSalt: 1), in: zone)
            }
        }
        func setZoneCount(_ count: UInt64) throws {
            try fixture.engine.transact { transaction in
                let number = try #require(try transaction.databaseEntry(database)).number
                try transaction.set(
                    DatabaseKeys(number).zoneAssets(zone.name), to: CountEntry(count: count).encoded())
            }
        }
        try save("r", asset)
        #expect(
            try fixture.verifier.verifyCounts { $0.owner }.findings == [.zoneMiscounted(zone, counted: 0, held: 1)])
        try setZoneCount(1)
        #expect(try fixture.verifier.verifyCounts { $0.owner }.findings.isEmpty)
        try save("s", asset)
        try setZoneCount(2)
        let key = AssetKey(owner: AssetFixture.owner, digest: asset.digest)
        #expect(try fixture.verifier.verifyCounts { $0.owner }.findings == [.miscounted(key, counted: 1, held: 2)])
        #expect(try fixture.verifier.verifyCounts { _ in nil }.findings == [.miscounted(key, counted: 1, held: 0)])
    }

    @Test("many contents are compared a part at a time, and faults are found in every part")
    func miscountsInParts() throws {
        let database = DatabaseID(container: "c", owner: AssetFixture.owner, scope: .private)
        let zone = ZoneID(database: database, name: "z")
        let stamp = Stamp(date: fixture.clock.now, user: AssetFixture.owner)
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
        let assets = try (0..<40).map { try fixture.save(put($0)) }
        let saves = assets.enumerated().map { number, asset in
            // The first ten are held once more than they are counted, and the last five less often.
            Record(
                name: RecordName("r\(number)"), type: "T",
                fields: [
                    "a": Field(number < 35 ? .list([.asset(asset)] + (number < 10 ? [.asset(asset)] : [])) : .int64(0))
                ])
        }
        try fixture.engine.transact { transaction in
            try transaction.createZone(zone, birth)
            try transaction.apply(MutationRequest(saves.map { .save($0) }, stamp: stamp, tagSalt: 1), in: zone)
        }
        func found(_ verifier: AssetVerifier) throws -> Set<AssetFinding> {
            Set(try verifier.verifyCounts { $0.owner }.findings)
        }
        let whole = try found(fixture.verifier)
        for number in 0..<10 {
            let key = AssetKey(owner: AssetFixture.owner, digest: assets[number].digest)
            #expect(whole.contains(.miscounted(key, counted: 1, held: 2)))
        }
        for number in 35..<40 {
            let key = AssetKey(owner: AssetFixture.owner, digest: assets[number].digest)
            #expect(whole.contains(.miscounted(key, counted: 1, held: 0)))
        }
        #expect(whole.count == 16, "and the zone's own count")
        for count in [1, 3, 7, 39, 40] {
            let parts = AssetVerifier(
                engine: fixture.engine, store: fixture.store, comparedContentCount: count)
            #expect(try found(parts) == whole, "\(count) at a time")
        }
    }
}
