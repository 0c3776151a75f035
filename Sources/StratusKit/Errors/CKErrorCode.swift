// The codes of CKError and what each means.

public import Foundation

/// What went wrong. Clients say `CKError.Code`; the raw values are Apple's.
public enum CKErrorCode: Int, Sendable, CaseIterable {
    /// The store failed, or bytes on disk are damaged: only the host can mend it.
    case internalError = 1
    /// Some items failed: `partialErrorsByItemID` has the reason of each.
    case partialFailure = 2
    /// There is no network. The store has none: it comes up by a planned fault alone.
    case networkUnavailable = 3
    /// The network failed, or the request took longer than its time-out.
    case networkFailure = 4
    /// The share belongs to another container: accept it there (M-01).
    case badContainer = 5
    /// The store was closed, cannot be opened, or takes no requests now; the text says which.
    case serviceUnavailable = 6
    /// Too much was asked in a short time: `retryAfterSeconds` says how long to wait (L-16).
    case requestRateLimited = 7
    /// The app lacks a right. No app lacks one here: it comes up by a planned fault alone.
    case missingEntitlement = 8
    /// Nobody is signed in, or the account was closed by the host (O-17).
    case notAuthenticated = 9
    /// The user may not do this: by a share (P-11), a grant of the schema (S-18), or because nothing may be shared (P-19).
    case permissionFailure = 10
    /// There is no such item, or none that the user may know of (M-05).
    case unknownItem = 11
    /// The request breaks a rule; the text says which, and nothing was changed.
    case invalidArguments = 12
    /// Never returned.
    case resultsTruncated = 13
    /// The server's record is not the one that the client began with (S-04): `serverRecord` is that one (S-05).
    case serverRecordChanged = 14
    /// The database has not what was asked of it.
    case serverRejectedRequest = 15
    /// The file of an asset is not there (C-10).
    case assetFileNotFound = 16
    /// The file of an asset was changed while it was read.
    case assetFileModified = 17
    /// The app is too old. No app is here: it comes up by a planned fault alone.
    case incompatibleVersion = 18
    /// A value must be unique, and another has it.
    case constraintViolation = 19
    /// The operation was cancelled (O-08), or the store was closed before it could begin.
    case operationCancelled = 20
    /// The token is older than the history, or its zone was made anew: begin without one (T-09).
    case changeTokenExpired = 21
    /// The item is fine, but another one of its zone failed, and the zone is changed whole or not at all.
    case batchRequestFailed = 22
    /// Others write to the same data: try again after `retryAfterSeconds` (Z-09).
    case zoneBusy = 23
    /// This kind of database does not know the request.
    case badDatabase = 24
    /// The owner's storage is full (S-16).
    case quotaExceeded = 25
    /// There is no such zone, or none that the user may know of.
    case zoneNotFound = 26
    /// The request, a record or a value is larger than is allowed (L-01, L-03): split it.
    case limitExceeded = 27
    /// The user has deleted the app's data: ask before it is uploaded again (Z-07).
    case userDeletedZone = 28
    /// The share has as many participants as it may have (L-12, X-10).
    case tooManyParticipants = 29
    /// The record lies in a share already, above or below: one path has one share (SH-07, SH-08).
    case alreadyShared = 30
    /// A record's parent is not there, or is to go while it has children.
    case referenceViolation = 31
    /// The host has restricted the account.
    case managedAccountRestricted = 32
    /// The share is for somebody with an address that the user has not verified (P-18).
    case participantMayNeedVerification = 33
    /// The answer got lost, and the request may have been carried out: fetch, then decide (S-21).
    case serverResponseLost = 34
    /// The content of an asset cannot be read or kept.
    case assetNotAvailable = 35
    /// The host wants the account verified again.
    case accountTemporarilyUnavailable = 36
    /// The person is invited otherwise already (P-17).
    case participantAlreadyInvited = 37
}

extension CKErrorCode: _ErrorCodeProtocol {
    /// The error that has these codes.
    public typealias _ErrorType = CKError
}

extension CKErrorCode {
    /// Whether an error is one of this code: what `catch CKError.zoneNotFound` asks.
    public static func ~= (code: CKErrorCode, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == CKErrorDomain && error.code == code.rawValue
    }
}
