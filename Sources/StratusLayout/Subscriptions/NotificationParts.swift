// The parts of which the values of subscriptions and notifications are made.
//
// Byte layout:
//   text?     byte 0, or byte 1 and a text
//   texts     number (how many), a text for each
//   texts?    byte 0, or byte 1 and texts
//   phrase    text?: text · text?: localization key · texts?: arguments
//   fields    number (how many), in the byte order of their keys, each text: key · byte: type, as in records · number (how
//             many bytes) · the value's bytes, as in records

import StratusModel

/// A text, or a key and what fills the gaps of the text that is found by it.
package struct NotificationPhrase: Hashable, Sendable {
    package var text: String?
    package var localizationKey: String?
    /// Names of fields in what is asked for, their values in what is told.
    package var arguments: [String]?

    package init(text: String? = nil, localizationKey: String? = nil, arguments: [String]? = nil) {
        self.text = text
        self.localizationKey = localizationKey
        self.arguments = arguments
    }
}

extension FieldValue {
    /// Whether a notification can carry the value (L-13).
    package var fitsNotification: Bool {
        switch self {
        case .string, .int64, .double, .date, .location, .reference: true
        case .bytes, .asset, .list: false
        }
    }
}

extension ValueWriter {
    static func append(optional text: String?, to bytes: inout [UInt8]) {
        bytes.append(text == nil ? 0 : 1)
        if let text { append(text, to: &bytes) }
    }

    static func append(texts: [String], to bytes: inout [UInt8]) {
        append(number: UInt64(texts.count), to: &bytes)
        for text in texts { append(text, to: &bytes) }
    }

    static func append(optionalTexts texts: [String]?, to bytes: inout [UInt8]) {
        bytes.append(texts == nil ? 0 : 1)
        if let texts { append(texts: texts, to: &bytes) }
    }

    static func append(_ content: [UInt8], to bytes: inout [UInt8]) {
        append(number: UInt64(content.count), to: &bytes)
        bytes.append(contentsOf: content)
    }

    static func append(_ phrase: NotificationPhrase, to bytes: inout [UInt8]) {
        append(optional: phrase.text, to: &bytes)
        append(optional: phrase.localizationKey, to: &bytes)
        append(optionalTexts: phrase.arguments, to: &bytes)
    }

    /// The fields that a notification can carry; of the others there is nothing.
    static func append(_ fields: [FieldKey: FieldValue], to bytes: inout [UInt8]) {
        let carried = fields.filter { $0.value.fitsNotification }.sorted { $0.key < $1.key }
        append(number: UInt64(carried.count), to: &bytes)
        for (key, value) in carried {
            var content: [UInt8] = []
            // Only lists and assets can be refused.
            do throws(LayoutError) { try FieldCodec.append(value, to: &content) } catch { content = [] }
            append(key.text, to: &bytes)
            bytes.append(FieldType(of: value).rawValue)
            append(content, to: &bytes)
        }
    }
}

extension ValueReader {
    /// Reads byte 0 or 1.
    mutating func readFlag() throws(LayoutError) -> Bool {
        let byte = try readByte()
        guard byte <= 1 else { throw corrupt("A flag of the value is unknown.") }
        return byte == 1
    }

    mutating func readOptionalText() throws(LayoutError) -> String? { try readFlag() ? try readText() : nil }

    mutating func readTexts() throws(LayoutError) -> [String] {
        var texts: [String] = []
        for _ in 0..<(try readCount()) { texts.append(try readText()) }
        return texts
    }

    mutating func readOptionalTexts() throws(LayoutError) -> [String]? { try readFlag() ? try readTexts() : nil }

    mutating func readBytes() throws(LayoutError) -> [UInt8] {
        let span = try readSpan(byteCount: try readCount())
        return [UInt8](copying: span)
    }

    mutating func readPhrase() throws(LayoutError) -> NotificationPhrase {
        NotificationPhrase(
            text: try readOptionalText(), localizationKey: try readOptionalText(), arguments: try readOptionalTexts())
    }

    mutating func readNotificationFields() throws(LayoutError) -> [FieldKey: FieldValue] {
        var fields: [FieldKey: FieldValue] = [:]
        var last: FieldKey?
        for _ in 0..<(try readCount()) {
            let key = FieldKey(try readText())
            if let last, !(last < key) { throw corrupt("The fields are not in ascending order.") }
            last = key
            guard let type = FieldType(rawValue: try readByte()) else {
                throw corrupt("The type of a field is unknown.")
            }
            let byteCount = try readCount()
            let value = try FieldCodec.read(type, byteCount: byteCount, &self)
            guard value.fitsNotification else { throw corrupt("No notification carries a field of this type.") }
            fields[key] = value
        }
        return fields
    }
}
