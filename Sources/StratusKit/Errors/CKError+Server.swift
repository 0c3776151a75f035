// From the server's errors to the clients'.

import Foundation
import StratusCloud

extension CKError {
    /// The domain of the errors beneath, whose code is the finer number in log lines such as `14/2004`.
    static let innerDomain = "CKInternalErrorDomain"

    /// An error of the server's as the client sees it.
    /// - Parameters:
    ///   - error: The server's error.
    ///   - client: The record that was to be saved, in a conflict.
    ///   - origin: Where the request went, and whose it was: the server's record may be saved there.
    init(_ error: CloudError, client: CKRecord? = nil, origin: RecordOrigin? = nil) {
        var info: [String: Any] = error.fields
        info[NSLocalizedDescriptionKey] = error.message
        info[CKErrorRetryAfterKey] = error.retryAfterSeconds.map { NSNumber(value: $0) }
        if error.didResetEncryptedData { info[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true) }
        if let inner = error.innerCode {
            let text = error.cause.map { "\(error.message) (\($0))" } ?? error.message
            info[NSUnderlyingErrorKey] = NSError(
                domain: Self.innerDomain, code: inner, userInfo: [NSLocalizedDescriptionKey: text])
        } else if let cause = error.cause {
            info[NSLocalizedFailureReasonErrorKey] = cause
        }
        // A conflict's record, or the share that is in the way.
        info[CKRecordChangedErrorServerRecordKey] = error.serverRecord.map { CKRecord.from($0, origin: origin) }
        if error.code == .serverRecordChanged {
            info[CKRecordChangedErrorClientRecordKey] = client
            info[CKRecordChangedErrorAncestorRecordKey] = client?.makeAncestor()
        }
        self.init(_nsError: NSError(domain: CKErrorDomain, code: error.code.rawValue, userInfo: info))
    }

    /// The failure of a request whose items failed each for itself.
    static func partialFailure(_ errors: [AnyHashable: any Error], _ message: String) -> CKError {
        CKError(
            .partialFailure,
            userInfo: [
                CKPartialErrorsByItemIDKey: errors, NSLocalizedDescriptionKey: message,
                NSUnderlyingErrorKey: NSError(
                    domain: innerDomain, code: 1011, userInfo: [NSLocalizedDescriptionKey: message]),
            ])
    }
}
