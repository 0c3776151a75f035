// JSON for tests: by path, without types for every answer.

import Foundation

enum JSON: Decodable, Equatable, Sendable {
    case object([String: JSON])
    case array([JSON])
    case string(String)
    case number(Double)
    case bool(Bool)
    case null

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    subscript(key: String) -> JSON {
        if case .object(let fields) = self { fields[key] ?? .null } else { .null }
    }

    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var isTrue: Bool { self == .bool(true) }
}
