// Commits exactly once although the outcome of a commit can be unknown.
//
// The transaction has a marker: a key that names this one request. It reads the marker first and writes it with the
// effects, so the marker exists if and only if the effects do. A retry that finds the marker returns the receipt stored
// under it: it does not apply the effects twice, and does not take its own earlier effects for another caller's.

/// The limits of `transactOnce`.
package enum IdempotentRetry {
    /// How often a transaction is tried before its conflict or unknown outcome is thrown.
    package static let defaultAttemptLimit = 8
}

extension OrderedStore {
    /// Runs `body` as one transaction whose effects are applied once, however often you call it with one marker.
    ///
    /// `body` returns a receipt, which is stored as the marker's value (so `StoreLimits` apply to it, and it may be
    /// empty). If the marker exists already, `body` does not run and the stored receipt is returned. Markers stay until
    /// you delete them.
    ///
    /// Throws what `transact` throws. A `.conflict` or `.commitUnknown` is retried at once, up to `attemptLimit`
    /// attempts. Once an attempt's outcome was unknown, any later failure that does not settle it throws
    /// `.commitUnknown`: call again with the same marker, after reopening the store if it refuses requests.
    package func transactOnce(
        marker: [UInt8], attemptLimit: Int = IdempotentRetry.defaultAttemptLimit,
        _ body: (any StoreTransaction) throws -> [UInt8]
    ) throws -> [UInt8] {
        precondition(attemptLimit > 0, "A transaction is tried at least once.")
        var unknown: StoreError?
        var attempt = 1
        while true {
            var sawNoMarker = false
            do {
                return try transact { transaction in
                    sawNoMarker = false
                    if let receipt = try transaction.value(forKey: marker) { return receipt }
                    sawNoMarker = true
                    let receipt = try body(transaction)
                    try transaction.set(marker, to: receipt)
                    return receipt
                }
            } catch let error as StoreError where error.code == .conflict || error.code == .commitUnknown {
                if error.code == .commitUnknown { unknown = error }
                guard attempt < attemptLimit else { throw unknown ?? error }
                attempt += 1
            } catch {
                // Without the marker no earlier attempt had an effect, so this failure is final.
                guard let unknown, !sawNoMarker else { throw error }
                throw StoreError(
                    .commitUnknown, "An attempt's outcome is unknown: try again with the same marker.",
                    unknown.fields, cause: "\(unknown), then \(error)")
            }
        }
    }
}
