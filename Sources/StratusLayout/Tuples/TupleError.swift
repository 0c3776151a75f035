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
