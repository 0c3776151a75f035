// What the server answers instead of what was asked for. The codes are the client's own (CKError's raw values), so that
// nothing has to be translated on the way up.

import StratusModel
package import StratusRecords

/// An error of the server: an open code, a message that says what is wrong and how to mend it, the variables as fields,
/// and the cause. What a caller may not see is in none of them.
package struct CloudError: Error, Codable, Sendable, CustomStringConvertible {
    /// The client's error code.
    package struct Code: RawRepresentable, Hashable, Codable, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let internalError = Code(rawValue: 1)
        package static let networkUnavailable = Code(rawValue: 3)
        package static let networkFailure = Code(rawValue: 4)
        package static let badContainer = Code(rawValue: 5)
        package static let serviceUnavailable = Code(rawValue: 6)
        package static let requestRateLimited = Code(rawValue: 7)
        package static let missingEntitlement = Code(rawValue: 8)
        package static let notAuthenticated = Code(rawValue: 9)
        package static let permissionFailure = Code(rawValue: 10)
        package static let unknownItem = Code(rawValue: 11)
        package static let invalidArguments = Code(rawValue: 12)
        package static let serverRecordChanged = Code(rawValue: 14)
        package static let serverRejectedRequest = Code(rawValue: 15)
        package static let assetFileNotFound = Code(rawValue: 16)
        package static let assetFileModified = Code(rawValue: 17)
        package static let incompatibleVersion = Code(rawValue: 18)
        package static let constraintViolation = Code(rawValue: 19)
        package static let operationCancelled = Code(rawValue: 20)
        package static let changeTokenExpired = Code(rawValue: 21)
        package static let batchRequestFailed = Code(rawValue: 22)
        package static let zoneBusy = Code(rawValue: 23)
        package static let badDatabase = Code(rawValue: 24)
        package static let quotaExceeded = Code(rawValue: 25)
        package static let zoneNotFound = Code(rawValue: 26)
        package static let limitExceeded = Code(rawValue: 27)
        package static let userDeletedZone = Code(rawValue: 28)
        package static let tooManyParticipants = Code(rawValue: 29)
        package static let alreadyShared = Code(rawValue: 30)
        package static let referenceViolation = Code(rawValue: 31)
        package static let managedAccountRestricted = Code(rawValue: 32)
        package static let participantMayNeedVerification = Code(rawValue: 33)
        package static let serverResponseLost = Code(rawValue: 34)
        package static let assetNotAvailable = Code(rawValue: 35)
        package static let accountTemporarilyUnavailable = Code(rawValue: 36)
        package static let participantAlreadyInvited = Code(rawValue: 37)
    }

    package var code: Code
    /// The server's own, finer number, seen in log lines such as `14/2004`.
    package var innerCode: Int?
    package var message: String
    package var fields: [String: String]
    package var cause: String?
    /// How long the client should wait before it tries again (L-16).
    package var retryAfterSeconds: Double?
    /// The record as the server has it, for `serverRecordChanged` (S-05). Its assets have no content (S-07).
    package var serverRecord: ClientRecord?
    /// Whether the zone is gone because the account's keys were lost, for `zoneNotFound` (Z-08).
    package var didResetEncryptedData = false

    package init(
        _ code: Code, inner innerCode: Int? = nil, _ message: StaticString, _ fields: [String: String] = [:],
        cause: String? = nil, retryAfterSeconds: Double? = nil, serverRecord: ClientRecord? = nil
    ) {
        self.init(
            code, inner: innerCode, text: "\(message)", fields, cause: cause, retryAfterSeconds: retryAfterSeconds,
            serverRecord: serverRecord)
    }

    /// With a text that is not static: a misuse remembered by the client, or a fault that a test planned.
    package init(
        _ code: Code, inner innerCode: Int? = nil, text: String, _ fields: [String: String] = [:],
        cause: String? = nil, retryAfterSeconds: Double? = nil, serverRecord: ClientRecord? = nil
    ) {
        self.code = code
        self.innerCode = innerCode
        self.message = text
        self.fields = fields
        self.cause = cause
        self.retryAfterSeconds = retryAfterSeconds
        self.serverRecord = serverRecord
    }

    /// The error without its variables: for whom they are not meant, such as what another's data takes.
    var withoutFields: CloudError {
        var error = self
        error.fields = [:]
        return error
    }

    package var description: String {
        let number = innerCode.map { "\(code.rawValue)/\($0)" } ?? "\(code.rawValue)"
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let details = (variables + (cause.map { ["cause: \($0)"] } ?? [])).joined(separator: ", ")
        return details.isEmpty ? "\(number): \(message)" : "\(number): \(message) (\(details))"
    }
}

// Errors of the floors below, as what a client is told. The cause always travels along, so that a host's log shows it.

extension CloudError {
    /// For a new identity, name or secret under which something lies already: nothing is written over it.
    static let repeatedIdentity = CloudError(
        .internalError,
        "An identity, user name or secret exists already, so nothing was created: try again, and verify the store.")

