// The codes of `CKError`.

public import Foundation

/// What went wrong. Clients write `CKError.Code`; the raw values are Apple's.
public enum CKErrorCode: Int, Sendable, CaseIterable, _ErrorCodeProtocol {
    /// The store failed, or bytes on disk are damaged. Only the host can repair this.
    case internalError = 1
    /// Some items failed. `partialErrorsByItemID` has the reason of each.
    case partialFailure = 2
    /// There is no network. The store needs none; this is only the result of a planned fault.
    case networkUnavailable = 3
    /// The network failed, or the request took longer than its time-out.
    case networkFailure = 4
    /// The share belongs to another container. Accept it there (M-01).
    case badContainer = 5
    /// The store was closed, cannot be opened, or takes no requests now. The text says which.
    case serviceUnavailable = 6
    /// Too many requests in a short time. `retryAfterSeconds` says how long to wait (L-16).
    case requestRateLimited = 7
    /// The app lacks an entitlement. Apps need none here; this is only the result of a planned fault.
    case missingEntitlement = 8
    /// No account is signed in, or the host has closed the account (O-17).
    case notAuthenticated = 9
    /// The user may not do this: because of a share (P-11) or a grant of the schema (S-18), or because sharing is off
    /// (P-19).
    case permissionFailure = 10
    /// The item does not exist, or the user may not see it (M-05).
    case unknownItem = 11
    /// The request breaks a rule, which the text names. Nothing was changed.
    case invalidArguments = 12
    /// Never returned.
    case resultsTruncated = 13
    /// The server's record is not the version that the client began with (S-04). `serverRecord` is the server's version
    /// (S-05).
    case serverRecordChanged = 14
    /// The database does not have what the request asked for.
    case serverRejectedRequest = 15
    /// The file of an asset does not exist (C-10).
    case assetFileNotFound = 16
    /// The file of an asset changed while it was read.
    case assetFileModified = 17
    /// The app is too old. This is only the result of a planned fault.
    case incompatibleVersion = 18
    /// A value must be unique, and another item has it.
    case constraintViolation = 19
    /// The operation was cancelled (O-08), or the store was closed before the operation began.
    case operationCancelled = 20
    /// The token is older than the history, or its zone was created again. Fetch without a token (T-09).
    case changeTokenExpired = 21
    /// The item is valid, but another item of its zone failed, and the zone is changed completely or not at all.
    case batchRequestFailed = 22
    /// Other clients write to the same data. Try again after `retryAfterSeconds` (Z-09).
    case zoneBusy = 23
    /// This kind of database does not support the request.
    case badDatabase = 24
    /// The owner's storage is full (S-16).
    case quotaExceeded = 25
    /// The zone does not exist, or the user may not see it.
    case zoneNotFound = 26
    /// The request, a record or a value is larger than allowed (L-01, L-03). Split it.
    case limitExceeded = 27
    /// The user has deleted the app's data. Ask before uploading it again (Z-07).
    case userDeletedZone = 28
    /// The share has the maximum number of participants (L-12, X-10).
    case tooManyParticipants = 29
    /// The record is already in a share, above or below. A path has one share (SH-07, SH-08).
    case alreadyShared = 30
    /// A record's parent does not exist, or cannot be deleted while it has children.
    case referenceViolation = 31
    /// The host has restricted the account.
    case managedAccountRestricted = 32
    /// The share is for an address that the user has not verified (P-18).
    case participantMayNeedVerification = 33
    /// The answer was lost, and the request may have been applied. Fetch the items, then decide (S-21).
    case serverResponseLost = 34
    /// The content of an asset cannot be read or stored.
    case assetNotAvailable = 35
    /// The host requires the account to be verified again.
    case accountTemporarilyUnavailable = 36
    /// The person is already invited in another way (P-17).
    case participantAlreadyInvited = 37

    /// The error type with these codes.
    public typealias _ErrorType = CKError

    /// Whether an error has this code: used by `catch CKError.zoneNotFound`.
    public static func ~= (code: CKErrorCode, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == CKErrorDomain && error.code == code.rawValue
    }
}

// The codes as members of `CKError`, for `catch CKError.zoneNotFound`.

