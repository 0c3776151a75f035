// Committing exactly once although a commit's outcome can be unknown.
//
// The transaction carries a marker: a key of the caller's that names this one request. The marker is read first and
// written with the effects, so it is there if and only if the effects are. A retry that finds it returns the receipt
// stored under it: the effects are not applied twice, and the retry does not meet its own earlier effects as if
// somebody else had made them.

/// The limits of `transactOnce`.
package enum IdempotentRetry {
    /// How often a transaction is tried before its conflict or unknown outcome is handed on.
    package static let defaultAttemptLimit = 8
}

extension OrderedStore {
    /// Runs `body` as one transaction whose effects are applied once, however often it is called with one marker.
    ///
    /// `body` returns a receipt, which is stored as the marker's value (so `StoreLimits` hold for it, and it may be
    /// empty). If the marker is there already, `body` is not kept and the stored receipt is returned. Markers stay
    /// until the caller deletes them.
    ///
    /// Throws what `transact` throws. A `.conflict` or `.commitUnknown` is retried at once, up to `attemptLimit`
    /// attempts. Once an attempt's outcome was unknown, `.commitUnknown` is thrown in place of any later failure that
    /// does not settle it: call again with the same marker, after reopening the store where it refuses to go on.
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
                // Without its marker no earlier attempt had an effect, so this failure is the whole truth.
                guard let unknown, !sawNoMarker else { throw error }
                throw StoreError(
                    .commitUnknown, "An attempt's outcome is unknown: try again with the same marker.",
                    unknown.fields, cause: "\(unknown), then \(error)")
            }
        }
    }
}
