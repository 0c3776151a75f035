// Casts between a StratusError and an NSError, in both directions, as Apple's runtime has them built in for every error.
//
// On Linux a cast looks for this protocol, and for nothing else. The compiler does not know that: it takes
// `catch let error as NSError` for a cast that always succeeds, and what it makes of one that fails ends the process.

public import Foundation

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