    /// How long a client should wait where the store was only busy (Z-09).
    private static let busyRetrySeconds = 1.0
    /// How long a client should wait while indexes are rebuilt: some 20,000 records are in a second.
    private static let rebuildRetrySeconds = 5.0
    /// How long a client should wait where a write has failed: somebody fixes the cause, and the store is opened again.
    private static let recoveryRetrySeconds = 5.0

    /// A store's or the record layer's error as an answer to the client.
    ///
    /// A commit of unknown outcome is `serverResponseLost` (S-21), a store that takes no requests `serviceUnavailable`,
    /// with a time to retry after where it may take them again without being closed (L-16), a transaction over the store's limit
    /// `limitExceeded`, damage `internalError`.
    package init(_ error: RecordsError) {
        let cause = "\(error)"
        switch error.code.description {
        case "commitUnknown":
            self.init(
                .serverResponseLost, "The write may have happened or not: fetch, then decide whether to save again.",
                cause: cause)
        case "conflict":
            self.init(
                .zoneBusy, "Others are writing to the same data: try again later.", cause: cause,
                retryAfterSeconds: Self.busyRetrySeconds)
        case "rebuilding":
            self.init(
                .serviceUnavailable, "The host rebuilds indexes: try again when that is done.", cause: cause,
                retryAfterSeconds: Self.rebuildRetrySeconds)
        case "reopening":
            self.init(
                .serviceUnavailable, "The store is being opened again after a failed write: try again.", cause: cause,
                retryAfterSeconds: Self.busyRetrySeconds)
        case "unavailable":
            self.init(
                .serviceUnavailable, "The store takes no requests now: try again when the host has recovered it.",
                cause: cause, retryAfterSeconds: Self.recoveryRetrySeconds)
        case "diskFull":
            self.init(
                .serviceUnavailable, "The disk of the store is full: the host has to make room.", cause: cause)
        case "held", "closed", "notPermitted", "inputOutput", "olderFormat":
            self.init(
                .serviceUnavailable, "The store takes no requests now: the host has to look into the cause.",
                cause: cause)
        case "tooLarge":
            self.init(
                .limitExceeded, inner: InnerCode.limit,
                "The request is larger than one transaction may be: split it.", error.fields, cause: cause)
        case "hierarchyTooDeep":
            self.init(
                .limitExceeded, inner: InnerCode.limit,
                "A record lies deeper in its hierarchy than the limit: move it up.", error.fields, cause: cause)
        case "unknownZone":
            self.init(.zoneNotFound, inner: InnerCode.zoneNotFound, "Zone does not exist", error.fields, cause: cause)
        case "unknownRecord":
            self.init(.unknownItem, inner: InnerCode.unknownItem, "Record not found", error.fields, cause: cause)
        case "invalidRequest":
            self.init(.invalidArguments, text: error.message, error.fields, cause: cause)
        case "expired":
            self.init(
                .changeTokenExpired, inner: InnerCode.tokenExpired, "client knowledge differs from server knowledge",
                error.fields, cause: cause)
        default:
            self.init(.internalError, "The store is damaged or of another format: the host has to look.", cause: cause)
        }
    }

    /// Any error of the floors below; one that is a `CloudError` already stays as it is.
    package init(answering error: any Error) {
        switch error {
        case let error as CloudError: self = error
        case let error as RecordsError: self.init(error)
        default: self.init(.internalError, "The server met an error it does not know.", cause: "\(error)")
        }
    }

    /// The server's own, finer numbers, as seen in log lines.
    package enum InnerCode {
        package static let unknownItem = 2003
        package static let conflict = 2004
        package static let schema = 2006
        package static let permission = 2007
        package static let limit = 2023
        package static let batch = 2024
        package static let tokenExpired = 2026
        package static let defaultZoneSync = 2027
        package static let duplicateSubscription = 2032
        package static let zoneNotFound = 2036
    }
}

// What every refusal of sharing says, in words and as values: the rule that is broken, the record, the root and the share in
// the way. What the caller may not know of is named by nobody: the answers to those who may not know that there is
// a share (M-04, M-05) are no refusals of sharing.

extension CloudError {
    /// The refusal with what X-02 wants beside its own words. What it says already stays.
    func ofSharing(
        rule: String, record: String? = nil, root: String? = nil, share: String? = nil
    ) -> CloudError {
        var error = self
        let named = ["record": record, "root": root, "share": share]
        error.fields.merge(named.compactMapValues { $0 }) { own, _ in own }
        let rule = error.fields["rule"] ?? rule
        error.fields["rule"] = rule
        var words = ["record", "root", "share"].compactMap { key in error.fields[key].map { "\(key) \($0)" } }
        if !message.contains(rule) { words.insert("rule \(rule)", at: 0) }
        if !words.isEmpty { error.message += " (" + words.joined(separator: ", ") + ")" }
        return error
    }
}
