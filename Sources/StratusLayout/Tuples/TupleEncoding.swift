// The numbers, limits and errors of the tuple encoding. `TupleWriter` describes the byte layout.
//
// The first byte of every element is its type code. The order of the codes is the order of the types: null < bytes <
// string < nested tuple < integer < double < false < true < UUID < date. No code is 0xFF, so a key of elements
// always has an upper bound. No code is 0x00, which ends text, bytes and nested tuples. The gaps are for new types.

/// The type codes. They are on disk: never change one, and never reuse a retired one.
package enum TupleTypeCode {
    /// Ends bytes, a string and a nested tuple. Not a type: it is lower than every type, so that a prefix sorts first.
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

    /// Whether an element can begin with this byte.
    static func isKnown(_ code: UInt8) -> Bool {
        switch code {
        case null, bytes, string, nested, integerLowest...integerHighest, double, booleanFalse, booleanTrue, uuid, date:
            true
        default: false
        }
    }
}

/// The escapes inside bytes and strings: a content byte 0x00 is written `01 01`, a content byte 0x01 is written
/// `01 02`, and every other byte is written as is. Never change them.
///
/// So 0x00 is always the end, no encoding is the beginning of another one, and order is kept:
/// end < escaped 0x00 < escaped 0x01 < 0x02.
package enum TupleEscape {
    package static let lead: UInt8 = 0x01
    package static let zero: UInt8 = 0x01
    package static let one: UInt8 = 0x02
}

/// Limits of the encoding.
package enum TupleLimits {
    /// The deepest nesting of tuples. Readers and writers refuse more, so that no input can exhaust the stack.
    package static let maximumNestedDepth = 32
}

/// An error of the encoding: a code, a message with the remedy, and the variables as fields.
package struct TupleError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The bytes stop in the middle of an element, or there is no element left.
        case endOfBytes
        /// The next element has another type than the requested one.
        case unexpectedType
        /// The first byte of the element is no type code.
        case unknownType
        /// The value is readable, but its bytes are not its canonical encoding.
        case notCanonical
        /// The integer is valid but does not fit the requested type.
        case integerOutOfRange
        /// The bytes of a string are not UTF-8.
        case invalidText
        /// Tuples are nested more deeply than `TupleLimits.maximumNestedDepth`.
        case nestedTooDeep
    }

    package let code: Code
    /// The offset of the element's first byte. When writing, the offset reached in the buffer.
    package let position: Int
    /// The type code found, where the code of the error is about one.
    package let typeCode: UInt8?

    package init(_ code: Code, position: Int, typeCode: UInt8? = nil) {
        self.code = code
        self.position = position
        self.typeCode = typeCode
    }

    /// What is wrong and how to fix it. Variables are in the fields.
    package var message: String {
        switch code {
        case .endOfBytes: "The bytes end before the element does: they were cut, or read past their end."
        case .unexpectedType: "The element has another type: read it as that type, or check the key's layout."
        case .unknownType: "No element begins with this byte: the bytes are damaged or of a newer format."
        case .notCanonical: "The value has a shorter or different encoding: these bytes were not written by this code."
        case .integerOutOfRange: "The integer does not fit: read it as the wider type or as an element."
        case .invalidText: "The bytes of the string are not UTF-8: they are damaged or not a string."
        case .nestedTooDeep: "The tuples are nested too deeply: flatten them."
        }
    }

    package var description: String {
        let type = typeCode.map { ", typeCode=\($0)" } ?? ""
        return "\(code): \(message) (position=\(position)\(type))"
    }
}

// Doubles map to unsigned integers that sort in IEEE 754's total order: -NaN < -infinity < … < -0.0 < 0.0 < … <
// infinity < NaN, and NaNs among themselves by sign and payload. The mapping keeps every bit, -0.0 and NaN payloads
// included, so 0.0 and -0.0 are different elements. To make them equal, write `value + 0.0`, which turns -0.0 into 0.0.
extension Double {
    /// The value's place in the total order.
    var orderedBits: UInt64 {
        let bits = bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    /// The value at a place in the total order.
    init(orderedBits: UInt64) {
        self.init(bitPattern: orderedBits >> 63 == 1 ? orderedBits & ~(1 << 63) : ~orderedBits)
    }
}
