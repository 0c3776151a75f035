// JSON whose members keep the order in which they were added, so that output is the same on every run.

/// A JSON value.
enum JSONValue: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(_ value: Int) { self = .integer(Int64(value)) }
    init(_ value: UInt64) { self = .unsigned(value) }
    init(_ value: String?) { self = value.map { .string($0) } ?? .null }

    /// One line of text.
    var text: String {
        var text = ""
        append(to: &text)
        return text
    }

    private func append(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        // JSON has no infinite numbers.
        case .number(let value): text += value.isFinite ? "\(value)" : "\"\(value)\""
        case .string(let value): Self.append(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.append(to: &text)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, member) in object.members.enumerated() {
                if index > 0 { text += "," }
                Self.append(member.key, to: &text)
                text += ":"
                member.value.append(to: &text)
            }
            text += "}"
        }
    }

    /// Also escapes characters that a terminal would act on, so that JSON can be shown on one.
    private static func append(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            default:
                guard VisibleText.isDangerous(scalar) else {
                    text.unicodeScalars.append(scalar)
                    continue
                }
                for unit in UTF16.encode(scalar) ?? .init() {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
                }
            }
        }
        text += "\""
    }
}

/// Members in the order in which they were added.
struct JSONObject: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var members: [(key: String, value: JSONValue)]

    init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { ($0.0, $0.1) }
    }

    init(sorted fields: [String: String]) {
        members = fields.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }
    }

    mutating func add(_ key: String, _ value: JSONValue) { members.append((key, value)) }

    /// Adds the member unless the value is nil.
    mutating func add(_ key: String, unlessNil value: JSONValue?) {
        if let value { members.append((key, value)) }
    }
}
