// Failing every operation of a scenario in turn.

package import StratusStore

/// Runs a scenario once for each of its operations, with that operation failing.
package enum FaultSweep {
    package struct Report: Sendable {
        /// Scenarios run with a fault in each place.
        package var runCounts: [FaultPoint: Int] = [:]
    }

    /// The default error of a point: an outcome is unknown after a commit, and an operation that did not run failed in
    /// the operating system.
    package static func defaultError(at point: FaultPoint) -> StoreError {
        switch point {
        case .read, .scanStep: StoreError(.inputOutput, "A planned fault: reading failed.")
        case .write: StoreError(.unavailable, "A planned fault: writing was refused.")
        case .commitNotApplied: StoreError(.commitUnknown, "A planned fault: the commit was lost.")
        case .commitApplied: StoreError(.commitUnknown, "A planned fault: the answer was lost.")
        }
    }

    /// Counts the operations of `scenario` on a first store, then runs it on a new store for each of them.
    ///
    /// `makeStore` creates a store in the scenario's starting state. `verify` gets the bare store, the fault, and what
    /// the scenario threw, and throws if the store is wrong. Throws `ConformanceFailure` if a fault did not strike
    /// although its place had been counted.
    @discardableResult
    package static func run(
        _ points: [FaultPoint] = FaultPoint.allCases, makeStore: () throws -> any OrderedStore,
        error: (FaultPoint) -> StoreError = defaultError(at:),
        scenario: (any OrderedStore) throws -> Void,
        verify: (_ store: any OrderedStore, _ fault: Fault, _ thrown: (any Error)?) throws -> Void
    ) throws -> Report {
        let counting = FaultInjectingStore(try makeStore())
        try scenario(counting)
        counting.close()
        var report = Report()
        for point in points {
            for occurrence in 1..<(counting.count(of: point) + 1) {
                let fault = Fault(point, at: occurrence, error(point))
                let bare = try makeStore()
                let store = FaultInjectingStore(bare, fault: fault)
                var thrown: (any Error)?
                do { try scenario(store) } catch { thrown = error }
                guard store.hasFired else { throw ConformanceFailure("a fault never struck: \(fault)") }
                try verify(bare, fault, thrown)
                bare.close()
                report.runCounts[point, default: 0] += 1
            }
        }
        return report
    }
}
