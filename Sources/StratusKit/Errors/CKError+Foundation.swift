// Casts between a CKError and an NSError, in both directions, as Apple's runtime has them built in.
//
// On Linux a cast looks for this protocol, and for nothing else. The compiler does not know that: it takes
// `catch let error as NSError` for a cast that always succeeds, and what it makes of one that fails ends the process.

public import Foundation

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
