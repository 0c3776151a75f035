// Casts between a StratusArchiveError and an NSError, in both directions, as Apple's runtime has them built in for every
// error: without them `catch let error as NSError` ends the process on Linux (see CKError+Foundation.swift).

public import Foundation

extension StratusArchiveError: CustomNSError {
    /// `StratusArchiveErrorDomain`.
    public static var errorDomain: String { "StratusArchiveErrorDomain" }

    /// 1 for every error: `code` tells them apart, and is open, as a number cannot be.
    public var errorCode: Int { 1 }

    /// The description as a sentence for people, and the error itself.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description, Self.errorDomain: self] }
}

extension StratusArchiveError: _ObjectiveCBridgeable {
    /// The error as Foundation has it: what `as? NSError` gives.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// The error that an object was made from. Others leave nil.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout StratusArchiveError?
    ) -> Bool {
        result = source.domain == errorDomain ? source.userInfo[errorDomain] as? StratusArchiveError : nil
        return result != nil
    }

    /// The same as the conditional cast. The compiler does not call it for errors.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout StratusArchiveError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The error that the object was made from, else that the data is no archive. The compiler does not call it for
    /// errors.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> StratusArchiveError {
        var found: StratusArchiveError?
        if let source { _ = _conditionallyBridgeFromObjectiveC(source, result: &found) }
        return found ?? StratusArchiveError(.notAnArchive, "An error of another kind.")
    }
}
