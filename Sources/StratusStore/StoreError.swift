// What can go wrong in a store. Not found is never an error (it is nil), and corruption is never not found.

/// An error of the seam: an open code, a message that says how to mend it, the variables as fields, and the cause.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// Another transaction changed what this one read: run it again.
        package static let conflict = Code(description: "conflict")
        /// A key, a value or a transaction is over `StoreLimits`.
        package static let tooLarge = Code(description: "tooLarge")
        /// The store takes no requests now, and this one was not carried out.
        package static let unavailable = Code(description: "unavailable")
        /// The commit may have happened or not: only reopening the store tells.
        package static let commitUnknown = Code(description: "commitUnknown")
        /// Bytes on disk are not what was written.
        package static let corruption = Code(description: "corruption")
        /// The store was closed.
        package static let closed = Code(description: "closed")
        /// Somebody has the store open already.
        package static let held = Code(description: "held")
        /// The path does not hold a store.
        package static let notAStore = Code(description: "notAStore")
        /// The store was written by a newer version of this software.
        package static let newerFormat = Code(description: "newerFormat")
        /// The store is of an older format, which this software reads and does not write.
        package static let olderFormat = Code(description: "olderFormat")
        /// The store is there, but may not be read or written.
        package static let notPermitted = Code(description: "notPermitted")
        /// There is no room left on the disk.
        package static let diskFull = Code(description: "diskFull")
        /// The store is being opened again, and this request was not carried out: try again soon.
        package static let reopening = Code(description: "reopening")
        /// A commit that was never acknowledged is gone. A notice: nothing has failed.
        package static let commitDropped = Code(description: "commitDropped")
        /// The store's directory is not held, but reached by its path. A notice: nothing has failed.
        package static let reachedByPath = Code(description: "reachedByPath")
        /// The operating system failed a request for another reason.
        package static let inputOutput = Code(description: "inputOutput")
    }

    package let code: Code
    package let message: String
    package let fields: [String: String]
    package let cause: String?

    package init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:], cause: String? = nil) {
        self.code = code
        self.message = "\(message)"
        self.fields = fields
        self.cause = cause
    }

    /// The same error with other variables.
    package func with(fields: [String: String], cause: String?) -> StoreError {
        StoreError(copying: self, fields: fields, cause: cause)
    }

    private init(copying other: StoreError, fields: [String: String], cause: String?) {
        code = other.code
        message = other.message
        self.fields = fields
        self.cause = cause
    }

    package var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let details = (variables + (cause.map { ["cause: \($0)"] } ?? [])).joined(separator: ", ")
        return details.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(details))"
    }
}

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
