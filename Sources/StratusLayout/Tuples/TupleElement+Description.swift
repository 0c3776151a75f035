// An element as one readable line, for the tool, golden files and failures.

import FoundationEssentials

extension TupleElement: CustomStringConvertible {
    /// For example `("name", 5, x'00ff', true)`; text is quoted and escaped, so that a line stays a line.
    package var description: String {
        switch self {
        case .null: "null"
        case .bytes(let value): "x'" + value.map(Self.hexadecimal).joined() + "'"
        case .string(let value): value.debugDescription
        case .nested(let elements): "(" + elements.map(\.description).joined(separator: ", ") + ")"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): "\(value)"
        case .boolean(let value): value ? "true" : "false"
        case .uuid(let value): value.uuidString
        case .date(let value): "date(\(value.timeIntervalSinceReferenceDate))"
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
