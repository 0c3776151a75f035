// Verification must find every entry that is missing, dangling or wrong, and a rebuild must repair it.

import FoundationEssentials
import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Index verifier and rebuilder")
struct IndexVerifierTests {
    @Test("history before the horizon is not read, so an unreadable entry of it hides no findings")
    func unreadableExpiredHistory() throws {
        let sample = try SampleZone.filled()
        _ = try sample.engine.purgeHistory(of: sample.id, upTo: 5)
        let zone = try sample.keys()
        try sample.plant([0xFF], at: zone.endedParent(child: "alone", ended: 1))
        try sample.plant([0xFF], at: zone.endedShare(root: "alone", ended: 1))
        #expect(try sample.engine.verify().findings == [])
    }

    @Test("a zone written only by requests has no missing, dangling or wrong entries")
    func clean() throws {
        let sample = try SampleZone.filled()
        let report = try sample.engine.verify()
        #expect(report.isClean, "\(report.findings)")
        #expect(report.summary == "0 missing, 0 dangling, 0 wrong counts")
        #expect(report.recordsChecked == 8)
    }

    @Test(
        "a store that cannot be read ends the verification with its error, wherever reading fails",
        arguments: [
            StoreError(.inputOutput, "A planned fault: reading failed."),
            StoreError(.corruption, "A planned fault: a file is damaged.", damage: .files),
        ])
    func failedReads(error: StoreError) throws {
        let sample = try SampleZone.filled()
        let report = try FaultSweep.run(
            [.read, .scanStep], makeStore: { try sample.copied() }, error: { _ in error }
        ) {
            _ = try RecordEngine(store: $0, incarnation: UUID()).verify()
        } verify: { _, fault, thrown in
            #expect((thrown as? StoreError)?.with(fields: [:], cause: nil) == error, "\(fault)")
        }
        #expect(report.runCounts.values.allSatisfy { $0 > 10 })
    }

