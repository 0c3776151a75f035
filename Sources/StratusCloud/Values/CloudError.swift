// The server's errors. Their codes are the client's (raw values of CKError), so that no layer above has to translate
// them. Errors of the layers below become server errors here, with their cause, so that a host's log shows it.
//
// A refusal of sharing names, in words and as fields, the rule that is broken, the record, the root and the conflicting
// share, but nothing that the caller may not know of. Answers to callers who may not know that there is a share
// (M-04, M-05) are not refusals of sharing.

import StratusModel
import StratusRecords
package import StratusStore

/// An error of the server: an open code, a message that says what failed and what to do, the variables as fields, and
/// the cause. It holds nothing that the caller may not see.
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
    /// The server's own, more specific number, as in log lines such as `14/2004`.
    package var innerCode: Int?
    package var message: String
    package var fields: [String: String]
    package var cause: String?
    /// How long the client should wait before it retries (L-16).
    package var retryAfterSeconds: Double?
    /// The server's version of the record, for `serverRecordChanged` (S-05). Its assets have no content (S-07).
    package var serverRecord: ClientRecord?
    /// Whether the zone is gone because the account's keys were lost, for `zoneNotFound` (Z-08).
    package var didResetEncryptedData = false
    /// True if the store is damaged; nil otherwise.
    package var isDamage: Bool?

    package init(
        _ code: Code, inner innerCode: Int? = nil, _ message: StaticString, _ fields: [String: String] = [:],
        cause: String? = nil, retryAfterSeconds: Double? = nil, serverRecord: ClientRecord? = nil
    ) {
        self.init(
            code, inner: innerCode, text: "\(message)", fields, cause: cause, retryAfterSeconds: retryAfterSeconds,
            serverRecord: serverRecord)
    }

    /// With a text that is not static: a misuse noted by the client, or a fault that a test planned.
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

    /// The error without its variables, for callers who may not know them, such as the size of another person's data.
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

extension CloudError {
    /// For more of something than a limit allows.
    static func overLimit(_ message: StaticString, limit: Int, _ fields: [String: String] = [:]) -> CloudError {
        CloudError(.limitExceeded, inner: InnerCode.limit, message, fields.merging(["limit": "\(limit)"]) { $1 })
    }

    static func notPermitted(_ message: StaticString, _ fields: [String: String] = [:]) -> CloudError {
        CloudError(.permissionFailure, inner: InnerCode.permission, message, fields)
    }

    static func notFound(_ message: StaticString, _ fields: [String: String] = [:]) -> CloudError {
        CloudError(.unknownItem, inner: InnerCode.unknownItem, message, fields)
    }

    /// For what a schema, or the rules for all schemas, do not allow.
    static func ofSchema(_ message: StaticString, _ fields: [String: String]) -> CloudError {
        CloudError(.invalidArguments, inner: InnerCode.schema, message, fields)
    }

    /// For a new identity, name or secret that is already used. Nothing is overwritten.
    static let repeatedIdentity = CloudError(
        .internalError,
        "A new identity, user name or secret is already in use, so nothing was created. Retry, and verify the store.")

    /// How long a client should wait if the store was only busy (Z-09).
    private static let busyRetrySeconds = 1.0
    /// How long a client should wait while indexes are rebuilt: about 20,000 records per second.
    private static let rebuildRetrySeconds = 5.0
    /// How long a client should wait after a failed write, until the cause is fixed and the store is open again.
    private static let recoveryRetrySeconds = 5.0

    /// A store's or the record layer's error as an answer to the client.
    ///
    /// A commit with unknown outcome is `serverResponseLost` (S-21). A store that accepts no requests is
    /// `serviceUnavailable`, with a retry time if it may recover without being closed (L-16). A transaction over the
    /// store's limit is `limitExceeded`. Damage is `internalError`.
    package init(_ error: StoreError) {
        let cause = "\(error)"
        func unavailable(_ message: StaticString, retryAfterSeconds: Double? = nil) -> CloudError {
            CloudError(.serviceUnavailable, message, cause: cause, retryAfterSeconds: retryAfterSeconds)
        }
        switch error.code {
        case .commitUnknown:
            self.init(
                .serverResponseLost, "The write may have happened or not. Fetch, then decide whether to save again.",
                cause: cause)
        case .conflict:
            self.init(
                .zoneBusy, "Other requests are writing the same data. Try again later.", cause: cause,
                retryAfterSeconds: Self.busyRetrySeconds)
        case .rebuilding:
            self = unavailable(
                "The host is rebuilding indexes. Try again later.", retryAfterSeconds: Self.rebuildRetrySeconds)
        case .reopening:
            self = unavailable(
                "The store is being reopened after a failed write. Try again.",
                retryAfterSeconds: Self.busyRetrySeconds)
        case .snapshotEnded:
            self = unavailable(
                "Reading took longer than the store keeps a snapshot. Try again.",
                retryAfterSeconds: Self.busyRetrySeconds)
        case .unavailable:
            self = unavailable(
                "The store accepts no requests now. Try again later; if it lasts, the host must check the cause.",
                retryAfterSeconds: Self.recoveryRetrySeconds)
        case .diskFull:
            self = unavailable("The disk of the store is full. The host must free space.")
        case .held, .closed, .notPermitted, .inputOutput, .olderFormat:
            self = unavailable("The store accepts no requests now. The host must check the cause.")
        case .tooLarge:
            self.init(
                .limitExceeded, inner: InnerCode.limit,
                "The request is too large for one transaction. Split it.", error.fields, cause: cause)
        case .hierarchyTooDeep:
            self.init(
                .limitExceeded, inner: InnerCode.limit,
                "A record is too deep in its hierarchy. Move it up.", error.fields, cause: cause)
        case .unknownZone:
            self.init(.zoneNotFound, inner: InnerCode.zoneNotFound, "Zone does not exist", error.fields, cause: cause)
        case .unknownRecord:
            self.init(.unknownItem, inner: InnerCode.unknownItem, "Record not found", error.fields, cause: cause)
        case .invalidRequest:
            self.init(.invalidArguments, text: error.message, error.fields, cause: cause)
        case .expired:
            self.init(
                .changeTokenExpired, inner: InnerCode.tokenExpired, "client knowledge differs from server knowledge",
                error.fields, cause: cause)
        case .corruption, .notAStore, .newerFormat, .commitDropped, .reachedByPath, .serverSetting:
            self.init(
                .internalError, "The store is damaged or has another format. The host must check it.", cause: cause)
        }
        isDamage = error.code == .corruption ? true : nil
    }

    /// Any error of the layers below; a `CloudError` stays as it is.
    package init(answering error: any Error) {
        switch error {
        case let error as CloudError: self = error
        case let error as StoreError: self.init(error)
        default: self.init(.internalError, "The server got an unknown error.", cause: "\(error)")
        }
    }

    /// The server's own, more specific numbers, as in log lines.
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

extension CloudError {
    /// The refusal with what X-02 requires added to its own words. Fields that it already has stay.
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
