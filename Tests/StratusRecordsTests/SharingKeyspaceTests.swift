// A zone's entries about shares, other than its records: no record accounts for them, so a rebuild leaves them alone;
// they are verified on their own; they are deleted with the zone, and ended ones with the history.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("the keyspaces of sharing")
struct SharingKeyspaceTests {
    private static let keyspaces: [ZoneKeyspace] = [.shareTokens, .shareEvents, .endedAcceptances]

    private static let token = ShareToken(bytes: [UInt8](repeating: 7, count: ShareToken.byteCount))

    private static func event(_ kind: ShareEventKind) -> [UInt8] {
        let event = ShareTrailEvent(
            date: SampleZone.stamp.date, actor: "alice", kind: kind, share: "Share-1", root: "shared")
        return ShareEventEntry(event).encoded()
    }

    /// Secrets of a shared and an unshared root, two events, and periods in which people saw a share.
    private static func sharingEntries(_ zone: ZoneKeys) throws -> [(key: [UInt8], value: [UInt8])] {
        let token = try #require(token)
        return [
            (zone.shareToken(nil), ShareTokenEntry(token: token).encoded()),
            (zone.shareToken("shared"), ShareTokenEntry(token: token).encoded()),
            (zone.shareEvent(sequence: 2, index: 0), event(.shared)),
            (zone.shareEvent(sequence: 2, index: 1), event(.joined)),
            (zone.endedAcceptance(user: "bob", ended: 5, share: "Share-1"), EndedPeriodEntry(began: 2).encoded()),
            (zone.endedAcceptance(user: "bob", ended: 8, share: "Share-1"), EndedPeriodEntry(began: 5).encoded()),
            (zone.endedAcceptance(user: "bob", ended: 8, share: "Share-2"), EndedPeriodEntry(began: 3).encoded()),
            (zone.endedAcceptance(user: "carol", ended: 4, share: "Share-1"), EndedPeriodEntry(began: 2).encoded()),
        ]
    }

    private static func filled() throws -> SampleZone {
        let sample = try SampleZone.filled()
        for entry in try sharingEntries(sample.keys()) { try sample.plant(entry.value, at: entry.key) }
        return sample
    }

    /// The contents of the keyspaces of sharing.
    private func kept(_ sample: SampleZone) throws -> [[UInt8]: [UInt8]] {
        let zone = try sample.keys()
        let entries = try sample.entries().filter { entry in
            zone.keyspace(of: entry.key.span).map { Self.keyspaces.contains($0) } ?? false
        }
        return Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
    }

    @Test("valid entries have no findings, and every entry is checked")
    func clean() throws {
        let (plain, sharing) = (try SampleZone.filled(), try Self.filled())
        let report = try sharing.engine.verify()
        #expect(report.isClean, "\(report.findings)")
        let count = try Self.sharingEntries(sharing.keys()).count
        #expect(try report.entriesChecked == plain.engine.verify().entriesChecked + count)
    }

    @Test("a rebuild leaves them unchanged, byte for byte")
    func rebuild() throws {
        let sample = try Self.filled()
        let before = try kept(sample)
        #expect(before.count == 8)
        try sample.plant(nil, at: sample.keys().type("Item", name: "alone"))
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        #expect(try kept(sample) == before)
        #expect(try sample.engine.verify().isClean)
    }

    @Test("unreadable, future and overlapping entries are found, at their keys and nowhere else")
    func faults() throws {
        let sample = try Self.filled()
        let zone = try sample.keys()
        let ended = { (time: UInt64) in zone.endedAcceptance(user: "bob", ended: time, share: "Share-1") }
        let planted: [(key: [UInt8], value: [UInt8])] = [
            (zone.shareToken("shared"), [1, 2, 3]),
            (zone.shareEvent(sequence: 2, index: 2), [1, 99]),
            (zone.shareEvent(sequence: 1_000, index: 0), Self.event(.stopped)),
            (ended(8), EndedPeriodEntry(began: 4).encoded()),
            (ended(9), EndedPeriodEntry(began: 9).encoded()),
            (ended(1_000), EndedPeriodEntry(began: 9).encoded()),
        ]
        for fault in planted {
            let sound = try kept(sample)[fault.key]
            try sample.plant(fault.value, at: fault.key)
            let report = try sample.engine.verify()
            #expect(report.findings.map(\.place) == [KeyDescription.text(of: fault.key)], "\(report.findings)")
            #expect(report.wrongCount == 1)
            try sample.plant(sound, at: fault.key)
        }
        try sample.plant([9], at: ended(8))
        #expect(try !sample.engine.verify().isClean)
        try sample.plant(EndedPeriodEntry(began: 5).encoded(), at: ended(8))
        #expect(try sample.engine.verify().isClean)
    }

    @Test("a purge of history removes people's ended entries, up to the horizon, and nothing else of shares")
    func history() throws {
        let sample = try Self.filled()
        let zone = try sample.keys()
        let before = try kept(sample)
        _ = try sample.engine.purgeHistory(of: sample.id, upTo: 5)
        let gone = Set(before.keys).subtracting(try kept(sample).keys)
        #expect(
            gone == [
                zone.endedAcceptance(user: "bob", ended: 5, share: "Share-1"),
                zone.endedAcceptance(user: "carol", ended: 4, share: "Share-1"),
            ])
        #expect(try sample.engine.verify().isClean)
        let sequence = try sample.engine.read { try $0.existingZone(sample.id).header().sequence }
        _ = try sample.engine.purgeHistory(of: sample.id, upTo: sequence)
        #expect(try kept(sample).count == 4)
    }

    @Test("overlaps before the horizon are ignored, and a rebuild leaves them to the purge")
    func behindHorizon() throws {
        let sample = try Self.filled()
        let key = try sample.keys().endedAcceptance(user: "bob", ended: 8, share: "Share-1")
        try sample.plant(EndedPeriodEntry(began: 1).encoded(), at: key)
        #expect(try !sample.engine.verify().isClean)
        try sample.engine.rebuild(sample.id, incarnation: UUID())
        #expect(try sample.engine.verify().isClean)
    }

    @Test("deleting a zone removes all of them")
    func zonePurge() throws {
        let sample = try Self.filled()
        let range = try sample.keys().all
        try sample.engine.transact { _ = try $0.deleteZone(sample.id) }
        _ = try sample.engine.purgeDeletedZones(pause: {})
        let count = try sample.store.read { reader in
            var count = 0
            try reader.scan(range) { _, _ in
                count += 1
                return .next
            }
            return count
        }
        #expect(count == 0)
    }
}
