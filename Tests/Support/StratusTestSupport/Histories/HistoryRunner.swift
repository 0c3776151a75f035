// Carries a history out on an engine and on the oracle side by side, and compares every answer after every step.

import StratusModel
import StratusRecords
package import StratusStore

/// One run of one history. The first answer that differs from the oracle's ends it.
package final class HistoryRunner {
    /// The engine's limit of items in a request: small, so that drawn requests are sometimes over it.
    package static let requestItemLimit = 20
    /// The number of snapshots held at once.
    private static let maximumPinCount = 3
    /// At this interval of steps every token is used; after the others some.
    private static let stepsBetweenThoroughChecks = 50

    /// A held snapshot, and the state it must show.
    struct Pin {
        let reader: RecordReader
        let oracle: OracleStore
    }

    let history: History
    let subject: HistorySubject
    let oracleFault: OracleFault?
    let limits: OracleLimits
    let place: any HistoryPlace
    var engine: RecordEngine
    var oracle = OracleStore()
    var births = 0
    var usedTags: Set<String> = []
    var answers: [HistoryAnswer] = []
    private var pins: [Pin] = []
    private(set) var stepIndex = 0

    private init(_ history: History, _ subject: HistorySubject, _ oracleFault: OracleFault?) throws {
        self.history = history
        self.subject = subject
        self.oracleFault = oracleFault
        limits = OracleLimits(depth: history.depthLimit, itemCount: Self.requestItemLimit)
        place = try subject.makePlace()
        engine = try Self.openEngine(place, subject, limits)
    }

    /// Runs `history`; nil when every answer was the oracle's.
    package static func failure(
        of history: History, on subject: HistorySubject, oracleFault: OracleFault? = nil
    ) -> HistoryFailure? {
        var runner: HistoryRunner?
        defer {
            runner?.engine.store.close()
            runner?.place.remove()
        }
        do {
            runner = try HistoryRunner(history, subject, oracleFault)
            try runner?.run(0..<history.steps.count)
            return nil
        } catch {
            return HistoryFailure("step \((runner?.stepIndex ?? 0) + 1) on \(subject): \(error)")
        }
    }

    /// Runs `history`, and returns what it answered and what it left. `plant` may change the store before that.
    /// Throws `HistoryFailure` if an answer was not the oracle's.
    package static func run(
        _ history: History, on subject: HistorySubject, plant: (any OrderedStore) throws -> Void = { _ in }
    ) throws -> HistoryRun {
        let runner = try HistoryRunner(history, subject, nil)
        defer {
            runner.engine.store.close()
            runner.place.remove()
        }
        do { try runner.run(0..<history.steps.count) } catch {
            throw HistoryFailure("step \(runner.stepIndex + 1) on \(subject): \(error)")
        }
        try plant(runner.engine.store)
        return HistoryRun(answers: runner.answers, entries: try NamedEntries(of: runner.engine.store))
    }

    private static func openEngine(
        _ place: any HistoryPlace, _ subject: HistorySubject, _ limits: OracleLimits
    ) throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = subject.ancestorCacheByteCount
        options.limits.hierarchyDepth = limits.depth
        options.limits.requestItemCount = limits.itemCount
        options.limits.purgeBatchCount = 7
        return try RecordEngine(
            store: place.open(), options: options, incarnation: HistoryContent.identity(1_000_000))
    }

    private func run(_ steps: Range<Int>) throws {
        var index = steps.lowerBound
        while index < steps.upperBound {
            stepIndex = index
            if case .pin(let count) = history.steps[index], pins.count < Self.maximumPinCount {
                let end = min(index + 1 + max(0, count), steps.upperBound)
                try engine.read { reader in
                    // A snapshot is taken at the first read at the latest.
                    _ = try reader.containers()
                    let pin = Pin(reader: reader, oracle: oracle)
                    pins.append(pin)
                    try run(index + 1..<end)
                    pins.removeLast()
                    try check(reader, pin.oracle, isThorough: false, onlyZone: nil)
                }
                index = end
            } else {
                let touchedZone = try carryOut(history.steps[index])
                try checkAfterStep(isLast: index + 1 == history.steps.count, touchedZone: touchedZone)
                index += 1
            }
        }
    }

    /// Returns the only zone that can have changed; nil if it is unknown.
    private func carryOut(_ step: HistoryStep) throws -> Int? {
        switch step {
        case .createZone(let zone): try createZone(HistoryContent.zones[zone])
        case .deleteZone(let zone):
            let id = HistoryContent.zones[zone]
            let wasDeleted = try engine.transact { try $0.deleteZone(id) }
            try expectEqual(wasDeleted, oracle.deleteZone(id), "whether there was a zone to delete")
        case .commit(let commit):
            try self.commit(commit)
            return commit.requests.count == 1 ? commit.requests[0].zone : nil
        case .reopen:
            // A store cannot be closed while its snapshots are held.
            guard pins.isEmpty else { return nil }
            engine.store.close()
            engine = try Self.openEngine(place, subject, limits)
        case .compact: try place.compact()
        case .purgeHistory(let zone, let keep):
            try purgeHistory(HistoryContent.zones[zone], keep: UInt64(max(0, keep)))
            return zone
        case .purgeZones(let commits):
            _ = try engine.purgeDeletedZones(pause: {}, shouldContinue: { $0.commits < commits })
        case .pin: break
        }
        return nil
    }

    private func createZone(_ id: ZoneID) throws {
        births += 1
        let wasCreated = try engine.transact { try $0.createZone(id, HistoryContent.birth(births)) }
        try expectEqual(wasCreated, oracle.createZone(id, birth: births), "whether the zone was created")
    }

    private func purgeHistory(_ id: ZoneID, keep: UInt64) throws {
        guard let sequence = oracle.zones[id]?.sequence else { return }
        let upTo = sequence > keep ? sequence - keep : 0
        _ = try engine.purgeHistory(of: id, upTo: upTo)
        oracle.zones[id]?.purge(upTo: upTo)
    }

    // MARK: Checking

    private func checkAfterStep(isLast: Bool, touchedZone: Int?) throws {
        let isThorough = isLast || stepIndex % Self.stepsBetweenThoroughChecks == 0
        try engine.read { reader in
            try check(reader, oracle, isThorough: isThorough, onlyZone: isThorough ? nil : touchedZone)
        }
        for pin in pins { try checkPlaces(pin) }
        try verifyIndexes()
    }

    func check(_ reader: RecordReader, _ state: OracleStore, isThorough: Bool, onlyZone: Int?) throws {
        try checkDirectory(reader, state)
        for (index, id) in HistoryContent.zones.enumerated() {
            guard onlyZone == nil || onlyZone == index else { continue }
            let zone = try reader.zone(id)
            try expectEqual(zone != nil, state.zones[id] != nil, "whether zone \(index) exists")
            guard let zone, let oracleZone = state.zones[id] else { continue }
            var checker = ZoneChecker(zone, oracleZone, depthLimit: limits.depth, seed: UInt64(stepIndex))
            try checker.checkAll(isThorough: isThorough)
        }
    }

    /// Reads only places from a held snapshot: what a cache could get wrong.
    private func checkPlaces(_ pin: Pin) throws {
        for (id, oracleZone) in pin.oracle.zones {
            guard let zone = try pin.reader.zone(id) else { throw HistoryFailure("a held snapshot lost a zone") }
            let checker = ZoneChecker(zone, oracleZone, depthLimit: limits.depth, seed: 0)
            for name in checker.names {
                do {
                    try checker.checkPlace(name)
                } catch {
                    throw HistoryFailure("in a held snapshot: \(error)")
                }
            }
        }
    }
}
