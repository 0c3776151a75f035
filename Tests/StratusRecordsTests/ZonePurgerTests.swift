// What a purge does when the store is behind with its own work.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Purging deleted zones")
struct ZonePurgerTests {
    private let store: FaultInjectingStore
    private let engine: RecordEngine
    private static let pauseLimit = 5

    /// A store with one deleted zone of many small batches.
    init() throws {
        let sample = try SampleZone.filled()
        try sample.engine.transact { _ = try $0.deleteZone(sample.id) }
        store = FaultInjectingStore(try sample.copied())
        var options = RecordEngineOptions()
        options.limits.purgeBatchCount = 4
        options.limits.purgePauseCount = Self.pauseLimit
        engine = try RecordEngine(store: store, options: options, incarnation: UUID())
    }

    private func entryCount() throws -> Int {
        try store.read { reader in
            var count = 0
            try reader.scan(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))) { _, _ in
                count += 1
                return .next
            }
            return count
        }
    }

    @Test("it waits while the store is behind, deletes nothing meanwhile, and continues afterwards")
    func waits() throws {
        let before = try entryCount()
        store.setUnderWritePressure(true)
        var counts: [Int] = []
        let progress = try engine.purgeDeletedZones {
            counts.append((try? entryCount()) ?? -1)
            if counts.count == 3 { store.setUnderWritePressure(false) }
        }
        #expect(counts == [before, before, before])
        #expect(progress.pauses == 3)
        #expect(progress.zonesFinished == 1)
        #expect(try entryCount() == before - progress.entriesDeleted - 1)
        #expect(progress.entriesDeleted > 20)
    }

    @Test("it can be stopped while it waits, and another call continues")
    func endsWhileWaiting() throws {
        store.setUnderWritePressure(true)
        let progress = try engine.purgeDeletedZones(pause: {}, shouldContinue: { $0.pauses < 2 })
        #expect(progress.pauses == 2)
        #expect(progress.commits == 0)
        store.setUnderWritePressure(nil)
        #expect(try engine.purgeDeletedZones(pause: {}).zonesFinished == 1)
    }

    @Test("after each batch it pauses, so that it takes an eighth of the writers' time")
    func rests() throws {
        let clock = ContinuousClock()
        let began = clock.now
        var rests: [Double] = []
        let progress = try engine.purgeDeletedZones(pause: {}, rest: { rests.append($0) })
        let workedSeconds = (clock.now - began) / .seconds(1)
        #expect(rests.count == progress.commits)
        #expect(progress.commits > 5)
        #expect(rests.allSatisfy { $0 > 0 && $0 <= 0.25 })
        #expect(rests.reduce(0, +) <= 7 * workedSeconds)
    }

    @Test("it does not wait forever: after so many pauses in a row it tries a batch")
    func triesAllTheSame() throws {
        store.setUnderWritePressure(true)
        let progress = try engine.purgeDeletedZones(pause: {}, shouldContinue: { $0.pauses < 1_000 })
        #expect(progress.zonesFinished == 1)
        // Before each batch, and before the end is detected.
        #expect(progress.pauses == (progress.commits + 1) * Self.pauseLimit)
    }

    @Test("an error that blocks the store is thrown instead of waited for")
    func causeSurfaces() throws {
        store.setUnderWritePressure(true)
        store.arm(Fault(.commitNotApplied, at: 1, StoreError(.corruption, "A planned fault: compaction has stopped.")))
        var pauses = 0
        let error = #expect(throws: StoreError.self) {
            _ = try engine.purgeDeletedZones(pause: { pauses += 1 }, shouldContinue: { $0.pauses < 1_000 })
        }
        #expect(error?.code == .corruption)
        #expect(pauses == Self.pauseLimit)
    }
}
