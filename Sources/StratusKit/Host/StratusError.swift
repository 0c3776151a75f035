// The errors of the host API. Clients never see them: they get `CKError`.

public import Foundation
import StratusCloud
import StratusRecords
package import StratusStore

/// An error of the host API: an open code, a message that says what failed and what to do, the variables as fields, and
/// the cause.
///
/// Compare codes. The message and the fields are for people and logs.
public struct StratusError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as it appears in `StratusError.description`.
        public let description: String

        init(_ description: String) { self.description = description }

        /// Another process has the store open. The fields `holderProcessID` and `holderCommand` name it.
        public static let held = Code("held")
        /// The directory does not contain a Stratus store. Nothing in it was changed.
        public static let notAStore = Code("notAStore")
        /// A newer version of Stratus wrote the store.
        public static let newerFormat = Code("newerFormat")
        /// An older version of Stratus wrote the store. `Stratus.open` migrates it; other processes do not.
        public static let olderFormat = Code("olderFormat")
        /// The process may not read or write the store's files.
        public static let notPermitted = Code("notPermitted")
        /// The disk is full.
        public static let diskFull = Code("diskFull")
        /// Bytes on disk are not the written ones. Restore a backup.
        public static let corruption = Code("corruption")
        /// The store was closed.
        public static let closed = Code("closed")
        /// The store takes no requests now. The request was not applied.
        public static let unavailable = Code("unavailable")
        /// The commit may have happened or not. Reopen the store to find out.
        public static let commitUnknown = Code("commitUnknown")
        /// No account has this identifier or handle.
        public static let unknownAccount = Code("unknownAccount")
        /// The record does not exist.
        public static let unknownRecord = Code("unknownRecord")
        /// The account has no such zone.
        public static let unknownZone = Code("unknownZone")
        /// An external identifier or a handle already belongs to another account.
        public static let alreadyTaken = Code("alreadyTaken")
        /// An argument breaks a rule. Nothing was changed.
        public static let invalidArgument = Code("invalidArgument")
        /// There is no share at the URL, or the person may not know of it.
        public static let unknownShare = Code("unknownShare")
        /// The person is not invited to the share. They may request access from its owner.
        public static let accessNotGranted = Code("accessNotGranted")
        /// The person is invited to the share in another way. Accept that invitation.
        public static let alreadyInvited = Code("alreadyInvited")
        /// The share has the maximum number of participants.
        public static let shareIsFull = Code("shareIsFull")
        /// The options of a call do not allow it. Nothing was changed.
        public static let notAllowed = Code("notAllowed")
        /// No store was opened and the host has switched the default store off.
        public static let noStore = Code("noStore")
        /// The operating system failed a request for another reason.
        public static let inputOutput = Code("inputOutput")

        /// The code for an error of the layers below. All but three keep their names.
        package init(_ code: StoreError.Code) {
            switch code {
            case .invalidRequest: self = .invalidArgument
            case .reopening, .snapshotEnded: self = .unavailable
            case .unavailable, .commitUnknown, .corruption, .closed, .held, .notAStore, .newerFormat, .olderFormat,
                .notPermitted, .diskFull, .inputOutput, .unknownZone, .unknownRecord, .conflict, .tooLarge,
                .commitDropped, .reachedByPath, .serverSetting, .hierarchyTooDeep, .expired, .rebuilding:
                self.init(code.rawValue)
            }
        }
    }

    /// The kind of error.
    public let code: Code
    /// What failed, and what to do. The text is the same for every error of its kind.
    public let message: String
    /// The variables of the message, by name.
    public let fields: [String: String]
    /// The message of a lower layer, for people.
    public let cause: String?

    init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:], cause: String? = nil) {
        self.init(code, text: "\(message)", fields, cause: cause)
    }

    init(_ code: Code, text: String, _ fields: [String: String], cause: String?) {
        self.code = code
        self.message = text
        self.fields = fields
        self.cause = cause
    }

    /// The code, the message, the fields in alphabetical order, and the cause.
    public var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let details = (variables + (cause.map { ["cause: \($0)"] } ?? [])).joined(separator: ", ")
        return details.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(details))"
    }

    // MARK: From the floors below

    /// Runs `body`, and converts errors of the layers below.
    static func wrapping<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            // Name keyspaces and keys as the record layer does.
            let error = error.describingKeys
            throw StratusError(Code(error.code), text: error.message, error.fields, cause: error.cause)
        } catch let error as CloudError {
            throw StratusError(error)
        } catch let mistake as Misuse {
            throw StratusError(mistake.error)
        }
    }

    /// Converts an error of the layers below; nil for any other error.
    static func wrapped(_ error: any Error) -> StratusError? {
        let wrapped = Result<Never, any Error> { try wrapping { throw error } }
        guard case .failure(let error) = wrapped else { return nil }
        return error as? StratusError
    }

    /// The server's refusal of a host's request; with the usual code if none is given.
    init(_ error: CloudError, code: Code? = nil) {
        let usual: Code =
            switch error.code {
            case .unknownItem, .notAuthenticated: .unknownAccount
            case .zoneNotFound: .unknownZone
            case .constraintViolation: .alreadyTaken
            case .invalidArguments, .limitExceeded: .invalidArgument
            case .serviceUnavailable: .unavailable
            default: Code("server\(error.code.rawValue)")
            }
        self.init(code ?? usual, text: error.message, error.fields, cause: error.cause)
    }
}

extension StratusError: LocalizedError, CustomNSError, _ObjectiveCBridgeable {
    /// The same as `description`.
    public var errorDescription: String? { description }

    // Casts between a `StratusError` and an `NSError`, in both directions, which Apple's runtime has built in for every
    // error.
    //
    // On Linux a cast uses only this protocol. The compiler assumes that `catch let error as NSError` always succeeds,
    // and a cast that fails ends the process.

    /// `StratusErrorDomain`.
    public static var errorDomain: String { "StratusErrorDomain" }

    /// Always 1: `code` distinguishes the errors. It is open, as a number cannot be.
    public var errorCode: Int { 1 }

    /// The description for people, the cause as the failure reason, and the error itself.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description, Self.errorDomain: self]
        info[NSLocalizedFailureReasonErrorKey] = cause
        return info
    }

    /// The error as an `NSError`: the result of `as? NSError`.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// The error that an object was created from; nil for others.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout StratusError?) -> Bool {
        result = source.domain == errorDomain ? source.userInfo[errorDomain] as? StratusError : nil
        return result != nil
    }

    /// The same as the conditional cast. The compiler does not call it for errors.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout StratusError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The error that the object was created from; otherwise an error with the code `inputOutput` and the object's
    /// description as the cause. The compiler does not call it for errors.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> StratusError {
        var found: StratusError?
        if let source { _ = _conditionallyBridgeFromObjectiveC(source, result: &found) }
        return found ?? StratusError(.inputOutput, "An error of another kind.", cause: source.map { "\($0)" })
    }
}
