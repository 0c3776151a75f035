// The codes of CKError and what each means.

public import Foundation

/// What went wrong. Clients say `CKError.Code`; the raw values are Apple's.
public enum CKErrorCode: Int, Sendable, CaseIterable {
    case internalError = 1
    case partialFailure = 2
    case networkUnavailable = 3
    case networkFailure = 4
    case badContainer = 5
    case serviceUnavailable = 6
    case requestRateLimited = 7
    case missingEntitlement = 8
    case notAuthenticated = 9
    case permissionFailure = 10
    case unknownItem = 11
    case invalidArguments = 12
    /// Never returned.
    case resultsTruncated = 13
    case serverRecordChanged = 14
    case serverRejectedRequest = 15
    case assetFileNotFound = 16
    case assetFileModified = 17
    case incompatibleVersion = 18
    case constraintViolation = 19
    case operationCancelled = 20
    case changeTokenExpired = 21
    case batchRequestFailed = 22
    case zoneBusy = 23
    case badDatabase = 24
    case quotaExceeded = 25
    case zoneNotFound = 26
    case limitExceeded = 27
    case userDeletedZone = 28
    case tooManyParticipants = 29
    case alreadyShared = 30
    case referenceViolation = 31
    case managedAccountRestricted = 32
    case participantMayNeedVerification = 33
    case serverResponseLost = 34
    case assetNotAvailable = 35
    case accountTemporarilyUnavailable = 36
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

    /// A sentence for people, where the error has none of its own.
    var explanation: String {
        switch self {
        case .internalError: "Something went wrong inside the record store."
        case .partialFailure: "Some items failed; the error has the reason of each."
        case .networkUnavailable: "The network is not available."
        case .networkFailure: "The network failed during the request."
        case .badContainer: "The container is unknown or may not be used."
        case .serviceUnavailable: "The record store is not available now."
        case .requestRateLimited: "Too many requests in a short time; try again later."
        case .missingEntitlement: "The app lacks a right that the request needs."
        case .notAuthenticated: "Nobody is signed in."
        case .permissionFailure: "The user may not do this."
        case .unknownItem: "The item does not exist."
        case .invalidArguments: "The request is not a valid one."
        case .resultsTruncated: "Some results were left out."
        case .serverRecordChanged: "The record has been changed by somebody else in the meantime."
        case .serverRejectedRequest: "The record store has rejected the request."
        case .assetFileNotFound: "The file of an asset does not exist."
        case .assetFileModified: "The file of an asset was changed while it was uploaded."
        case .incompatibleVersion: "The version of the app is not compatible with the record store."
        case .constraintViolation: "A value must be unique, and another record has it."
        case .operationCancelled: "The operation was cancelled."
        case .changeTokenExpired: "The change token is too old; fetch all changes again."
        case .batchRequestFailed:
            "The item is fine, but another item of its zone failed, and the zone is changed whole or not at all."
        case .zoneBusy: "The zone is busy; try again later."
        case .badDatabase: "The database does not support the request."
        case .quotaExceeded: "The owner's storage is full."
        case .zoneNotFound: "The zone does not exist."
        case .limitExceeded: "The request is larger than the record store allows; split it."
        case .userDeletedZone: "The user has deleted the zone."
        case .tooManyParticipants: "The share has too many participants."
        case .alreadyShared: "The record is part of a share already."
        case .referenceViolation: "A record's parent does not exist, or is to be deleted while it has children."
        case .managedAccountRestricted: "The account is managed and may not do this."
        case .participantMayNeedVerification: "The user must verify an address to take part in the share."
        case .serverResponseLost: "The answer got lost; the request may have been carried out."
        case .assetNotAvailable: "The file of an asset cannot be read."
        case .accountTemporarilyUnavailable: "The account must be verified before it can be used."
        case .participantAlreadyInvited: "The participant is invited already, under another address."
        }
    }
}
