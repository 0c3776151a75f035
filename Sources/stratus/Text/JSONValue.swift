// JSON whose members keep the order in which they were added, so that output is the same on every run.

/// A value that can be written as JSON. Nil is written as null.
protocol JSONValue: Sendable {
    /// Appends the value without line ends.
    func writeJSON(to text: inout String)
}

extension JSONValue {
    /// One line of text.
    var jsonText: String {
        var text = ""
        writeJSON(to: &text)
        return text
    }
}

extension JSONValue where Self: BinaryInteger {
    func writeJSON(to text: inout String) { text += String(self) }
}

extension Int: JSONValue {}
extension Int64: JSONValue {}
extension UInt64: JSONValue {}

extension Bool: JSONValue {
    func writeJSON(to text: inout String) { text += description }
}

extension Double: JSONValue {
    /// JSON has no infinite numbers.
    func writeJSON(to text: inout String) { text += isFinite ? description : "\"\(self)\"" }
}

extension String: JSONValue {
    /// Also escapes characters that a terminal would act on, so that JSON can be shown on one.
    func writeJSON(to text: inout String) {
        text += "\""
        for scalar in unicodeScalars {
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

extension Optional: JSONValue where Wrapped: JSONValue {
    func writeJSON(to text: inout String) {
        if let self { self.writeJSON(to: &text) } else { text += "null" }
    }
}

extension Array: JSONValue where Element: JSONValue {
    func writeJSON(to text: inout String) { text += "[" + map(\.jsonText).joined(separator: ",") + "]" }
}

/// Members in the order in which they were added.
struct JSONObject: JSONValue, ExpressibleByDictionaryLiteral {
    private(set) var members: [(key: String, value: any JSONValue)]

    func writeJSON(to text: inout String) {
        text += "{" + members.map { "\($0.key.jsonText):\($0.value.jsonText)" }.joined(separator: ",") + "}"
    }

    mutating func add(_ key: String, _ value: any JSONValue) { members.append((key, value)) }

    static func + (left: JSONObject, right: JSONObject) -> JSONObject {
        var sum = left
        sum.members += right.members
        return sum
    }
}

extension JSONObject {
    init(dictionaryLiteral elements: (String, any JSONValue)...) {
        self.init(members: elements.map { ($0.0, $0.1) })
    }

    init(sorted fields: [String: some JSONValue]) {
        self.init(members: fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// Only the members whose values are not nil.
    init(unlessNil elements: KeyValuePairs<String, String?>) {
        self.init(members: elements.compactMap { key, value in value.map { (key, $0) } })
    }
}
