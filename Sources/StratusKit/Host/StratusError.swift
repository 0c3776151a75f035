// What the host API answers instead of what was asked for. Clients never see these: they get `CKError`.

public import Foundation
import StratusCloud
import StratusRecords
import StratusStore

/// An error of the host API: an open code, a message that says what is wrong and how to mend it, the variables as fields,
/// and the cause.
///
/// Compare codes; the message and the fields are for people and logs.
public struct StratusError: Error, Sendable, CustomStringConvertible {
    /// What kind of error it is. Versions to come may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as it appears in `StratusError.description`.
        public let description: String

        init(_ description: String) { self.description = description }

        /// Somebody else has the store open: another process, named in the fields `holderProcessID` and
        /// `holderCommand`.
        public static let held = Code("held")
        /// The directory does not hold a store of Stratus; nothing in it was changed.
        public static let notAStore = Code("notAStore")
        /// A newer version of Stratus wrote the store.
        public static let newerFormat = Code("newerFormat")
        /// An older version of Stratus wrote the store: `Stratus.open` migrates it, other processes do not.
        public static let olderFormat = Code("olderFormat")
        /// The process may not read or write the store's files.
        public static let notPermitted = Code("notPermitted")
        /// There is no room left on the disk.
        public static let diskFull = Code("diskFull")
        /// Bytes on disk are not what was written: restore a backup.
        public static let corruption = Code("corruption")
        /// The store was closed.
        public static let closed = Code("closed")
        /// The store takes no requests now; the request was not carried out.
        public static let unavailable = Code("unavailable")
        /// The commit may have happened or not: only opening the store again tells.
        public static let commitUnknown = Code("commitUnknown")
        /// No account has this identifier or handle.
        public static let unknownAccount = Code("unknownAccount")
        /// There is no such record.
        public static let unknownRecord = Code("unknownRecord")
        /// The account has no such zone.
        public static let unknownZone = Code("unknownZone")
        /// An external identifier or a handle belongs to another account already.
        public static let alreadyTaken = Code("alreadyTaken")
        /// An argument breaks a rule; nothing was changed.
        public static let invalidArgument = Code("invalidArgument")
        /// There is no share at the URL, or none that the person may know of.
        public static let unknownShare = Code("unknownShare")
        /// The person is not invited to the share; they may ask its owner for access.
        public static let accessNotGranted = Code("accessNotGranted")
        /// The person is invited to the share otherwise: that invitation has to be accepted.
        public static let alreadyInvited = Code("alreadyInvited")
        /// Nobody more can take part in the share.
        public static let shareIsFull = Code("shareIsFull")
        /// The options of a call do not allow what was asked for; nothing was changed.
        public static let notAllowed = Code("notAllowed")
        /// No store was opened and the host has switched the default store off.
        public static let noStore = Code("noStore")
        /// The operating system failed a request for another reason.
        public static let inputOutput = Code("inputOutput")
    }

    /// What kind of error it is.
    public let code: Code
    /// What is wrong, and how to mend it. The text is the same for every error of its kind.
    public let message: String
    /// The variables of the message, by name.
    public let fields: [String: String]
    /// What a floor below said, for people.
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
}

extension StratusError: LocalizedError {
    /// The same as `description`.
    public var errorDescription: String? { description }
}

// MARK: From the floors below

extension StratusError {
    /// Runs `body`, and gives errors of the floors below the words of this one.
    static func wrapping<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            // Keyspaces and keys are named as in errors of the record layer.
            let error = RecordsError(wrapping: error)
            throw StratusError(
                Code(description: error.code.description), text: error.message, error.fields, cause: error.cause)
        } catch let error as RecordsError {
            throw StratusError(
                Code(description: error.code.description), text: error.message, error.fields, cause: error.cause)
        } catch let error as CloudError {
            throw StratusError(error)
        }
    }

    /// An error of the floors below, or one of these; nil for any other.
    static func wrapped(_ error: any Error) -> StratusError? {
        let wrapped = Result<Never, any Error> { try wrapping { throw error } }
        guard case .failure(let error) = wrapped else { return nil }
        return error as? StratusError
    }

    /// A server's refusal of something a host has asked for.
    init(_ error: CloudError) {
        let code: Code =
            switch error.code {
            case .unknownItem, .notAuthenticated: .unknownAccount
            case .zoneNotFound: .unknownZone
            case .constraintViolation: .alreadyTaken
            case .invalidArguments, .limitExceeded: .invalidArgument
            case .serviceUnavailable: .unavailable
            default: Code("server\(error.code.rawValue)")
            }
        self.init(code, text: error.message, error.fields, cause: error.cause)
    }
}

extension StratusError.Code {
    /// A code of the floors below, whose names this floor keeps.
    fileprivate init(description: String) {
        switch description {
        case "invalidRequest": self.init("invalidArgument")
        case "reopening": self.init("unavailable")
        default: self.init(description)
        }
    }
}

// Casts between a StratusError and an NSError, in both directions, as Apple's runtime has them built in for every error.
//
// On Linux a cast looks for this protocol, and for nothing else. The compiler does not know that: it takes
// `catch let error as NSError` for a cast that always succeeds, and what it makes of one that fails ends the process.

extension StratusError: CustomNSError {
    /// `StratusErrorDomain`.
    public static var errorDomain: String { "StratusErrorDomain" }

    /// 1 for every error: `code` tells them apart, and is open, as a number cannot be.
    public var errorCode: Int { 1 }

    /// The description as a sentence for people, the cause as the reason of the failure, and the error itself.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description, Self.errorDomain: self]
        info[NSLocalizedFailureReasonErrorKey] = cause
        return info
    }
}

extension StratusError: _ObjectiveCBridgeable {
    /// The error as Foundation has it: what `as? NSError` gives.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// The error that an object was made from. Others leave nil.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout StratusError?) -> Bool {
        result = source.domain == errorDomain ? source.userInfo[errorDomain] as? StratusError : nil
        return result != nil
    }

    /// The same as the conditional cast. The compiler does not call it for errors.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout StratusError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The error that the object was made from, else one of code `inputOutput` with its description as the cause. The
    /// compiler does not call it for errors.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> StratusError {
        var found: StratusError?
        if let source { _ = _conditionallyBridgeFromObjectiveC(source, result: &found) }
        return found ?? StratusError(.inputOutput, "An error of another kind.", cause: source.map { "\($0)" })
    }
}
