// A store whose host stops once in the middle of a round of background work, so that a test can kill or pause its
// process there. It also finds out whether the host was refused, which upkeep does not report.

package import Foundation
package import StratusLayout
package import StratusStore

/// Calls `halt` once: before the first transaction that begins after one has committed under the host's lease of the
/// work.
package final class HaltingStore: StoreWrapper {
    private struct State: Sendable {
        var hasHalted = false
        var wasRefused = false
    }

    package let wrapped: any OrderedStore
    private let work: BackgroundWork
    private let host: UUID
    private let halt: @Sendable () -> Void
    private let state = Locked(State())

    /// `host` is the incarnation with which the host's engine is opened.
    package init(
        _ wrapped: any OrderedStore, on work: BackgroundWork, of host: UUID, halt: @escaping @Sendable () -> Void
    ) {
        self.wrapped = wrapped
        self.work = work
        self.host = host
        self.halt = halt
    }

    /// Whether a transaction of the work has failed because another host has the work.
    package var wasRefused: Bool { state.withLock { $0.wasRefused } }

    package func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try haltIfWorking()
        // A body may run again: the last run counts.
        var isRefused = false
        defer { if isRefused { state.withLock { $0.wasRefused = true } } }
        return try wrapped.transact(lane: lane) { transaction -> Result in
            isRefused = false
            do {
                return try body(transaction)
            } catch let error as StoreError {
                // A store that was taken over as a whole has the same code.
                isRefused = error.code == .held && error.fields["work"] == "\(work)"
                throw error
            }
        }
    }

    private func haltIfWorking() throws {
        guard !state.withLock({ $0.hasHalted }) else { return }
        let entry = try wrapped.read { reader in
            try reader.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0) }
        }
        guard entry?.holder == host else { return }
        state.withLock { $0.hasHalted = true }
        halt()
    }
}
