// Follows one run and records violations of the rules (see `FaultBench`).

import StratusLevelDB
import StratusStore
import StratusTestSupport

/// What must stop after a request has failed.
enum FaultStrictness {
    /// Every acknowledgement.
    case stops
    /// Every acknowledgement, unless the request served a compaction that the scenario requested. LevelDB begins one
    /// with a new log; if that cannot be opened, it continues with the old log, reports nothing, and loses nothing.
    case stopsAfterCommits
    /// Nothing: a read may fail and the next succeed.
    case goesOn

    init(_ point: EngineFaultPoint) {
        switch point {
        case .append, .flush, .sync, .close: self = .stops
        case .openWritable: self = .stopsAfterCommits
        default: self = .goesOn
        }
    }
}

/// The judge of one run.
struct FaultJudge {
    /// What a request that failed, wherever, must stop.
    let strictness: FaultStrictness
    var verdict = FaultVerdict()

    init(_ strictness: FaultStrictness) {
        self.strictness = strictness
    }

    /// Runs every step; a step that could not read is run once more.
    mutating func follow(_ run: any ScenarioRun, _ stepCount: Int, _ environment: FaultyEnvironment) {
        var excusedCount = 0
        for step in 0..<stepCount {
            let countBefore = environment.faultCount
            let hadFault = countBefore > excusedCount
            let isAcknowledged = attempt(step, run) || (!verdict.hasUnknownCommit && attempt(step, run))
            environment.waitUntilIdle()
            if strictness == .stopsAfterCommits, run.isSilent(step) {
                excusedCount += environment.faultCount - countBefore
            }
            if isAcknowledged {
                if verdict.hasUnknownCommit || (hadFault && strictness != .goesOn), !run.isSilent(step) {
                    note("step \(step) was acknowledged after a request had failed")
                }
                if !verdict.hasUnknownCommit { verdict.acknowledgedCount = step + 1 }
            } else if !verdict.hasUnknownCommit {
                return
            }
        }
    }

    private mutating func attempt(_ step: Int, _ run: any ScenarioRun) -> Bool {
        do {
            try run.perform(step)
            return true
        } catch let violation as ScenarioViolation {
            note(violation.description)
        } catch {
            guard let seen = SeenError(error) else {
                note("step \(step) threw \(error)")
                return false
            }
            judge(seen, step, isSilent: run.isSilent(step))
        }
        return false
    }

    private mutating func judge(_ error: SeenError, _ step: Int, isSilent: Bool) {
        verdict.errors.append(error)
        if !error.namesCause { note("step \(step) threw an error that does not name its cause: \(error)") }
        switch error.code {
        case "commitUnknown":
            if verdict.hasUnknownCommit { note("step \(step) was tried although a commit had failed: \(error)") }
            verdict.hasUnknownCommit = true
        case "unavailable":
            if !verdict.hasUnknownCommit { note("step \(step) was refused although nothing had failed: \(error)") }
        case "inputOutput", "corruption", "diskFull":
            if error.code == "diskFull", !isSilent { note("step \(step) threw \(error)") }
            if verdict.hasUnknownCommit { note("step \(step) was tried although a commit had failed: \(error)") }
            // A compaction that failed has stopped the store as a failed commit does.
            if isSilent { verdict.hasUnknownCommit = true }
        default:
            note("step \(step) threw \(error)")
        }
    }

    /// Before closing, readers see the acknowledged state, or an error.
    mutating func readAll(_ store: any OrderedStore, _ states: [StoreContents]) {
        let state = states[verdict.acknowledgedCount]
        for direction in [ScanDirection.forward, .backward] {
            reading { verdict in
                guard try contents(store, direction) == state else {
                    verdict.violations.append("a \(direction) scan before closing saw something else than acknowledged")
                    return
                }
            }
        }
        for (key, value) in state {
            reading { verdict in
                guard try store.read({ try $0.fingerprint(forKey: key) }) == value else {
                    verdict.violations.append("a value read before closing was wrong or missing")
                    return
                }
            }
        }
    }

    private mutating func reading(_ body: (inout FaultVerdict) throws -> Void) {
        do {
            try body(&verdict)
        } catch {
            guard let seen = SeenError(error), ["inputOutput", "corruption"].contains(seen.code), seen.namesCause else {
                return note("a read failed with \(error)")
            }
            verdict.errors.append(seen)
        }
    }

    /// Opens the store without faults.
    mutating func reopen(_ path: String, _ states: [StoreContents], _ scenario: any FaultScenario) {
        do {
            let store = try FaultBench.open(path, nil)
            defer { store.close() }
            let found = try contents(store)
            if let count = verdict.possibleCounts.last(where: { states.indices.contains($0) && states[$0] == found }) {
                verdict.unknownCommitWasThere =
                    count > verdict.acknowledgedCount && found != states[verdict.acknowledgedCount]
            } else {
                let others = states.indices.filter { states[$0] == found }
                note("after reopening the store holds steps \(others), not \(verdict.possibleCounts)")
            }
            for damage in try store.verifyChecksums().damages { note("after reopening: \(damage)") }
            for finding in try scenario.findings(in: store) { note("after reopening: \(finding)") }
            try store.transact { try $0.delete([0xFE]) }
        } catch {
            note("reopening failed: \(error)")
        }
    }

    private mutating func note(_ violation: String) {
        verdict.violations.append(violation)
    }
}
