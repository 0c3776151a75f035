// From what a client sets to what a record holds, with every refusal (C-07).

import Foundation

/// A value that no field can hold; on Apple's systems an exception, here remembered until the save.
struct ValueMisuse: Error {
    var text: String
}

/// A type whose values a field can hold.
protocol HoldableValue {
    /// A copy of the value (C-07).
    func heldValue() throws(ValueMisuse) -> HeldValue
}

extension HeldValue {
    /// Takes a value of any type.
    init(holding value: Any) throws(ValueMisuse) {
        if let value = value as? any HoldableValue {
            self = try value.heldValue()
        } else if let values = value as? [Any] {
            self = try HeldValue(holdingAll: values)
        } else {
            throw ValueMisuse(text: "\(type(of: value)) is not a type that a record can hold.")
        }
    }

    /// Takes the elements of an array.
    init(holdingAll values: [Any]) throws(ValueMisuse) {
        var list: [HeldValue] = []
        list.reserveCapacity(values.count)
        for value in values {
            let held = try HeldValue(holding: value)
            if case .list = held { throw ValueMisuse(text: "A list cannot hold lists.") }
            list.append(held)
        }
        self = .list(HeldValue.unified(list))
    }

    /// The elements of a list are of one type: integers among floating-point numbers become such themselves.
    private static func unified(_ values: [HeldValue]) -> [HeldValue] {
        let hasDouble = values.contains { if case .double = $0 { true } else { false } }
        guard hasDouble else { return values }
        return values.map { if case .int64(let number) = $0 { .double(Double(number)) } else { $0 } }
    }
}

extension HoldableValue where Self: BinaryInteger {
    func heldValue() throws(ValueMisuse) -> HeldValue {
        guard let number = Int64(exactly: self) else {
            throw ValueMisuse(text: "\(self) is larger than the largest integer that a record can hold.")
        }
        return .int64(number)
    }
}

extension Int: HoldableValue {}
extension Int8: HoldableValue {}
extension Int16: HoldableValue {}
extension Int32: HoldableValue {}
extension Int64: HoldableValue {}
extension UInt: HoldableValue {}
extension UInt8: HoldableValue {}
extension UInt16: HoldableValue {}
extension UInt32: HoldableValue {}
extension UInt64: HoldableValue {}

extension Bool: HoldableValue {
    /// The server has no type of truth values (C-21).
    func heldValue() throws(ValueMisuse) -> HeldValue { .int64(self ? 1 : 0) }
}

extension Double: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .double(self) }
}

extension Float: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .double(Double(self)) }
}

extension CGFloat: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .double(Double(self)) }
}

extension Decimal: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .double(NSDecimalNumber(decimal: self).doubleValue) }
}

extension String: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .string(self) }
}

extension Date: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .date(self) }
}

extension Data: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .bytes(self) }
}

extension Array: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { try HeldValue(holdingAll: self) }
}

extension NSString: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .string(String(self)) }
}

extension NSDate: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue {
        .date(Date(timeIntervalSinceReferenceDate: timeIntervalSinceReferenceDate))
    }
}

extension NSData: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .bytes(Data(referencing: self)) }
}

extension NSArray: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { try HeldValue(holdingAll: Array(self)) }
}

extension NSNumber: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue {
        // The text of a floating-point number is none of an integer: 2 is written 2.0.
        let text = stringValue
        if !(self is NSDecimalNumber), let number = Int64(text) { return .int64(number) }
        guard UInt64(text) == nil || self is NSDecimalNumber else {
            throw ValueMisuse(text: "\(text) is larger than the largest integer that a record can hold.")
        }
        return .double(doubleValue)
    }
}

extension CKReference: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .reference(self) }
}

extension CKAsset: HoldableValue {
    /// A URL of another kind has a path too, which must not be taken for one of this machine (C-10).
    func heldValue() throws(ValueMisuse) -> HeldValue {
        guard isOfFile else { throw ValueMisuse(text: "The URL of an asset is that of a file.") }
        return .asset(self)
    }
}

extension CLLocation: HoldableValue {
    func heldValue() throws(ValueMisuse) -> HeldValue { .location(self) }
}
