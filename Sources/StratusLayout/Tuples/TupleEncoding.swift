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

// What can be wrong with bytes that should be a tuple, or with a tuple that should become bytes.

/// An error of the encoding: an open code, a message that says how to mend it, and the variables as fields.
package struct TupleError: Error, Hashable, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The bytes stop in the middle of an element, or there is no element left.
        package static let endOfBytes = Code(description: "endOfBytes")
        /// There is an element, of another type than the one asked for.
        package static let unexpectedType = Code(description: "unexpectedType")
        /// The first byte of the element is no type's number.
        package static let unknownType = Code(description: "unknownType")
        /// The value is readable, but its bytes are not the only ones it may have.
        package static let notCanonical = Code(description: "notCanonical")
        /// The integer is valid and does not fit the type asked for.
        package static let integerOutOfRange = Code(description: "integerOutOfRange")
        /// The bytes of a string are not UTF-8.
        package static let invalidText = Code(description: "invalidText")
        /// Tuples lie deeper inside one another than `TupleLimits.maximumNestedDepth`.
        package static let nestedTooDeep = Code(description: "nestedTooDeep")
        /// The tuple was expected to end, and goes on.
        package static let trailingBytes = Code(description: "trailingBytes")
    }

    package let code: Code
    /// Where in the bytes: the offset of the element's first byte. When writing, the offset reached in the buffer.
    package let position: Int
    /// The type code found, where the code of the error is about one.
    package let typeCode: UInt8?

    package init(_ code: Code, position: Int, typeCode: UInt8? = nil) {
        self.code = code
        self.position = position
        self.typeCode = typeCode
    }

    /// What is wrong and how to mend it; variables are in the fields.
    package var message: String {
        switch code {
        case .endOfBytes: "The bytes end before the element does: they were cut, or read past their end."
        case .unexpectedType: "The element has another type: read it as what it is, or check the key's layout."
        case .unknownType: "No element begins with this byte: the bytes are damaged or of a newer format."
        case .notCanonical: "The value has a shorter or different encoding: these bytes were not written by this code."
        case .integerOutOfRange: "The integer does not fit: read it as the wider type or as an element."
        case .invalidText: "The bytes of the string are not UTF-8: they are damaged or not a string."
        case .nestedTooDeep: "The tuples are nested too deeply: flatten them."
        case .trailingBytes: "There are bytes after the last element: read them too, or check the key's layout."
        default: "The tuple cannot be read or written."
        }
    }

    package var description: String {
        let type = typeCode.map { ", typeCode=\($0)" } ?? ""
        return "\(code): \(message) (position=\(position)\(type))"
    }
}

// Doubles as unsigned integers that sort as the doubles do: IEEE 754's total order.
//
// -NaN < -infinity < ... < -0.0 < 0.0 < ... < infinity < NaN, and NaNs among themselves by sign and payload. The
// mapping keeps every bit: what is read is what was written, -0.0 and a NaN's payload included. So 0.0 and -0.0 are
// different elements with different bytes; whoever wants them equal writes `value + 0.0` (which turns -0.0 into 0.0).

extension Double {
    /// The value's place in the total order.
    package var orderedBits: UInt64 {
        let bits = bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    /// The value at a place in the total order.
    package init(orderedBits: UInt64) {
        self.init(bitPattern: orderedBits >> 63 == 1 ? orderedBits & ~(1 << 63) : ~orderedBits)
    }
}

// Copies between spans and arrays of bytes.

extension [UInt8] {
    /// Appends a copy of the bytes of a span.
    mutating func append(copying span: Span<UInt8>) {
        append(addingCapacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }

    /// A copy of the bytes of a span.
    init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }
}
