// Stores that misreport a commit that failed, so that the sweep of faults is shown to detect it.

import StratusStore

/// A false report about a commit whose outcome is called unknown.
package enum PlantedCommitFault: String, CaseIterable, Sendable {
    /// The failure is hidden from the caller.
    case hidesFailures
    /// A commit that is to fail without effect has its effect.
    case appliesFailures

    /// The store with the planted fault below the injected ones.
    func below(_ store: any OrderedStore) -> any OrderedStore {
        self == .appliesFailures ? FailureApplyingStore(store) : store
    }

    /// The store with the planted fault between the injected ones and the engine.
    func above(_ store: any OrderedStore) -> any OrderedStore {
        self == .hidesFailures ? FailureHidingStore(store) : store
    }
}

private final class FailureHidingStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(_ wrapped: any OrderedStore) {
        self.wrapped = wrapped
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        var result: Result?
        do {
            return try wrapped.transact(lane: lane) { transaction in
                let made = try body(transaction)
                result = made
                return made
            }
        } catch let error as StoreError where error.code == .commitUnknown {
            guard let result else { throw error }
            return result
        }
    }
}

private final class FailureApplyingStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(_ wrapped: any OrderedStore) {
        self.wrapped = wrapped
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        // The body's final error is thrown when its writes are committed.
        let outcome: Swift.Result<Result, StoreError> = try wrapped.transact(lane: lane) { transaction in
            do {
                return .success(try body(transaction))
            } catch let error as StoreError where error.code == .commitUnknown {
                return .failure(error)
            }
        }
        return try outcome.get()
    }
}
