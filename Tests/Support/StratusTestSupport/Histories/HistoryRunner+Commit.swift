// One commit of a history: the oracle first, then the engine, then both compared.

import StratusModel
package import StratusRecords
import StratusStore

extension HistoryRunner {
    /// What the oracle expects of a commit.
    private struct Expectation {
        /// The state after each request that was accepted.
        var states: [OracleStore] = []
        var outcomes: [OracleOutcome] = []
        /// What the request after the last accepted one is refused for; nil when all are accepted.
        var stop: Stop?
    }

    private enum Stop: Hashable, CustomStringConvertible {
        case unknownZone
        case verdict(OracleVerdict)
        case aborted

        var description: String {
            switch self {
            case .unknownZone: "no such zone"
            case .verdict(let verdict): "refused (\(verdict))"
            case .aborted: "aborted"
            }
        }
    }

    private struct Abort: Error {}

    func commit(_ commit: HistoryCommit) throws {
        let expectation = expectation(of: commit)
        do {
            let plans = try engine.transact { transaction in try carryOut(commit, transaction, expectation) }
            answers.append(.done(saved: plans.map(\.saved), deleted: plans.map { $0.deleted.map(\.name) }))
            if let stop = expectation.stop { throw HistoryFailure("accepted, the oracle says \(stop)") }
            try adopt(plans, of: commit, expectation)
        } catch is Abort {
            try expectEnd(.aborted, expectation)
        } catch let refused as RequestRefused {
            let refusals = refused.refusals.mapValues(\.oracleRefusal)
            answers.append(.refused(refusals))
            try expectEnd(.verdict(.refused(refusals)), expectation)
        } catch let error as StoreError {
            answers.append(.failed(error.code))
            try checkError(error, expectation)
        }
    }

    private func expectation(of commit: HistoryCommit) -> Expectation {
        var expectation = Expectation()
        var state = oracle
        for request in commit.requests {
            let outcome = state.apply(
                request.items.map(\.oracleItem), in: HistoryContent.zones[request.zone],
                stamp: HistoryContent.stamp(commit.time), limits: limits, fault: oracleFault)
            guard let outcome else {
                expectation.stop = .unknownZone
                return expectation
            }
            expectation.outcomes.append(outcome)
            guard outcome.verdict == .accepted else {
                expectation.stop = .verdict(outcome.verdict)
                return expectation
            }
            expectation.states.append(state)
        }
        if commit.isAborted { expectation.stop = .aborted }
        return expectation
    }

    /// The transaction's body: pure, so it reads the runner and changes nothing of it.
    private func carryOut(
        _ commit: HistoryCommit, _ transaction: RecordTransaction, _ expectation: Expectation
    ) throws -> [MutationPlan] {
        var plans: [MutationPlan] = []
        for (index, request) in commit.requests.enumerated() {
            let id = HistoryContent.zones[request.zone]
            plans.append(try transaction.apply(request.mutationRequest(time: commit.time), in: id))
            guard index < expectation.states.count else { continue }
            try checkInside(transaction, request, expectation.states[index])
        }
        if commit.isAborted { throw Abort() }
        return plans
    }

    /// A transaction sees its own writes.
    private func checkInside(
        _ transaction: RecordTransaction, _ request: HistoryRequest, _ state: OracleStore
    ) throws {
        let id = HistoryContent.zones[request.zone]
        guard let oracleZone = state.zones[id] else { return }
        let checker = ZoneChecker(try transaction.existingZone(id), oracleZone, depthLimit: limits.depth, seed: 0)
        for item in request.items {
            try checker.checkPlace(item.name)
            try checker.checkRecord(item.name, comparesSystemFields: false)
        }
        try checker.checkHeader()
    }

    private func expectEnd(_ stop: Stop, _ expectation: Expectation) throws {
        guard stop != expectation.stop else { return }
        throw HistoryFailure("\(stop); the oracle says \(expectation.stop.map { "\($0)" } ?? "accepted")")
    }

    private func checkError(_ error: StoreError, _ expectation: Expectation) throws {
        switch error.code {
        case .unknownZone: try expectEnd(.unknownZone, expectation)
        case .invalidRequest: try expectEnd(.verdict(.invalid), expectation)
        case .hierarchyTooDeep:
            guard expectation.outcomes.contains(where: \.mayBeTooDeepToWalk) else {
                throw HistoryFailure("failed as too deep where nothing is: \(error)")
            }
        default: throw error
        }
    }

    /// Checks the engine's report of its writes, and applies it.
    private func adopt(_ plans: [MutationPlan], of commit: HistoryCommit, _ expectation: Expectation) throws {
        if let last = expectation.states.last { oracle = last }
        for (index, plan) in plans.enumerated() {
            let id = HistoryContent.zones[commit.requests[index].zone]
            let outcome = expectation.outcomes[index]
            try expectEqual(plan.deleted.map(\.name), outcome.deleted, "the deleted records")
            try expectEqual(plan.saved.count, outcome.saved.count, "the number of saved records")
            for (saved, wanted) in zip(plan.saved, outcome.saved) {
                var untagged = saved
                untagged.system.tagSalt = 0
                try expectEqual(untagged, wanted, "the saved record \(wanted.record.name.debugText)")
                guard usedTags.insert("\(outcome.zone.birth) \(saved.system.changeTag)").inserted else {
                    throw HistoryFailure("a change tag came twice: \(saved.system.changeTag)")
                }
            }
            // A later request of the same commit may have deleted them.
            oracle.adopt(
                plan.saved.filter {
                    oracle.zones[id]?.live[$0.record.name]?.system.changeSequence == $0.system.changeSequence
                }, in: id)
        }
    }
}

extension HistoryRequest {
    /// The request as passed to the engine, at a time of the clock.
    package func mutationRequest(time: Int) -> MutationRequest {
        let mutations = items.map { item -> RecordMutation in
            switch item.oracleItem {
            case .save(let record): .save(record)
            case .delete(let name): .delete(name)
            }
        }
        return MutationRequest(mutations, stamp: HistoryContent.stamp(time), tagSalt: HistoryContent.salt(time))
    }
}

extension Refusal {
    package var oracleRefusal: OracleRefusal {
        switch self {
        case .parentMissing(let parent): .parentMissing(parent: parent)
        case .hasChildren(let child): .hasChildren(child: child)
        case .cycle(let parent): .cycle(parent: parent)
        case .tooDeep(let depthLimit): .tooDeep(depthLimit: depthLimit)
        case .alreadyShared(let conflict):
            .alreadyShared(conflict.place.oraclePlace, root: conflict.root, share: conflict.share)
        }
    }
}

extension ShareConflict.Place {
    fileprivate var oraclePlace: OraclePlace {
        switch self {
        case .same: .same
        case .above: .above
        case .below: .below
        }
    }
}
