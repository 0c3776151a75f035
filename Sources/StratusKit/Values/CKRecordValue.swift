// Which types a field can hold. On Apple's systems Objective-C classes carry one protocol and Swift types the other,
// and the compiler bridges; here every type carries both, so that the same client code compiles.

public import Foundation

/// A value of a field, in the words of Objective-C. Clients say `CKRecordValue`.
///
/// No class bound: with one, the compiler would call every `record["x"] as? String` a cast that always fails. What Apple's
/// values have of `NSObjectProtocol` is lent: a description and `isEqual(_:)`.
public protocol __CKRecordObjCValue: CustomStringConvertible {}

/// A value of a field.
public typealias CKRecordValue = __CKRecordObjCValue

/// A value of a field, in the words of Swift.
///
/// Other types that a client lets conform are refused when they are set (C-07).
public protocol CKRecordValueProtocol {}

extension String: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Date: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Data: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Bool: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue {}
extension Double: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue {}
extension Float: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue {}
extension Int: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension Int8: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension Int16: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension Int32: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension Int64: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension UInt: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension UInt8: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension UInt16: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension UInt32: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension UInt64: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}

// Types that Apple's compiler bridges to `NSArray` and `NSNumber`, which are values whatever is in them: `as CKRecordValue`
// compiles and `as? CKRecordValue` succeeds. A list of something else is refused when it is set (C-07).
extension Array: __CKRecordObjCValue {}
extension CGFloat: __CKRecordObjCValue {}
extension Decimal: __CKRecordObjCValue {}

extension NSString: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSNumber: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSDate: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSData: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSArray: __CKRecordObjCValue, CKRecordValueProtocol {}
extension CKReference: __CKRecordObjCValue, CKRecordValueProtocol {}
extension CKAsset: __CKRecordObjCValue, CKRecordValueProtocol {}
extension CLLocation: __CKRecordObjCValue, CKRecordValueProtocol {}

extension __CKRecordObjCValue {
    /// Whether another value is the same in a record, whichever of Swift's or Foundation's types the two have: an `Int` 2 is
    /// equal to an `NSNumber` 2. Assets are equal to themselves alone.
    public func isEqual(_ object: Any?) -> Bool {
        guard let object, let mine = foundationObject(of: self), let other = foundationObject(of: object) else {
            return false
        }
        return mine.isEqual(other)
    }
}

/// What a record would hand out for a value; nil where none holds it.
private func foundationObject(of value: Any) -> NSObject? {
    (value as? NSObject) ?? (try? HeldValue(holding: value).object) as? NSObject
}

/// A type of Swift's that stands for a number.
protocol NumberValue {
    init(truncating number: NSNumber)
}

// A cast between a number of Foundation's and a CGFloat, which Foundation on Linux has for all other numbers of Swift:
// without it `record["width"] as? CGFloat` is nil whatever the record holds.

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

// Values as arguments of formats: clients write `NSPredicate(format: "owner == %@ AND date > %@", reference, date)`, and
// `String(format: "%@", recordID)`.
//
// A text of a format can only take objects of Foundation's own; for `%@` each of these stands with its description, which
// the list of arguments keeps alive. A predicate is given the values themselves.

/// A value that a format takes by its description.
public protocol StratusFormatArgument: _CVarArgObject {}

extension StratusFormatArgument {
    /// The description.
    public var _cVarArgObject: any CVarArg { NSString(string: "\(self)") }

    /// No object: one made here would be gone before it is used.
    public var _cVarArgEncoding: [Int] { [0] }
}

extension CKRecordID: StratusFormatArgument {}
extension CKRecordZoneID: StratusFormatArgument {}
extension CKReference: StratusFormatArgument {}
extension CKAsset: StratusFormatArgument {}
extension CLLocation: StratusFormatArgument {}
extension NSDate: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
extension NSArray: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
extension Date: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
extension Array: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
