// The errors that clients see.
//
// A `CKError` is thrown and stored as itself, and casts to an `NSError` and back.

public import Foundation
import StratusCloud

/// An error of a request or of one of its items.
///
/// `userInfo` has the details, under keys that begin with `CK` and under Foundation's own: the errors of single items,
/// the records of a conflict, the time to wait. Two errors are equal if their codes and user info are.
public struct CKError: _BridgedStoredNSError, CustomStringConvertible {
    /// What went wrong.
    public typealias Code = CKErrorCode

    /// The error as an `NSError`.
    public let _nsError: NSError

    /// Converts an `NSError`. Its domain should be `CKErrorDomain`.
    public init(_nsError error: NSError) {
        self._nsError = error
    }

    /// Creates an error with a code and details.
    public init(_ code: CKError.Code, userInfo: [String: Any] = [:]) {
        self.init(_nsError: NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo))
    }

    /// `CKErrorDomain`.
    public static var errorDomain: String { CKErrorDomain }
    /// `CKErrorDomain`.
    public static var _nsErrorDomain: String { CKErrorDomain }
    /// `CKErrorDomain`.
    public static var __NSErrorDomain: String { CKErrorDomain }

    /// What went wrong; `internalError` for an unknown number.
    public var code: CKError.Code { Code(rawValue: _nsError.code) ?? .internalError }
    /// The number of the code.
    public var errorCode: Int { _nsError.code }
    /// The details of the error.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// The same as an `NSDictionary`, where Swift 3 programs look for the time to wait.
    public var _userInfo: AnyObject? { NSDictionary(dictionary: _nsError.userInfo) }

    /// The user info. As on Apple's systems, the error does not conform to `LocalizedError`, so that clients can make
    /// it conform with their own sentences.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }

    /// A sentence for people: the server's, or Foundation's for an error that a client created.
    public var localizedDescription: String { _nsError.localizedDescription }

    /// The error of a request that was neither answered nor refused.
    static func unanswered(_ fields: [String: String] = [:]) -> CKError {
        CKError(
            .internalError,
            userInfo: fields.merging([NSLocalizedDescriptionKey: "The record store gave no answer."]) { $1 })
    }

    // Foundation's own comparison of such errors does not end on Linux.

    /// Whether two errors have the same code and user info.
    public static func == (left: CKError, right: CKError) -> Bool {
        left.errorCode == right.errorCode && NSDictionary(dictionary: left.comparedInfo).isEqual(to: right.comparedInfo)
    }

    /// The user info with numbers as objects: Foundation on Linux finds no Swift number equal to itself.
    private var comparedInfo: [String: Any] {
        userInfo.mapValues { value in
            switch value {
            case let number as any FixedWidthInteger:
                Int64(exactly: number).map { NSNumber(value: $0) }
                    ?? NSNumber(value: UInt64(truncatingIfNeeded: number))
            case let number as any BinaryFloatingPoint: NSNumber(value: Double(number))
            default: value
            }
        }
    }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(errorCode) }

    /// The hash of the code. Foundation's own does not end on Linux.
    public var hashValue: Int { errorCode.hashValue }

    /// The errors of single items, by `CKRecord.ID`, `CKRecordZone.ID` or the operation's other kind of item.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// In a conflict, the version that the client began with (S-05).
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

    /// In a conflict, the server's version (S-05). Merge into it and save it (S-06).
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }

    /// In a conflict, the version that the client tried to save (S-05).
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }

    /// How many seconds to wait before trying again (L-16); nil if the server did not say.
    public var retryAfterSeconds: Double? { (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue }

    // Conversion of the server's errors.

    /// The domain of underlying errors. Their code is the finer number in log lines such as `14/2004`.
    static let innerDomain = "CKInternalErrorDomain"

    /// The key in the user info that says, with `true`, that the store is damaged.
    package static let storeIsDamagedKey = "StratusStoreIsDamaged"

    /// A server's error as clients see it.
    /// - Parameters:
    ///   - error: The server's error.
    ///   - client: In a conflict, the record that the client tried to save.
    ///   - origin: Where the request went, and from which account. The server's record may be saved there.
    init(_ error: CloudError, client: CKRecord? = nil, origin: RecordOrigin? = nil) {
        var info: [String: Any] = error.fields
        info[NSLocalizedDescriptionKey] = error.message
        info[CKErrorRetryAfterKey] = error.retryAfterSeconds.map { NSNumber(value: $0) }
        if error.didResetEncryptedData { info[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true) }
        if error.isDamage == true { info[Self.storeIsDamagedKey] = NSNumber(value: true) }
        if let inner = error.innerCode {
            let text = error.cause.map { "\(error.message) (\($0))" } ?? error.message
            info[NSUnderlyingErrorKey] = NSError(
                domain: Self.innerDomain, code: inner, userInfo: [NSLocalizedDescriptionKey: text])
        } else if let cause = error.cause {
            info[NSLocalizedFailureReasonErrorKey] = cause
        }
        // The record of a conflict, or the share that prevents the save.
        info[CKRecordChangedErrorServerRecordKey] = error.serverRecord.map { CKRecord.from($0, origin: origin) }
        if error.code == .serverRecordChanged {
            info[CKRecordChangedErrorClientRecordKey] = client
            info[CKRecordChangedErrorAncestorRecordKey] = client?.makeAncestor()
        }
        self.init(_nsError: NSError(domain: CKErrorDomain, code: error.code.rawValue, userInfo: info))
    }

    /// The failure of a request whose items failed one by one.
    static func partialFailure(_ errors: [AnyHashable: any Error], _ message: String) -> CKError {
        CKError(
            .partialFailure,
            userInfo: [
                CKPartialErrorsByItemIDKey: errors, NSLocalizedDescriptionKey: message,
                NSUnderlyingErrorKey: NSError(
                    domain: innerDomain, code: 1011, userInfo: [NSLocalizedDescriptionKey: message]),
            ])
    }

    /// A line for a log: code, inner number, sentence, and variables such as the name of a field.
    public var description: String {
        let inner = (userInfo[NSUnderlyingErrorKey] as? NSError).map { "/\($0.code)" } ?? ""
        let details = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
        let end = details.isEmpty ? "" : " (\(details))"
        return "<CKError: \(code) (\(errorCode)\(inner)); \(localizedDescription)\(end)>"
    }

    /// The variables of the sentence: texts from the server, under names that neither CloudKit nor Foundation uses.
    private var variables: [String: String] {
        userInfo.compactMapValues { $0 as? String }.filter { key, _ in !key.hasPrefix("NS") && !key.hasPrefix("CK") }
    }
}

// Casts between a `CKError` and an `NSError`, in both directions, which Apple's runtime has built in.
//
// On Linux a cast uses only this protocol. The compiler assumes that `catch let error as NSError` always succeeds, and
// a cast that fails ends the process.

extension CKError: _ObjectiveCBridgeable {
    /// The error as an `NSError`, with its sentence for people: the result of `as? NSError`, also for an error in a
    /// dictionary.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: CKErrorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// Converts an error of CloudKit's domain; nil for others.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        result = source.domain == CKErrorDomain ? CKError(_nsError: source) : nil
        return result != nil
    }

    /// The same as the conditional cast. The compiler does not call it for errors.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The error itself, whatever its domain; `internalError` for nil. The compiler does not call it for errors.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        source.map { CKError(_nsError: $0) } ?? CKError.unanswered()
    }
}
