// The one error type below the server. Not found is never an error (it is nil), and corruption is never not found.
//
// Every floor throws `StoreError`: the codecs, the stores, the record layer. Other error types stay in their target and
// become the cause of a `StoreError`: `TupleError` in StratusLayout, `EngineError` and `SystemError` in StratusLevelDB,
// `ServerError` and `OpeningFailure` in StratusPostgres. The server answers clients with `CloudError`, which has
// CloudKit's codes.

/// An error below the server: a code, a message with the remedy, the variables as fields, and the cause.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of error it is. The raw values are the codes' names in messages.
    package enum Code: String, Hashable, Codable, Sendable, CaseIterable {
        /// Another transaction changed what this one read: run it again.
        case conflict
        /// A key, a value or a transaction is over `StoreLimits`.
        case tooLarge
        /// The store accepts no requests now. The request was not carried out.
        case unavailable
        /// The commit may have happened or not. Opening a store of files again decides it; on a server, read before you
        /// repeat it.
        case commitUnknown
        /// Bytes on disk are not what was written, or entries contradict each other.
        case corruption
        /// The store was closed.
        case closed
        /// A process has the store open already, or another one does the background work.
        case held
        /// The path, or the store, holds something else than records.
        case notAStore
        /// A newer version of this software wrote the store.
        case newerFormat
        /// The store has an older format, which this software reads and does not write: migrate it first.
        case olderFormat
        /// The process may not read or write the store.
        case notPermitted
        /// The disk is full.
        case diskFull
        /// The store is being opened again. The request was not carried out: try again soon.
        case reopening
        /// A commit that was never acknowledged is gone. A notice: nothing has failed.
        case commitDropped
        /// The store's directory is not held, but reached by its path. A notice: nothing has failed.
        case reachedByPath
        /// A setting of the server costs speed or safety. A notice: nothing has failed.
        case serverSetting
        /// The operating system failed a request for another reason.
        case inputOutput
        /// The zone does not exist.
        case unknownZone
        /// The record does not exist.
        case unknownRecord
        /// The request contradicts itself, breaks a limit, or has a value that cannot be stored. Nothing was written.
        case invalidRequest
        /// A record is deeper in its hierarchy than the limit.
        case hierarchyTooDeep
        /// A token or a position is older than the store's history.
        case expired
        /// Indexes are being rebuilt. Try the request again afterwards.
        case rebuilding
        /// The store does not keep the reader's snapshot longer: read the rest in another one.
        case snapshotEnded
    }

    /// Where a corruption was found.
    package enum Damage: Hashable, Sendable {
        /// In the store's files: LevelDB cannot read them, so entries around them cannot be read either.
        case files
        /// In one key or value, whose bytes are not what this software writes.
        case entry
        /// Between entries, which contradict each other.
        case entries
    }

    package let code: Code
    /// Where a corruption was found; nil for other codes.
    package let damage: Damage?
    package let message: String
    package private(set) var fields: [String: String]
    package private(set) var cause: String?

    package init(
        _ code: Code, _ message: StaticString, _ fields: [String: String] = [:], cause: String? = nil,
        damage: Damage = .entries
    ) {
        self.code = code
        self.damage = code == .corruption ? damage : nil
        self.message = "\(message)"
        self.fields = fields
        self.cause = cause
    }

    /// Whether one entry, or entries together, are damaged, while the others can be read.
    package var isDamagedEntry: Bool { damage == .entry || damage == .entries }

    /// The same error with more variables, which replace those of the same name.
    package func adding(_ more: [String: String]) -> StoreError {
        var error = self
        error.fields.merge(more) { _, new in new }
        return error
    }

    /// The same error with other variables and another cause.
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
