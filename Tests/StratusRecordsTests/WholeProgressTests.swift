// The progress of verifying and rebuilding many zones: one total, which is predicted and reached.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("Progress of work on many zones")
struct WholeProgressTests {
    /// The reports, which never go back and stay within their total.
    private final class Told {
        private(set) var dones: [Int] = []
        private(set) var total: Int?

        func take(_ done: Int, _ total: Int) {
            #expect(done >= dones.last ?? 0)
            #expect(done <= total)
            #expect(self.total ?? total == total)
            dones.append(done)
            self.total = total
        }
    }

    /// A zone of samples with a history, and two more, one of them without records.
    private func filled() throws -> SampleZone {
        let sample = try SampleZone.filled()
        for name in ["empty", "small"] {
            let id = ZoneID(database: sample.id.database, name: ZoneName(name))
            let birth = ZoneBirth(
                identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
            try sample.engine.transact { try $0.createZone(id, birth) }
            guard name == "small" else { continue }
            let request = MutationRequest([.save("one"), .save("two")], stamp: SampleZone.stamp, tagSalt: 7)
            _ = try sample.engine.transact { try $0.apply(request, in: id) }
        }
        return sample
    }

    @Test("a verification's total is the number of databases, zones and records, and every step is reported")
    func verification() throws {
        let sample = try filled()
        let counts = try sample.engine.read { try $0.placeAndRecordCount() }
        #expect(counts.zones == 3)
        #expect(counts.records > 8)
        let told = Told()
        #expect(try sample.engine.verify(tellingEvery: 1, progress: told.take).isClean)
        #expect(told.total == counts.databases + 2 * counts.zones + counts.records)
        #expect(told.dones.last == told.total)
        // Of each record, and of many more entries, not only of zones.
        #expect(Set(told.dones).count > counts.records)
        let brief = Told()
        #expect(try sample.engine.verify(progress: brief.take).isClean)
        #expect(brief.dones.last == told.total)
        #expect(brief.dones.count < told.dones.count)
    }

    @Test("a verification also ends at its predicted total if a zone is unreadable or counted wrongly")
    func faults() throws {
        for count in [nil, 2, 1 << 62, UInt64(Int.max), .max] as [UInt64?] {
            let sample = try filled()
            // Of two zones, so that sums overflow if they can.
            for name in ["sample", "small"] { try plant(recordCount: count, in: ZoneName(name), of: sample) }
            let told = Told()
            #expect(try !sample.engine.verify(tellingEvery: 1, progress: told.take).isClean)
            #expect(told.dones.last == told.total)
        }
    }

    /// Changes a zone's header to count other than the zone contains; unreadable for nil.
    private func plant(recordCount: UInt64?, in name: ZoneName, of sample: SampleZone) throws {
        let id = ZoneID(database: sample.id.database, name: name)
        var (key, header) = try sample.engine.read { reader in
            let zone = try reader.existingZone(id)
            return (zone.keys.header(), try zone.header())
        }
        if let recordCount { header.recordCount = recordCount }
        let planted = recordCount == nil ? [0xFF] : header.encoded()
        try sample.store.transact { try $0.set(key, to: planted) }
    }

    @Test("a database without a header is reported once, and its zones are still verified")
    func lostDatabaseHeader() throws {
        let sample = try filled()
        // One more, without zones.
        let empty = DatabaseID(container: "c", owner: "bob", scope: .private)
        let zone = ZoneID(database: empty, name: "gone")
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try sample.engine.transact { try $0.createZone(zone, birth) }
        try sample.engine.transact { _ = try $0.deleteZone(zone) }
        for database in [sample.id.database, empty] {
            let entry = try #require(try sample.engine.read { try $0.databaseEntry(database) })
            try sample.store.transact { try $0.delete(DatabaseKeys(entry.number).header()) }
        }
        let told = Told()
        let report = try sample.engine.verify(progress: told.take)
        #expect(report.missingCount == 2, "\(report.findings)")
        #expect(report.danglingCount + report.wrongCount == 0, "\(report.findings)")
        #expect(report.zonesChecked == 3)
        #expect(told.dones.last == told.total)
    }

    /// The number of reports of a verification that reports everything.
    private func tellingCount(_ sample: SampleZone) throws -> Int {
        let told = Told()
        _ = try sample.engine.verify(tellingEvery: 1, progress: told.take)
        #expect(told.dones.last == told.total)
        return told.dones.count
    }

    @Test("a verification also reports tombstones, which are no records")
    func tombstones() throws {
        let counts = try [1, 30].map { count in
            let sample = try SampleZone()
            for number in 0..<count {
                let name = RecordName("gone-\(number)")
                try sample.apply(.save(name))
                try sample.apply(.delete(name))
            }
            return try tellingCount(sample)
        }
        // Each is looked at by itself, in the changes, and in the history of its place.
        #expect(counts[1] >= counts[0] + 3 * 29)
    }

    @Test("faults of a zone are searched and reported in that zone only")
    func lookingForFaults() throws {
        let sample = try filled()
        let sound = try tellingCount(sample)
        // Before the zone of samples, which has many entries.
        try plant(recordCount: 5, in: "empty", of: sample)
        let faultyBefore = try tellingCount(sample)
        try plant(recordCount: 5, in: "sample", of: sample)
        let faulty = try tellingCount(sample)
        #expect(faultyBefore < sound + 5, "\(sound), \(faultyBefore), \(faulty)")
        #expect(faulty > faultyBefore + 30, "\(sound), \(faultyBefore), \(faulty)")
    }

    @Test("steps take shares of a zone by weight, and a step without weight takes none")
    func weights() {
        var dones: [Int] = []
        let meter = ZoneMeter(WorkMeter(total: 21) { done, _ in dones.append(done) })
        meter.begin(recordCount: 9, weights: [1, 3, 0, 1])
        meter.update(step: 0, 1, of: 2)
        meter.update(step: 1, 2, of: 3)
        meter.update(step: 2, 5, of: 5)
        meter.update(step: 3, 0, of: 0)
        meter.end()
        #expect(dones == [0, 1, 6, 8, 10, 10])
        // No report goes back, or beyond the zone.
        meter.begin(recordCount: 9, weights: [2, 2])
        meter.update(step: 1, 1, of: 2)
        meter.update(step: 0, 1, of: 2)
        meter.update(step: 1, 9, of: 2)
        #expect(dones.dropFirst(6) == [17, 17, 20])
        meter.end()
        meter.begin()
        meter.end()
        #expect(dones.last == 21)
    }

    @Test("the rebuild of a zone is reported in steps of one piece of work")
    func rebuild() throws {
        let sample = try filled()
        let count = try sample.engine.read { try $0.existingZone(sample.id).recordBound() }
        let told = Told()
        let meter = ZoneMeter(WorkMeter(total: 1 + count, told.take))
        meter.beginRebuild(recordCount: count)
        try sample.engine.rebuild(sample.id, incarnation: UUID(), progress: meter.update)
        #expect(Set(told.dones).count >= RebuildProgress.Step.allCases.count - 1)
        #expect(told.dones.last == told.total)
    }
}
