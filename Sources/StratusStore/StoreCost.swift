// Counted costs. They are exact and the same on every machine, so tests hold them fixed where clock times would wander.

/// What one reader or transaction asked of the store.
package struct StoreCost: Hashable, Codable, Sendable {
    /// Keys looked up, whether they were there or not; a transaction's own writes cost like any other.
    package var pointReads = 0
    /// Scans, but for those of an empty range or a limit of zero.
    package var seeks = 0
    /// Entries given to the visitor of a scan.
    package var cursorSteps = 0
    /// Sets and deletes that were accepted; a key that is written again counts again.
    package var entriesWritten = 0
    /// Bytes of their keys and values.
    package var bytesWritten = 0

    package init() {}

    /// Point reads and seeks: the operations that may touch the disk.
    package var reads: Int { pointReads + seeks }
}

/// What a store has done since it was opened.
package struct StoreStatistics: Hashable, Codable, Sendable {
    package var cost = StoreCost()
    /// Keys that the engine was asked for: the point reads that nothing in memory has answered.
    package var engineLookups = 0
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
