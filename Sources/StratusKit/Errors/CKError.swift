// The errors that clients see.
//
// A CKError is thrown and stored as itself, and casts to an NSError and back (CKError+Foundation.swift).

public import Foundation
import StratusCloud

/// An error of a request or of one of its items.
///
/// What belongs to it is in `userInfo`, under the keys that begin with `CK` and Foundation's own: the errors of single
/// items, the records of a conflict, the time to wait. Two errors are equal when their codes and user info are.
public struct CKError: _BridgedStoredNSError {
    /// What went wrong.
    public typealias Code = CKErrorCode

    /// The error as Foundation has it.
    public let _nsError: NSError

    /// An error of Foundation's as one of CloudKit's. Its domain is expected to be `CKErrorDomain`.
    public init(_nsError error: NSError) {
        self._nsError = error
    }

    /// An error with a code and what belongs to it.
    public init(_ code: CKError.Code, userInfo: [String: Any] = [:]) {
        self.init(_nsError: NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo))
    }

    /// `CKErrorDomain`.
    public static var errorDomain: String { CKErrorDomain }
    /// `CKErrorDomain`.
    public static var _nsErrorDomain: String { CKErrorDomain }
    /// `CKErrorDomain`.
    public static var __NSErrorDomain: String { CKErrorDomain }

    /// What went wrong; `internalError` for a number that is none of the codes.
    public var code: CKError.Code { Code(rawValue: _nsError.code) ?? .internalError }
    /// The number of the code.
    public var errorCode: Int { _nsError.code }
    /// What belongs to the error.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// The same as an `NSDictionary`, where programs of Swift 3 look for the time to wait.
    public var _userInfo: AnyObject? { NSDictionary(dictionary: _nsError.userInfo) }

    /// The user info. The error is no `LocalizedError`, as it is none on Apple's systems, so that clients can make it one with
    /// sentences of their own.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }

    /// A sentence for people: the server's, or of an error that a client has made Foundation's.
    public var localizedDescription: String { _nsError.localizedDescription }

    /// The error where something was asked and neither answered nor refused.
    static func unanswered(_ fields: [String: String] = [:]) -> CKError {
        CKError(
            .internalError,
            userInfo: fields.merging([NSLocalizedDescriptionKey: "The record store has given no answer."]) { $1 })
    }
}

extension CKError {
    // Foundation's own comparison of such errors does not end on Linux.

    /// Whether two errors have the same code and user info.
    public static func == (left: CKError, right: CKError) -> Bool {
        left.errorCode == right.errorCode && NSDictionary(dictionary: left.userInfo).isEqual(to: right.userInfo)
    }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(errorCode) }

    /// The hash of the code. Foundation's own does not end on Linux.
    public var hashValue: Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }
}

extension CKError {
    /// The errors of single items, by `CKRecord.ID`, `CKRecordZone.ID` or what else the operation's items go by.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// The version that the client began with, in a conflict (S-05).
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

    /// The server's version, in a conflict (S-05): merge into this one and save it (S-06).
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }

    /// The version that was to be saved, in a conflict (S-05).
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }

    /// After how many seconds to try again (L-16); nil where the server has not said.
    public var retryAfterSeconds: Double? { (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue }
}

extension CKError: CustomStringConvertible {
    /// A line for a log: code, inner number, sentence, and what it is about, such as the name of a field.
    public var description: String {
        let inner = (userInfo[NSUnderlyingErrorKey] as? NSError).map { "/\($0.code)" } ?? ""
        let details = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
        let end = details.isEmpty ? "" : " (\(details))"
        return "<CKError: \(code) (\(errorCode)\(inner)); \(localizedDescription)\(end)>"
    }

    /// The variables of the sentence: texts of the server's, under names that neither CloudKit nor Foundation has.
    private var variables: [String: String] {
        userInfo.compactMapValues { $0 as? String }.filter { key, _ in !key.hasPrefix("NS") && !key.hasPrefix("CK") }
    }
}

// Casts between a CKError and an NSError, in both directions, as Apple's runtime has them built in.
//
// On Linux a cast looks for this protocol, and for nothing else. The compiler does not know that: it takes
// `catch let error as NSError` for a cast that always succeeds, and what it makes of one that fails ends the process.

extension CKError: _ObjectiveCBridgeable {
    /// The error as Foundation has it, with its sentence for people: what `as? NSError` gives, of an error in a dictionary
    /// as well.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: CKErrorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// An error of CloudKit's domain. Others leave nil.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        result = source.domain == CKErrorDomain ? CKError(_nsError: source) : nil
        return result != nil
    }

    /// The same as the conditional cast. The compiler does not call it for errors.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The error itself, whatever its domain; `internalError` where there is none. The compiler does not call it for
    /// errors.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        source.map { CKError(_nsError: $0) } ?? CKError.unanswered()
    }
}

// From the server's errors to the clients'.

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
