// Counted costs. They are exact and the same on every machine, so tests hold them fixed where clock times would wander.

/// What one reader or transaction asked of the store.
package struct StoreCost: Hashable, Sendable {
    /// Values looked up by key.
    package var pointReads = 0
    /// Times a cursor was placed somewhere.
    package var seeks = 0
    /// Entries a cursor moved over.
    package var cursorSteps = 0
    /// Keys set or deleted.
    package var entriesWritten = 0
    /// Bytes of the keys and values set or deleted.
    package var bytesWritten = 0

    package init() {}

    /// Point reads and seeks: the operations that may touch the disk.
    package var reads: Int { pointReads + seeks }
}

/// What a store has done since it was opened.
package struct StoreStatistics: Hashable, Sendable {
    package var cost = StoreCost()
    /// Transactions that were committed, empty ones not counted.
    package var transactionsCommitted = 0
    /// Batches handed to the engine; many transactions may share one.
    package var groupsCommitted = 0
    /// Times the engine was asked to make a batch durable.
    package var syncs = 0

    package init() {}
}

extension StoreCost {
    package static func + (left: StoreCost, right: StoreCost) -> StoreCost {
        var sum = left
        sum.pointReads += right.pointReads
        sum.seeks += right.seeks
        sum.cursorSteps += right.cursorSteps
        sum.entriesWritten += right.entriesWritten
        sum.bytesWritten += right.bytesWritten
        return sum
    }

    package static func - (left: StoreCost, right: StoreCost) -> StoreCost {
        var difference = left
        difference.pointReads -= right.pointReads
        difference.seeks -= right.seeks
        difference.cursorSteps -= right.cursorSteps
        difference.entriesWritten -= right.entriesWritten
        difference.bytesWritten -= right.bytesWritten
        return difference
    }
}
