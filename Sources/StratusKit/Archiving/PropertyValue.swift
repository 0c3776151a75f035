// A property list as a plain value.

import Foundation

/// A value of a property list, with the references that keyed archives add.
enum PropertyValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// Seconds since the beginning of 2001.
    case date(Double)
    case data(Data)
    case string(String)
    /// A reference to another object of the archive.
    case reference(Int)
    case array([PropertyValue])
    case dictionary([String: PropertyValue])

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var reference: Int? { if case .reference(let index) = self { index } else { nil } }
    var array: [PropertyValue]? { if case .array(let values) = self { values } else { nil } }
    var dictionary: [String: PropertyValue]? { if case .dictionary(let values) = self { values } else { nil } }

    /// A number as an integer; nil for one that is none.
    var number: Int64? {
        switch self {
        case .bool(let flag): flag ? 1 : 0
        case .integer(let number): number
        case .real(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// A number as a floating-point number.
    var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }
}
