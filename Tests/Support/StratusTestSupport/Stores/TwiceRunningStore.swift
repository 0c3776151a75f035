// A store whose transactions run twice, to detect bodies that are not pure. The first run is undone like one whose
// commit met a conflict; the second counts. Costs are those of both runs.

package import StratusStore

/// Runs every body of `transact` twice on the store it wraps.
package final class TwiceRunningStore: StoreWrapper {
    package let wrapped: any OrderedStore

    package init(_ wrapped: any OrderedStore) {
        self.wrapped = wrapped
    }

    private struct Undo: Error {}

    package func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        do {
            try wrapped.transact(lane: lane) { transaction in
                // What the first run throws is thrown away with it: the second decides.
                _ = try? body(transaction)
                throw Undo()
            }
        } catch is Undo {}
        return try wrapped.transact(lane: lane, body)
    }
}
