// Whether a plan fits into what is left of a transaction: asked before it is carried out, because a write that the store
// refuses leaves those before it in the transaction.

import StratusStore

extension RecordTransaction {
    /// What the zone's header, its entry in the feed and the database's header take at most, with their keys.
    private static let headersByteCount = 16_384

    /// Whether the store would take all writes of a plan, and as many bytes of other keys and values.
    package func hasRoom(for plan: MutationPlan, besides byteCount: Int) -> Bool {
        hasRoom(forByteCount: plan.mutations.byteCount + byteCount)
    }

    /// Whether the store would take as many more bytes of keys and values, beside what ends the transaction.
    package func hasRoom(forByteCount byteCount: Int) -> Bool {
        let needed = byteCount + Self.headersByteCount
        return store.cost.bytesWritten + needed <= StoreLimits.maximumTransactionByteCount
    }
}