    @Test("every single index entry that disappears is found, and rebuilding writes it again")
    func everyMissingEntry() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        let before = try sample.entries()
        for entry in before {
            guard let keyspace = zone.keyspace(of: entry.key.span), !Self.isHistory(keyspace), keyspace != .header,
                keyspace != .records
            else { continue }
            try sample.plant(nil, at: entry.key)
            #expect(try !sample.engine.verify().isClean, "\(KeyDescription.text(of: entry.key))")
            try sample.engine.rebuild(sample.id, incarnation: UUID())
            let repaired = try sample.engine.verify()
            #expect(repaired.isClean, "\(KeyDescription.text(of: entry.key)): \(repaired.findings)")
            try sample.plant(entry.value, at: entry.key)
        }
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        let after = try sample.entries().filter { zone.keyspace(of: $0.key.span) != .header }
        #expect(after.map(\.key) == before.map(\.key).filter { zone.keyspace(of: $0.span) != .header })
    }

    @Test("a missing side of a link's history is found by the other side")
    func missingHistory() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        for entry in try sample.entries() {
            switch zone.keyspace(of: entry.key.span) {
            case .endedChildren: break
            case .endedParents where try EndedParentEntry(decoding: entry.value.span).parent != nil: break
            default: continue
            }
            try sample.plant(nil, at: entry.key)
            #expect(try !sample.engine.verify().isClean, "\(KeyDescription.text(of: entry.key))")
            try sample.plant(entry.value, at: entry.key)
        }
        #expect(try sample.engine.verify().isClean)
    }

    @Test("history that overlaps the current state is found: a parent, a time without one, a share")
    func historyAgainstNow() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        let (sequence, began) = try sample.engine.read { reader in
            let reader = try reader.existingZone(sample.id)
            let since = try ["moved", "shared"].map { (name: RecordName) in
                try reader.store.withValue(forKey: zone.parent(of: name)) { try ParentEntry(decoding: $0) }
            }
            return (try reader.header().sequence, (since[0]?.parentSince ?? 0, since[1]?.shareSince ?? 0))
        }
        // Each begins after everything that has ended, so that it contradicts nothing else.
        let planted: [([UInt8], [UInt8], twin: [UInt8]?)] = [
            (
                zone.endedParent(child: "moved", ended: sequence),
                EndedParentEntry(parent: nil, began: began.0).encoded(), nil
            ),
            (
                zone.endedParent(child: "moved", ended: sequence),
                EndedParentEntry(parent: "shared", began: began.0).encoded(),
                zone.endedChild(parent: "shared", child: "moved", ended: sequence)
            ),
            (
                zone.endedShare(root: "shared", ended: sequence),
                EndedShareEntry(share: "Share-0", began: began.1).encoded(), nil
            ),
        ]
        for (key, value, twin) in planted {
            try sample.plant(value, at: key)
            if let twin { try sample.plant(EndedPeriodEntry(began: began.0).encoded(), at: twin) }
            let report = try sample.engine.verify()
            #expect(report.findings.map(\.place) == [KeyDescription.text(of: key)], "\(report.findings)")
            try sample.plant(nil, at: key)
            if let twin { try sample.plant(nil, at: twin) }
        }
        #expect(try sample.engine.verify().isClean)
    }

    @Test("findings before a zone turns out to be unreadable are reported too")
    func findingsBeforeDamage() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        try sample.plant(nil, at: zone.type("Item", name: "alone"))
        try sample.plant([9, 9], at: zone.change(sequence: 1))
        let report = try sample.engine.verify()
        #expect(report.missingCount == 1, "\(report.findings)")
        #expect(report.recordsChecked == 8)
        #expect(report.findings.contains { $0.detail.hasPrefix("could not be verified to its end") })
    }

    private static func isHistory(_ keyspace: ZoneKeyspace) -> Bool {
        keyspace == .endedParents || keyspace == .endedChildren || keyspace == .endedShares
    }

    @Test("an orphaned entry is found in every keyspace, and rebuilding removes it")
    func dangling() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        let planted: [([UInt8], [UInt8])] = [
            (zone.parent(of: "ghost"), ParentEntry.top.encoded()),
            (zone.child(parent: "alone", name: "file"), ChildEntry(since: 1, hasChildren: false).encoded()),
            (zone.shareRoot("file"), ShareRootEntry(share: "S", since: 1).encoded()),
            (zone.shareCount(parent: nil, name: "alone"), CountEntry(count: 2).encoded()),
            (zone.shareCount(parent: "alone", name: "file"), CountEntry(count: 1).encoded()),
            (
                zone.reference(target: "top", source: "large", field: "x", action: .none),
                EmptyEntry().encoded()
            ),
            (zone.type("Ghost", name: "file"), EmptyEntry().encoded()),
            (zone.change(sequence: 1), ChangeEntry(name: "shared", kind: .saved(.unsaid)).encoded()),
            (zone.recordChunk("large", index: 9), try sample.chunk()),
            (zone.token("word", field: "x", name: "file"), EmptyEntry().encoded()),
        ]
        for (key, value) in planted {
            let old = try sample.store.read { try $0.value(forKey: key) }
            guard old == nil || old != value else { continue }
            try sample.plant(value, at: key)
            let report = try sample.engine.verify()
            #expect(!report.isClean, "\(KeyDescription.text(of: key))")
            try sample.engine.rebuild(sample.id, incarnation: UUID())
            let repaired = try sample.engine.verify()
            #expect(repaired.isClean, "\(KeyDescription.text(of: key)): \(repaired.findings)")
        }
    }

    @Test("a wrong value is found: a parent, a flag, a count, a sequence")
    func wrong() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        var node = ParentEntry.top
        node.hasChildren = true
        let planted: [([UInt8], [UInt8])] = [
            (zone.parent(of: "alone"), node.encoded()),
            (zone.shareCount(parent: nil, name: "top"), CountEntry(count: 5).encoded()),
            (zone.child(parent: "top", name: "other"), ChildEntry(since: 3, hasChildren: false).encoded()),
            (zone.shareRoot("shared"), ShareRootEntry(share: "Share-9", since: 4).encoded()),
        ]
        for (key, value) in planted {
            try sample.plant(value, at: key)
            #expect(try sample.engine.verify().wrongCount > 0, "\(KeyDescription.text(of: key))")
            try sample.engine.rebuild(sample.id, incarnation: UUID())
            let repaired = try sample.engine.verify()
            #expect(repaired.isClean, "\(KeyDescription.text(of: key)): \(repaired.findings)")
        }
    }

    @Test("the entry of a change that names another place than the record's is found; one that names none is as before")
    func wrongPlaces() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        let changes = try sample.engine.read { try $0.existingZone(sample.id).changes(after: 0) }
        let root = try #require(changes.first { $0.kind == .saved(.unsaid) })
        let other = try #require(changes.first { $0.kind != .saved(.unsaid) && !$0.kind.isDeletion })
        let planted: [(LatestWrite, ChangeEntry.SavedPlace, isWrong: Bool)] = [
            (root, .below(nil), true), (root, .below("top"), true), (other, .below("nobody"), true),
            (other, .unsaid, false),
        ]
        for (change, place, isWrong) in planted {
            let key = zone.change(sequence: change.sequence)
            let entry = ChangeEntry(name: change.name, kind: .saved(place))
            try sample.plant(entry.encoded(), at: key)
            #expect(try sample.engine.verify().wrongCount == (isWrong ? 1 : 0), "\(change.name): \(place)")
            try sample.plant(ChangeEntry(name: change.name, kind: change.kind).encoded(), at: key)
        }
        #expect(try sample.engine.verify().isClean)
    }

    @Test("a cycle planted on disk is found, although every entry agrees with its record")
    func cycle() throws {
        let sample = try SampleZone()
        try sample.apply(.save("a"), .save("b", under: "a"))
        let zone = try sample.keys()
        let a = try sample.engine.read { try $0.existingZone(sample.id).record("a") }
        var looped = try #require(a)
        looped.record.parent = "b"
        var value: [UInt8] = []
        try RecordCodec.encode(looped, into: &value)
        try sample.plant(value, at: zone.record("a"))
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        let report = try sample.engine.verify()
        #expect(report.findings.contains { $0.place.contains("hierarchy") }, "\(report.findings)")
    }

    @Test("a rebuild counts a share root beyond the depth limit on every ancestor")
    func deepRoot() throws {
        let sample = try SampleZone(depthLimit: 3)
        try sample.apply(.save("a"), .save("b", under: "a"), .save("c", under: "b"))
        try sample.apply(.save("x"), .save("y", under: "x"), .save("z", under: "y", share: "S"))
        try sample.apply(.save("x", under: "c"))
        #expect(try sample.engine.verify().isClean)
        let before = try sample.entries().map(\.key)
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        let report = try sample.engine.verify()
        #expect(report.isClean, "\(report.findings)")
        #expect(try sample.entries().map(\.key) == before)
    }

    @Test("a counter at its maximum, possible only by damage, is corruption, and nothing is written")
    func counterAtItsEnd() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        var header = try sample.engine.read { try $0.existingZone(sample.id).header() }
        header.sequence = .max
        try sample.plant(header.encoded(), at: zone.header())
        let before = try sample.entries().map(\.value)
        let error = #expect(throws: StoreError.self) { try sample.apply(.save("new")) }
        #expect(error?.code == .corruption)
        #expect(try sample.entries().map(\.value) == before)
    }

    @Test("keys of a zone that is not in the directory are found, those of a deleted zone are not")
    func orphanedZone() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        try sample.engine.transact { try $0.deleteZone(sample.id) }
        #expect(try sample.engine.verify().isClean)
        try sample.store.transact { try $0.delete(GlobalKeys.zone(zone.database, zone.zone, in: .purges)) }
        #expect(try sample.engine.verify().danglingCount == 1)
    }

    @Test("a cycle is found next to another fault")
    func cycleBesideFault() throws {
        let sample = try SampleZone()
        try sample.apply(.save("a"), .save("b", under: "a"), .save("c"))
        let zone = try sample.keys()
        var looped = try #require(try sample.engine.read { try $0.existingZone(sample.id).record("a") })
        looped.record.parent = "b"
        var value: [UInt8] = []
        try RecordCodec.encode(looped, into: &value)
        try sample.plant(value, at: zone.record("a"))
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        try sample.plant(nil, at: zone.type("Item", name: "c"))
        let report = try sample.engine.verify()
        #expect(report.missingCount == 1)
        #expect(report.findings.contains { $0.place.contains("hierarchy") }, "\(report.findings)")
    }

    @Test("a key of a database that is not in the directory is found")
    func foreignDatabase() throws {
        let sample = try SampleZone.filled()
        try sample.plant([1], at: DatabaseKeys(DatabaseNumber(99)).header())
        #expect(try sample.engine.verify().danglingCount == 1)
    }

    @Test("a damaged zone header is a finding, and the other zones are verified")
    func damagedHeader() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        let other = ZoneID(database: sample.id.database, name: "zz")
        let birth = ZoneBirth(
            identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try sample.engine.transact { try $0.createZone(other, birth) }
        try sample.plant([9, 9], at: zone.header())
        let report = try sample.engine.verify()
        #expect(report.wrongCount > 0)
        #expect(report.zonesChecked == 1)
    }

    @Test("duplicate or guessable identities are found: of zones, also deleted ones, databases, records")
    func identities() throws {
        let sample = try SampleZone.filled()
        let (owner, identity) = (
            sample.id.database.owner, try sample.engine.read { try $0.existingZone(sample.id).header().identity }
        )
        func create(_ zone: String, in container: ContainerName = "c", _ identity: UUID, _ database: UUID = UUID())
            throws
        {
            let id = ZoneID(
                database: DatabaseID(container: container, owner: owner, scope: .private), name: ZoneName(zone))
            let birth = ZoneBirth(
                identity: identity, incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: database)
            try sample.engine.transact { try $0.createZone(id, birth) }
        }
        func findings() throws -> [String] {
            let report = try sample.engine.verify()
            #expect(report.faultKinds == (report.isClean ? [] : [.identity]), "\(report.findings)")
            return report.findings.map(\.place)
        }
        #expect(try findings() == [])
        try create("twin", identity)
        #expect(try findings().map { $0.hasSuffix("\"sample\"") || $0.hasSuffix("\"twin\"") } == [true, true])
        try sample.engine.transact { [id = sample.id] in
            try $0.deleteZone(ZoneID(database: id.database, name: "twin"))
        }
        // Its remains are purged later.
        #expect(try findings().count == 2)
        try create("guessed", .withoutRandomness)
        #expect(try findings().count == 3)
        try create("z", in: "d", UUID(), .withoutRandomness)
        #expect(try findings().count == 4)
        try sample.apply(.save("00000000-0000-4000-8000-000000000000"), .save("00000000-0000-4000-8000-000000000001"))
        #expect(try findings().count == 5)
        try sample.engine.rebuild(sample.id, incarnation: .withoutRandomness)
        #expect(try findings().count == 6)
        try sample.engine.renewOwnIncarnation(to: .withoutRandomness)
        let report = try sample.engine.verify()
        #expect(report.summary == "0 missing, 0 dangling, 0 wrong counts, 7 repeated or predictable identities")
    }

    @Test("after a rebuild tokens from before it are expired")
    func tokensExpire() throws {
        let sample = try SampleZone.filled()
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        #expect(throws: StoreError.self) {
            try sample.engine.read { _ = try $0.existingZone(sample.id).changes(after: 2) }
        }
    }
}

extension IndexReport {
    fileprivate var faultKinds: Set<IndexFinding.Kind> { Set(findings.map(\.kind)) }
}

extension ParentEntry {
    fileprivate static var top: ParentEntry {
        ParentEntry(parent: nil, parentSince: 1, share: nil, shareSince: 0, hasChildren: false)
    }
}

extension SampleZone {
    /// The bytes of a later chunk of the large record.
    fileprivate func chunk() throws -> [UInt8] {
        let key = try keys().recordChunk("large", index: 1)
        return try store.read { try $0.value(forKey: key) } ?? []
    }
}
