// The tool's own errors, the exit codes, and what each failure ends the process with.
//
// Errors of the store, the record layer and the server keep their codes and messages: see `ErrorReport`. The exit
// status is decided by codes alone, never by a text.

import StratusKit
import StratusModel
import StratusStore

/// An error of the tool: a code, a message that says what to do, the variables as fields.
struct ToolError: Error, Sendable {
    enum Code: String, Sendable {
        /// There is no record, zone or file of this name.
        case notFound
        /// The path holds something other than a store.
        case notAStore
        /// A path of names leads to several records.
        case ambiguous
        /// The request would do something that was not asked for, or that a rule forbids.
        case refused
        /// The command line is wrong.
        case usage
        /// The results cannot be written.
        case outputFailed
        /// The reader of the results has closed the pipe.
        case pipeBroken
        /// A signal asked the verb to stop, and it stopped at a safe point.
        case interrupted
        /// A check found something.
        case damaged

        var exit: ExitStatus {
            switch self {
            case .notFound: .notFound
            case .notAStore: .notOpened
            case .usage: .usage
            case .interrupted: .interrupted
            case .ambiguous, .refused, .outputFailed, .pipeBroken, .damaged: .failure
            }
        }
    }

    let code: Code
    let message: String
    let fields: [String: String]

    init(_ code: Code, _ message: String, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = message
        self.fields = fields
    }
}

/// A CloudKit request that failed for these records. Nothing was changed. Records that failed only because others did
/// are not among them.
struct ItemsRefused: Error {
    let errors: [RecordName: CKError]
}

/// The exit codes. Scripts rely on them: never change them.
enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 2
    case notFound = 3
    case notOpened = 4
    case corruption = 5
    /// 128 + SIGINT, as shells report it.
    case interrupted = 130

    /// The code's meaning, for the help.
    var meaning: String {
        switch self {
        case .success: "done"
        case .failure: "refused or failed: a rule forbids it, verify found something, a write failed"
        case .usage: "the command line is wrong"
        case .notFound: "no such record, zone, directory or rule"
        case .notOpened: "the store cannot be opened: not a store, held by a process, of a newer format, not permitted"
        case .corruption: "bytes of the store are not what was written"
        case .interrupted: "interrupted: finished work is kept; run the same command again to continue"
        }
    }
}

extension StoreError.Code {
    /// The exit status of a verb that ends with this error.
    var exit: ExitStatus {
        switch self {
        case .unknownZone, .unknownRecord: .notFound
        case .held, .notAStore, .newerFormat, .olderFormat, .notPermitted: .notOpened
        case .corruption: .corruption
        case .conflict, .tooLarge, .unavailable, .commitUnknown, .closed, .diskFull, .reopening, .commitDropped,
            .reachedByPath, .serverSetting, .inputOutput, .invalidRequest, .hierarchyTooDeep, .expired, .rebuilding,
            .snapshotEnded:
            .failure
        }
    }

    /// The code of a store's error; nil for any other error, and for a code that only the host API has.
    init?(of error: any Error) {
        if let error = error as? StoreError {
            self = error.code
        } else {
            guard let error = error as? StratusError, let code = Self.allCases.first(where: { error.code == .init($0) })
            else { return nil }
            self = code
        }
    }
}

extension StratusError.Code {
    /// The exit status of a verb that ends with this error. The set of these codes is open.
    var exit: ExitStatus {
        switch self {
        case .unknownShare, .unknownAccount: .notFound
        default: StoreError.Code.allCases.first { self == .init($0) }?.exit ?? .failure
        }
    }
}

extension CKError.Code {
    /// The exit status of a request that failed with this code.
    var exit: ExitStatus {
        switch self {
        case .unknownItem, .zoneNotFound: .notFound
        // For example a malformed predicate.
        case .invalidArguments: .usage
        case .internalError, .partialFailure, .networkUnavailable, .networkFailure, .badContainer, .serviceUnavailable,
            .requestRateLimited, .missingEntitlement, .notAuthenticated, .permissionFailure, .resultsTruncated,
            .serverRecordChanged, .serverRejectedRequest, .assetFileNotFound, .assetFileModified, .incompatibleVersion,
            .constraintViolation, .operationCancelled, .changeTokenExpired, .batchRequestFailed, .zoneBusy,
            .badDatabase, .quotaExceeded, .limitExceeded, .userDeletedZone, .tooManyParticipants, .alreadyShared,
            .referenceViolation, .managedAccountRestricted, .participantMayNeedVerification, .serverResponseLost,
            .assetNotAvailable, .accountTemporarilyUnavailable, .participantAlreadyInvited:
            .failure
        }
    }
}
