// The constants of CloudKit's API, with the values of the real framework. Constants that Swift clients can no longer
// name, such as `CKRecordZoneDefaultName`, are omitted.

public import Foundation

/// The owner name that means the signed-in user.
public let CKCurrentUserDefaultName: String = "__defaultOwner__"

/// The record name of every zone-wide share (C-13).
public let CKRecordNameZoneWideShare: String = "cloudkit.zoneshare"

/// The domain of `CKError`.
public let CKErrorDomain: String = "CKErrorDomain"

/// The errors of single items in a `partialFailure`: a dictionary from the item's identifier to its error.
public let CKPartialErrorsByItemIDKey: String = "CKPartialErrors"

/// The client's base version in a `serverRecordChanged` (S-05): a `CKRecord`.
public let CKRecordChangedErrorAncestorRecordKey: String = "AncestorRecord"

/// The server's version in a `serverRecordChanged` (S-05): a `CKRecord`.
public let CKRecordChangedErrorServerRecordKey: String = "ServerRecord"

/// The version that was to be saved in a `serverRecordChanged` (S-05): a `CKRecord`.
public let CKRecordChangedErrorClientRecordKey: String = "ClientRecord"

/// After how many seconds to try again (L-16): an `NSNumber`.
public let CKErrorRetryAfterKey: String = "CKRetryAfter"

/// Whether a `zoneNotFound` comes from a reset of encrypted data (Z-08): an `NSNumber` of a `Bool`. The value of the
/// constant is Stratus' own; Apple has not published its.
public let CKErrorUserDidResetEncryptedDataKey: String = "CKErrorUserDidResetEncryptedData"

/// The old name of `CKCurrentUserDefaultName`.
@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName: String = "__defaultOwner__"

extension NSNotification.Name {
    /// Posted when the signed-in account or its status changes.
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}
