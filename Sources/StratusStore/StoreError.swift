// Errors and limits of stores. Not found is never an error (it is nil), and corruption is never not found. The limits
// hold on every store, so that data can always move from one to another.

/// An error of the seam: an open code, a message with the remedy, the variables as fields, and the cause.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// Another transaction changed what this one read: run it again.
        package static let conflict = Code(description: "conflict")
        /// A key, a value or a transaction is over `StoreLimits`.
        package static let tooLarge = Code(description: "tooLarge")
        /// The store accepts no requests now. This one had no effect.
        package static let unavailable = Code(description: "unavailable")
        /// The commit may have happened or not. Only reopening the store shows which.
        package static let commitUnknown = Code(description: "commitUnknown")
        /// Bytes on disk are not what was written.
        package static let corruption = Code(description: "corruption")
        /// The store was closed.
        package static let closed = Code(description: "closed")
        /// Another process, or this one, has the store open.
        package static let held = Code(description: "held")
        /// The path does not hold a store.
        package static let notAStore = Code(description: "notAStore")
        /// The store was written by a newer version of this software.
        package static let newerFormat = Code(description: "newerFormat")
        /// The store has an older format, which this software reads but does not write.
        package static let olderFormat = Code(description: "olderFormat")
        /// The store exists, but this process may not read or write it.
        package static let notPermitted = Code(description: "notPermitted")
        /// There is no room left on the disk.
        package static let diskFull = Code(description: "diskFull")
        /// The store is being opened again. This request had no effect: try again soon.
        package static let reopening = Code(description: "reopening")
        /// A commit that was never acknowledged is gone. A notice: nothing has failed.
        package static let commitDropped = Code(description: "commitDropped")
        /// The store reaches its directory by the path, because it does not hold it open. A notice: nothing has failed.
        package static let reachedByPath = Code(description: "reachedByPath")
        /// The operating system failed a request for another reason.
        package static let inputOutput = Code(description: "inputOutput")
    }

    package let code: Code
    package let message: String
    package private(set) var fields: [String: String]
    package private(set) var cause: String?

    package init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:], cause: String? = nil) {
        self.code = code
        self.message = "\(message)"
        self.fields = fields
        self.cause = cause
    }

    /// The same error with other variables.
    package func with(fields: [String: String], cause: String?) -> StoreError {
        var error = self
        error.fields = fields
        error.cause = cause
        return error
    }

    package var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let details = (variables + (cause.map { ["cause: \($0)"] } ?? [])).joined(separator: ", ")
        return details.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(details))"
    }
}

/// The largest key, value and transaction a store accepts, in bytes.
package enum StoreLimits {
    package static let maximumKeyByteCount = 2_048
    package static let maximumValueByteCount = 100_000
    /// Keys and values of one transaction together.
    package static let maximumTransactionByteCount = 10_000_000

    /// Throws `.tooLarge` if a write of this key and value does not fit.
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
