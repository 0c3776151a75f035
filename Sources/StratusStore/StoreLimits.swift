// Limits that hold on every store, so that data can always move from a small one to a large one.

/// The largest key, value and transaction a store accepts, in bytes.
package enum StoreLimits {
    package static let maximumKeyByteCount = 2_048
    package static let maximumValueByteCount = 100_000
    /// Keys and values of one transaction together.
    package static let maximumTransactionByteCount = 10_000_000

    /// Throws `.tooLarge` when a write of this key and value does not fit.
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
