// Maps each error to its HTTP response, in this one place.
//
// Nothing is revealed that a person may not see. A missing record and a hidden record have the same error code in the
// store, and 404 here; 403 is for what they see and may not change. Messages are this file's own: those of the store
// are for the operator of the service, and are logged.

import Foundation
import HTTPTypes
import Hummingbird
import StratusKit

extension HTTPResponse.Status {
    fileprivate static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}

extension Problem {
    /// The response to an error.
    /// - Parameters:
    ///   - error: The cause of the failure.
    ///   - isConditional: Whether the request has a condition.
    init(_ error: any Error, isConditional: Bool) {
        switch error {
        case let problem as Problem: self = problem
        case let error as CKError: self.init(error, isConditional: isConditional)
        case let error as StratusError: self.init(error)
        case let error as HTTPError where error.status == .notFound: self = .notFound
        case let error as HTTPError:
            self.init(error.status, "invalidRequest", error.body ?? error.status.reasonPhrase)
        case let error as any HTTPResponseError where error.status == .contentTooLarge:
            self.init(
                .contentTooLarge, "bodyTooLarge", "The body of a request has \(Limits.bodyByteCount) bytes at most.")
        case let error as Sessions.TooManyCodes:
            self.init(
                .tooManyRequests, "tooManyCodes", "Too many codes were asked for: wait, or use the last one.",
                retryAfterSeconds: error.retryAfterSeconds)
        case is Sessions.Refusal: self = .notSignedIn
        case is OpaqueText.Malformed:
            self = .invalid("malformedToken", "This is no token or cursor of this service: begin without one.")
        case is CancellationError:
            self.init(.serviceUnavailable, "stopping", "The service is being stopped.", retryAfterSeconds: 5)
        default: self = .unexpected
        }
    }

    private static let unexpected = Problem(.internalServerError, "unexpected", "Something went wrong here.")

    // MARK: CloudKit's errors

    private init(_ error: CKError, isConditional: Bool) {
        switch error.code {
        // What is not there, or is none of the person's business.
        case .unknownItem, .zoneNotFound: self = .notFound
        case .userDeletedZone: self.init(.gone, "gone", "These lists were deleted.")
        case .changeTokenExpired:
            self.init(.gone, "tokenExpired", "The token is too old, or another's: fetch everything again.")

        // Forbidden changes.
        case .notAuthenticated: self = .notSignedIn
        case .permissionFailure: self.init(.forbidden, "readOnly", "You may see this, and not change it.")
        case .managedAccountRestricted, .accountTemporarilyUnavailable, .missingEntitlement:
            self.init(.forbidden, "accountRestricted", "Your account cannot be used for this now.")
        case .participantMayNeedVerification:
            self.init(.forbidden, "notInvited", "You are not invited under an address of yours.")

        // Conflicts with changes or with existing data.
        case .serverRecordChanged:
            self.init(
                isConditional ? .preconditionFailed : .conflict, "changed",
                "This has changed meanwhile: look at it as it is, and try again.", current: error.serverRecord)
        case .constraintViolation, .alreadyShared, .participantAlreadyInvited:
            self.init(.conflict, "conflict", "This contradicts what is there.")
        case .referenceViolation: self.init(.conflict, "missingList", "The list is gone.")
        case .tooManyParticipants: self.init(.conflict, "shareIsFull", "Nobody more can take part.")

        // What is too much.
        case .limitExceeded: self.init(.contentTooLarge, "tooLarge", "This is more than one request may ask for.")
        case .quotaExceeded:
            self.init(.insufficientStorage, "quotaExceeded", "The owner of the list has no room left.")
        case .requestRateLimited:
            self.init(
                .tooManyRequests, "tooManyRequests", "Too many requests in a short time.",
                retryAfterSeconds: error.retryAfterSeconds ?? 10)
        case .zoneBusy, .serviceUnavailable, .networkFailure, .networkUnavailable:
            self.init(
                .serviceUnavailable, "busy", "Try again later.", retryAfterSeconds: error.retryAfterSeconds ?? 3)
        case .serverResponseLost:
            self.init(
                .serviceUnavailable, "outcomeUnknown", "This may have been done or not: look before you try again.",
                retryAfterSeconds: error.retryAfterSeconds ?? 3)
        case .operationCancelled:
            self.init(.serviceUnavailable, "stopping", "The service is being stopped.", retryAfterSeconds: 5)

        // Invalid requests.
        case .invalidArguments, .serverRejectedRequest, .badDatabase, .badContainer, .incompatibleVersion:
            self = .invalid("invalidRequest", "The store does not take this: look at names and values.")

        // What is this service's own fault, and the kinds of items that it unwraps or does not use.
        case .internalError, .partialFailure, .batchRequestFailed, .resultsTruncated, .assetFileNotFound,
            .assetFileModified, .assetNotAvailable:
            self = .unexpected
        }
    }

    // MARK: Errors of the host API

    private init(_ error: StratusError) {
        switch error.code {
        case .unknownShare: self = .notFound
        case .unknownAccount: self = .notSignedIn
        case .accessNotGranted: self.init(.forbidden, "notInvited", "You are not invited: ask the owner.")
        case .alreadyInvited, .alreadyTaken: self.init(.conflict, "conflict", "This contradicts what is there.")
        case .shareIsFull: self.init(.conflict, "shareIsFull", "Nobody more can take part.")
        case .notAllowed: self.init(.forbidden, "readOnly", "You may see this, and not change it.")
        case .invalidArgument: self = .invalid("invalidRequest", "The store does not take this: look at the values.")
        case .diskFull: self.init(.insufficientStorage, "diskFull", "The service has no room left.")
        case .closed, .unavailable:
            self.init(.serviceUnavailable, "busy", "Try again later.", retryAfterSeconds: 5)
        case .commitUnknown:
            self.init(
                .serviceUnavailable, "outcomeUnknown", "This may have been done or not: look before you try again.",
                retryAfterSeconds: 30)
        default: self = .unexpected
        }
    }
}
