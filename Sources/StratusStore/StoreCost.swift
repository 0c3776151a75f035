// What stores count: the costs of readers and transactions, and the bytes that their limits hold.
//
// Costs are exact and the same on every machine, so tests compare them, unlike clock times, with fixed numbers.
//
// The limit of a transaction counts what FoundationDB counts: not only keys and values, but also the ranges that a
// store needs to find conflicts. So a transaction that fits one store fits all of them.

/// The requests of one reader or transaction.
package struct StoreCost: Hashable, Codable, Sendable {
    /// Keys looked up, present or absent. Looking up a transaction's own writes counts too.
    package var pointReads = 0
    /// Scans, except those of an empty range or with a limit of zero.
    package var seeks = 0
    /// Entries passed to the visitor of a scan.
    package var cursorSteps = 0
    /// Accepted sets and deletes. Writing a key again counts again.
    package var entriesWritten = 0
    /// Bytes of their keys and values.
    package var bytesWritten = 0

    package init() {}

    /// Point reads and seeks: the operations that may touch the disk.
    package var reads: Int { pointReads + seeks }

    package static func + (left: StoreCost, right: StoreCost) -> StoreCost { left.combined(with: right, by: +) }
    package static func - (left: StoreCost, right: StoreCost) -> StoreCost { left.combined(with: right, by: -) }

    private func combined(with other: StoreCost, by operation: (Int, Int) -> Int) -> StoreCost {
        var result = StoreCost()
        result.pointReads = operation(pointReads, other.pointReads)
        result.seeks = operation(seeks, other.seeks)
        result.cursorSteps = operation(cursorSteps, other.cursorSteps)
        result.entriesWritten = operation(entriesWritten, other.entriesWritten)
        result.bytesWritten = operation(bytesWritten, other.bytesWritten)
        return result
    }
}

/// The work of a store since it was opened. What a store does not have stays zero.
package struct StoreStatistics: Hashable, Codable, Sendable {
    package var cost = StoreCost()
    /// Keys looked up in the engine: the point reads that no cache answered.
    package var engineLookups = 0
    /// Committed transactions, without empty ones.
    package var transactionsCommitted = 0
    /// Batches written to the engine. Many transactions may share one.
    package var groupsCommitted = 0
    /// Batches that the engine synced.
    package var syncs = 0
    /// Round trips: how often the store sent requests over its connections and waited for the answer.
    package var trips = 0
    /// Attempts of transactions that ended with a conflict.
    package var conflicts = 0
    /// Commits whose answer was lost. The store found out what happened.
    package var unknownOutcomes = 0
    package var connectionsOpened = 0
    /// Runs of bodies that only found out what the body will read.
    package var rehearsals = 0

    package init() {}
}

/// The largest key, value and transaction a store accepts, in bytes. They hold on every store, so that data can always
/// move from one to another.
package enum StoreLimits {
    package static let maximumKeyByteCount = 2_048
    package static let maximumValueByteCount = 100_000
    /// The bytes of a transaction that count: `StoreTransaction.countedByteCount`.
    package static let maximumTransactionByteCount = 10_000_000
    /// What a set or a delete counts in addition to its key and value.
    package static let mutationOverheadByteCount = 16
    /// What a range of keys that may conflict counts in addition to its two ends.
    package static let rangeOverheadByteCount = 16

    /// The counted bytes of a set, or of a delete, whose value is empty: the write, and the range of its key.
    package static func countedByteCount(writingKey keyByteCount: Int, value valueByteCount: Int) -> Int {
        keyByteCount + valueByteCount + mutationOverheadByteCount + countedByteCount(readingKey: keyByteCount)
    }

    /// The counted bytes of a point read in a transaction: the range from the key to the one right after it.
    package static func countedByteCount(readingKey keyByteCount: Int) -> Int {
        2 * keyByteCount + 1 + rangeOverheadByteCount
    }

    /// The counted bytes of a point read and a write of the same key.
    package static func countedByteCount(updatingKey keyByteCount: Int, value valueByteCount: Int) -> Int {
        countedByteCount(readingKey: keyByteCount) + countedByteCount(writingKey: keyByteCount, value: valueByteCount)
    }

    /// The counted bytes of a scan in a transaction, however far it goes. The range is not empty.
    package static func countedByteCount(scanning range: KeyRange) -> Int {
        range.lower.count + range.upper.count + rangeOverheadByteCount
    }

    /// Throws `.tooLarge` if a write of this key and value does not fit. `transactionByteCount` counts it already.
    package static func check(keyByteCount: Int, valueByteCount: Int, transactionByteCount: Int) throws {
        if keyByteCount > maximumKeyByteCount {
            throw StoreError(
                .tooLarge, "The key is longer than a store takes: use shorter names.",
                ["keyByteCount": "\(keyByteCount)", "limit": "\(maximumKeyByteCount)"])
        }
        if valueByteCount > maximumValueByteCount {
            throw StoreError(
                .tooLarge, "The value is longer than a store takes: split it over several keys.",
                ["valueByteCount": "\(valueByteCount)", "limit": "\(maximumValueByteCount)"])
        }
        if transactionByteCount > maximumTransactionByteCount {
            throw StoreError(
                .tooLarge, "The transaction is larger than a store takes: split it into several.",
                ["transactionByteCount": "\(transactionByteCount)", "limit": "\(maximumTransactionByteCount)"])
        }
    }
}