extension CKError {
    /// Something went wrong inside the record store.
    public static var internalError: CKError.Code { .internalError }
    /// Some items failed; the error has the reason of each.
    public static var partialFailure: CKError.Code { .partialFailure }
    /// The network is not available.
    public static var networkUnavailable: CKError.Code { .networkUnavailable }
    /// The network failed during the request.
    public static var networkFailure: CKError.Code { .networkFailure }
    /// The container is unknown, or the app may not use it.
    public static var badContainer: CKError.Code { .badContainer }
    /// The record store is not available now.
    public static var serviceUnavailable: CKError.Code { .serviceUnavailable }
    /// Too many requests in a short time; try again later.
    public static var requestRateLimited: CKError.Code { .requestRateLimited }
    /// The app lacks a right that the request needs.
    public static var missingEntitlement: CKError.Code { .missingEntitlement }
    /// No account is signed in.
    public static var notAuthenticated: CKError.Code { .notAuthenticated }
    /// The user may not do this.
    public static var permissionFailure: CKError.Code { .permissionFailure }
    /// The item does not exist.
    public static var unknownItem: CKError.Code { .unknownItem }
    /// The request is invalid.
    public static var invalidArguments: CKError.Code { .invalidArguments }
    /// Some results were omitted.
    @available(*, deprecated, message: "Never returned.")
    public static var resultsTruncated: CKError.Code { .resultsTruncated }
    /// Another client has changed the record in the meantime.
    public static var serverRecordChanged: CKError.Code { .serverRecordChanged }
    /// The record store has rejected the request.
    public static var serverRejectedRequest: CKError.Code { .serverRejectedRequest }
    /// The file of an asset does not exist.
    public static var assetFileNotFound: CKError.Code { .assetFileNotFound }
    /// The file of an asset was changed while it was uploaded.
    public static var assetFileModified: CKError.Code { .assetFileModified }
    /// The version of the app is not compatible with the record store.
    public static var incompatibleVersion: CKError.Code { .incompatibleVersion }
    /// A value must be unique, and another record has it.
    public static var constraintViolation: CKError.Code { .constraintViolation }
    /// The operation was cancelled.
    public static var operationCancelled: CKError.Code { .operationCancelled }
    /// The change token is too old; fetch all changes again.
    public static var changeTokenExpired: CKError.Code { .changeTokenExpired }
    /// The item is valid, but another item of its zone failed, and the zone is changed completely or not at all.
    public static var batchRequestFailed: CKError.Code { .batchRequestFailed }
    /// The zone is busy; try again later.
    public static var zoneBusy: CKError.Code { .zoneBusy }
    /// The database does not support the request.
    public static var badDatabase: CKError.Code { .badDatabase }
    /// The owner's storage is full.
    public static var quotaExceeded: CKError.Code { .quotaExceeded }
    /// The zone does not exist.
    public static var zoneNotFound: CKError.Code { .zoneNotFound }
    /// The request is larger than the record store allows; split it.
    public static var limitExceeded: CKError.Code { .limitExceeded }
    /// The user has deleted the zone.
    public static var userDeletedZone: CKError.Code { .userDeletedZone }
    /// The share has too many participants.
    public static var tooManyParticipants: CKError.Code { .tooManyParticipants }
    /// The record is part of a share already.
    public static var alreadyShared: CKError.Code { .alreadyShared }
    /// A record's parent does not exist, or cannot be deleted while it has children.
    public static var referenceViolation: CKError.Code { .referenceViolation }
    /// The account is managed and may not do this.
    public static var managedAccountRestricted: CKError.Code { .managedAccountRestricted }
    /// The user must verify an address to take part in the share.
    public static var participantMayNeedVerification: CKError.Code { .participantMayNeedVerification }
    /// The answer was lost; the request may have been applied.
    public static var serverResponseLost: CKError.Code { .serverResponseLost }
    /// The file of an asset cannot be read.
    public static var assetNotAvailable: CKError.Code { .assetNotAvailable }
    /// The account must be verified before it can be used.
    public static var accountTemporarilyUnavailable: CKError.Code { .accountTemporarilyUnavailable }
    /// The participant is already invited under another address.
    public static var participantAlreadyInvited: CKError.Code { .participantAlreadyInvited }
}
