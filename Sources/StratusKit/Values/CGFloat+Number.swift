// A cast between a number of Foundation's and a CGFloat, which Foundation on Linux has for all other numbers of Swift:
// without it `record["width"] as? CGFloat` is nil whatever the record holds.

public import Foundation

extension CGFloat: @retroactive _ObjectiveCBridgeable {
    /// The number as Foundation has it.
    public func _bridgeToObjectiveC() -> NSNumber { NSNumber(value: native) }

    /// A number that a `CGFloat` can hold exactly. Others leave nil.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSNumber, result: inout CGFloat?) -> Bool {
        result = Double(exactly: source).map { CGFloat($0) }
        return result != nil
    }

    /// The same as the conditional cast.
    public static func _forceBridgeFromObjectiveC(_ source: NSNumber, result: inout CGFloat?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The number; zero where there is none.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSNumber?) -> CGFloat {
        CGFloat(source?.doubleValue ?? 0)
    }
}
