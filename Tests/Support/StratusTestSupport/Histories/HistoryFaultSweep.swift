// A history with every operation on its store failing in turn: each read, scan step, write and commit of each step,
// once.
//
// After each fault: the error names its cause, nothing is partially applied (the same engine, with its caches, and a
// new one answer as before the step, or as after it if only the answer was lost), the indexes are complete, and the
// step can be run.
//
// With a planted fault the store misreports a commit that failed, and the sweep must detect it.

import StratusModel
import StratusRecords
import StratusStore

/// Fails every operation of a history of commits and of creations and deletions of zones; other steps are skipped.
package final class HistoryFaultSweep {
    private static let cacheByteCount = 1 << 20

    private let depthLimit: Int
    private let planted: PlantedCommitFault?
    private var base = MemoryStore()
    private var before = OracleStore()
    private var births = 0
    private var runCounts: [FaultPoint: Int] = [:]

    private struct Abort: Error {}

    /// Runs the sweep and returns how many faults struck at each point. Throws `HistoryFailure` with the fault.
    package static func run(_ history: History, planted: PlantedCommitFault? = nil) throws -> [FaultPoint: Int] {
        let sweep = HistoryFaultSweep(depthLimit: history.depthLimit, planted)
        for (index, step) in history.steps.enumerated() { try sweep.fail(step, index) }
        return sweep.runCounts
    }

    private init(depthLimit: Int, _ planted: PlantedCommitFault?) {
        self.depthLimit = depthLimit
        self.planted = planted
    }

    private func fail(_ step: HistoryStep, _ index: Int) throws {
        if case .createZone = step { births += 1 }
        let after = outcome(of: step)
        // Every other step runs with a full cache, the others with an empty one.
        let isWarm = index.isMultiple(of: 2)
        let counting = FaultInjectingStore(base.reopened())
        let engine = try openEngine(on: counting)
        if isWarm { try check(engine, before) }
        let start = FaultPoint.allCases.map { counting.count(of: $0) }
        try carryOut(step, on: engine)
        let counts = FaultPoint.allCases.indices.map { counting.count(of: FaultPoint.allCases[$0]) - start[$0] }
        for (point, count) in zip(FaultPoint.allCases, counts) {
            for occurrence in 0..<count {
                let fault = Fault(point, at: occurrence + 1, FaultSweep.defaultError(at: point))
                do {
                    try strike(fault, step, after, isWarm: isWarm)
                } catch {
                    throw HistoryFailure("step \(index + 1), \(fault): \(error)")
                }
                runCounts[point, default: 0] += 1
            }
        }
        let next = base.reopened()
        try carryOut(step, on: openEngine(on: next))
        next.close()
        base = next
        before = after
    }

    private func strike(_ fault: Fault, _ step: HistoryStep, _ after: OracleStore, isWarm: Bool) throws {
        let bare = base.reopened()
        let store = FaultInjectingStore(planted?.below(bare) ?? bare)
        let engine = try openEngine(on: planted?.above(store) ?? store)
        if isWarm { try check(engine, before) }
        store.arm(fault)
        do {
            try carryOut(step, on: engine)
            throw HistoryFailure("the step went well")
        } catch let error as StoreError {
            guard error.code.rawValue == fault.error.code.rawValue else {
                throw HistoryFailure("another error: \(error)")
            }
            guard error.message == fault.error.message else { throw HistoryFailure("the cause is lost: \(error)") }
        }
        let expected = fault.point == .commitApplied ? after : before
        try check(engine, expected)
        let reopened = bare.reopened()
        let second = try openEngine(on: reopened)
        try check(second, expected)
        if fault.point != .commitApplied {
            try carryOut(step, on: second)
            try check(second, after)
        }
    }

    private func openEngine(on store: any OrderedStore) throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = Self.cacheByteCount
        options.limits.hierarchyDepth = depthLimit
        options.limits.requestItemCount = HistoryRunner.requestItemLimit
        return try RecordEngine(store: store, options: options, incarnation: HistoryContent.identity(1_000_000))
    }

    /// The state after the step; the same as before if it is refused or aborted.
    private func outcome(of step: HistoryStep) -> OracleStore {
        var state = before
        switch step {
        case .createZone(let zone): _ = state.createZone(HistoryContent.zones[zone], birth: births)
        case .deleteZone(let zone): _ = state.deleteZone(HistoryContent.zones[zone])
        case .commit(let commit):
            let limits = OracleLimits(depth: depthLimit, itemCount: HistoryRunner.requestItemLimit)
            for request in commit.requests {
                let outcome = state.apply(
                    request.items.map(\.oracleItem), in: HistoryContent.zones[request.zone],
                    stamp: HistoryContent.stamp(commit.time), limits: limits)
                guard outcome?.verdict == .accepted else { return before }
            }
            if commit.isAborted { return before }
        default: break
        }
        return state
    }

    /// Carries a step out; refusals and aborts are answers, not errors.
    private func carryOut(_ step: HistoryStep, on engine: RecordEngine) throws {
        do {
            switch step {
            case .createZone(let zone):
                let birth = HistoryContent.birth(births)
                try engine.transact { _ = try $0.createZone(HistoryContent.zones[zone], birth) }
            case .deleteZone(let zone):
                try engine.transact { _ = try $0.deleteZone(HistoryContent.zones[zone]) }
            case .commit(let commit):
                try engine.transact { transaction in
                    for request in commit.requests {
                        let id = HistoryContent.zones[request.zone]
                        try transaction.apply(request.mutationRequest(time: commit.time), in: id)
                    }
                    if commit.isAborted { throw Abort() }
                }
            default: break
            }
        } catch is RequestRefused {
        } catch is Abort {
        } catch let error as StoreError where error.code == .unknownZone || error.code == .invalidRequest {}
    }

    private func check(_ engine: RecordEngine, _ state: OracleStore) throws {
        try engine.read { reader in
            for (index, id) in HistoryContent.zones.enumerated() {
                let zone = try reader.zone(id)
                try expectEqual(zone != nil, state.zones[id] != nil, "whether zone \(index) exists")
                guard let zone, let oracleZone = state.zones[id] else { continue }
                var checker = ZoneChecker(zone, oracleZone, depthLimit: depthLimit, seed: 0)
                try checker.checkAll(isThorough: false, comparesSystemFields: false)
            }
        }
        let report = try engine.verify()
        guard report.isClean else { throw HistoryFailure("the verifier says \(report.summary): \(report.findings)") }
    }
}
