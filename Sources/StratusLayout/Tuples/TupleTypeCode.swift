// The first byte of every element. These numbers are on disk: they never change, and a retired one is never reused.
//
// Their order is the order of the types: null < bytes < string < nested tuple < integer < double < false < true
// < UUID < date. No code is 0xFF, so a key made of elements always has an upper bound; no code is 0x00, which ends
// text, bytes and nested tuples. The gaps are for types to come.

/// The numbers of the element types. Never change.
package enum TupleTypeCode {
    /// Ends bytes, a string and a nested tuple. Not a type: lower than every type, so that a prefix sorts first.
    package static let end: UInt8 = 0x00
    package static let null: UInt8 = 0x01
    package static let bytes: UInt8 = 0x02
    package static let string: UInt8 = 0x03
    package static let nested: UInt8 = 0x04
    /// Integers of n bytes have the codes `integerZero - n` (negative) and `integerZero + n` (positive), n in 1...8.
    package static let integerLowest: UInt8 = 0x08
    package static let integerZero: UInt8 = 0x10
    package static let integerHighest: UInt8 = 0x18
    package static let double: UInt8 = 0x20
    package static let booleanFalse: UInt8 = 0x28
    package static let booleanTrue: UInt8 = 0x29
    package static let uuid: UInt8 = 0x30
    package static let date: UInt8 = 0x38
}

/// The escape inside bytes and strings: a content byte 0x00 is written `01 01`, a content byte 0x01 is written
/// `01 02`, every other byte stands for itself. Never change.
///
/// So 0x00 is always the end, an encoding is never the beginning of another one, and order is kept:
/// end < escaped 0x00 < escaped 0x01 < 0x02.
package enum TupleEscape {
    package static let lead: UInt8 = 0x01
    package static let zero: UInt8 = 0x01
    package static let one: UInt8 = 0x02
}

/// Limits of the encoding.
package enum TupleLimits {
    /// How many tuples may lie inside one another; deeper ones are refused in both directions, so that no input
    /// can exhaust the stack.
    package static let maximumNestedDepth = 32
}
