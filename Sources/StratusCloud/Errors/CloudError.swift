// What the server answers instead of what was asked for. The codes are the client's own (CKError's raw values), so that
// nothing has to be translated on the way up.

import StratusModel

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
