// The codes as members of CKError itself, for `catch CKError.zoneNotFound`.

extension CKError {
    /// Something went wrong inside the record store.
    public static var internalError: CKError.Code { .internalError }
    /// Some items failed; the error has the reason of each.
    public static var partialFailure: CKError.Code { .partialFailure }
    /// The network is not available.
    public static var networkUnavailable: CKError.Code { .networkUnavailable }
    /// The network failed during the request.
    public static var networkFailure: CKError.Code { .networkFailure }
    /// The container is unknown or may not be used.
    public static var badContainer: CKError.Code { .badContainer }
    /// The record store is not available now.
    public static var serviceUnavailable: CKError.Code { .serviceUnavailable }
    /// Too many requests in a short time; try again later.
    public static var requestRateLimited: CKError.Code { .requestRateLimited }
    /// The app lacks a right that the request needs.
    public static var missingEntitlement: CKError.Code { .missingEntitlement }
    /// Nobody is signed in.
    public static var notAuthenticated: CKError.Code { .notAuthenticated }
    /// The user may not do this.
    public static var permissionFailure: CKError.Code { .permissionFailure }
    /// The item does not exist.
    public static var unknownItem: CKError.Code { .unknownItem }
    /// The request is not a valid one.
    public static var invalidArguments: CKError.Code { .invalidArguments }
    /// Some results were left out.
    @available(*, deprecated, message: "Never returned.")
    public static var resultsTruncated: CKError.Code { .resultsTruncated }
    /// The record has been changed by somebody else in the meantime.
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
    /// The item is fine, but another item of its zone failed, and the zone is changed whole or not at all.
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
    /// A record's parent does not exist, or is to be deleted while it has children.
    public static var referenceViolation: CKError.Code { .referenceViolation }
    /// The account is managed and may not do this.
    public static var managedAccountRestricted: CKError.Code { .managedAccountRestricted }
    /// The user must verify an address to take part in the share.
    public static var participantMayNeedVerification: CKError.Code { .participantMayNeedVerification }
    /// The answer got lost; the request may have been carried out.
    public static var serverResponseLost: CKError.Code { .serverResponseLost }
    /// The file of an asset cannot be read.
    public static var assetNotAvailable: CKError.Code { .assetNotAvailable }
    /// The account must be verified before it can be used.
    public static var accountTemporarilyUnavailable: CKError.Code { .accountTemporarilyUnavailable }
    /// The participant is invited already, under another address.
    public static var participantAlreadyInvited: CKError.Code { .participantAlreadyInvited }
}
