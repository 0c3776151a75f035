// The types that a field can hold. On Apple's systems, Objective-C classes conform to one protocol and Swift types to
// the other, and the compiler bridges. Here every type conforms to both, so that the same client code compiles.

public import Foundation

/// A value of a field, in Objective-C's terms. Clients write `CKRecordValue`.
///
/// The protocol is not bound to classes: otherwise the compiler would report every `record["x"] as? String` as a cast
/// that always fails. It offers what clients use of `NSObjectProtocol`: a description and `isEqual(_:)`.
public protocol __CKRecordObjCValue: CustomStringConvertible {}

/// A value of a field.
public typealias CKRecordValue = __CKRecordObjCValue

/// A value of a field, in Swift's terms.
///
/// If a client makes another type conform, setting a value of that type is refused (C-07).
public protocol CKRecordValueProtocol {}

extension String: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Date: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Data: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Bool: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue {}
extension Double: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
extension Float: __CKRecordObjCValue, CKRecordValueProtocol, NumberValue, HoldableValue {}
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

// Types that Apple's compiler bridges to `NSArray` and `NSNumber`. They are always values there: `as CKRecordValue`
// compiles and `as? CKRecordValue` succeeds. Setting a list of anything else is refused (C-07).
extension Array: __CKRecordObjCValue {}
extension CGFloat: __CKRecordObjCValue, HoldableValue {}
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
    /// Whether another value is the same in a record, regardless of Swift's and Foundation's types: an `Int` 2 is equal
    /// to an `NSNumber` 2. An asset is equal only to itself.
    public func isEqual(_ object: Any?) -> Bool {
        guard let object, let mine = foundationObject(of: self), let other = foundationObject(of: object) else {
            return false
        }
        return mine.isEqual(other)
    }
}

/// What a record returns for a value; nil if no record holds it.
private func foundationObject(of value: Any) -> NSObject? {
    (value as? NSObject) ?? (try? HeldValue(holding: value).object) as? NSObject
}

/// A Swift type that represents a number.
protocol NumberValue {
    init(truncating number: NSNumber)
}

// A cast between Foundation's numbers and `CGFloat`. Foundation on Linux has it for all other number types; without it,
// `record["width"] as? CGFloat` is always nil.

extension CGFloat: @retroactive _ObjectiveCBridgeable {
    /// The value as an `NSNumber`.
    public func _bridgeToObjectiveC() -> NSNumber { NSNumber(value: native) }

    /// A number that a `CGFloat` holds exactly; nil for others.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSNumber, result: inout CGFloat?) -> Bool {
        result = Double(exactly: source).map { CGFloat($0) }
        return result != nil
    }

    /// The same as the conditional cast.
    public static func _forceBridgeFromObjectiveC(_ source: NSNumber, result: inout CGFloat?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The number, or zero for nil.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSNumber?) -> CGFloat {
        CGFloat(source?.doubleValue ?? 0)
    }
}

// Values as arguments of formats: clients write `NSPredicate(format: "owner == %@ AND date > %@", reference, date)` and
// `String(format: "%@", recordID)`.
//
// A text format takes only Foundation's own objects. So `%@` prints the description of each of these types, which the
// argument list keeps alive. A predicate gets the values themselves.

/// A value that a format prints by its description.
public protocol StratusFormatArgument: _CVarArgObject {}

extension StratusFormatArgument {
    /// The description.
    public var _cVarArgObject: any CVarArg { NSString(string: "\(self)") }

    /// Empty: an object created here would be released before it is used.
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
