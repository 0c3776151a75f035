// The parts of which the values of subscriptions and notifications are made.
//
// Byte layout:
//   text?     byte 0, or byte 1 and a text
//   texts     number (how many), a text for each
//   texts?    byte 0, or byte 1 and texts
//   phrase    text?: text · text?: localization key · texts?: arguments
//   alert     phrases: body, title, subtitle · text?: action key, launch image, sound, category; its flags lie with those of
//             the value it is a part of
//   template  alert · text?: collapse key · texts?: desired keys · byte: flags (1 badges, 2 content available, 4 mutable)
//   template? byte 0, or byte 1 and a template
//   fields    number (how many), in the byte order of their keys, each text: key · byte: type, as in records · number (how
//             many bytes) · the value's bytes, as in records

import StratusModel

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

    private static func append(_ phrase: NotificationPhrase, to bytes: inout [UInt8]) {
        append(optional: phrase.text, to: &bytes)
        append(optional: phrase.localizationKey, to: &bytes)
        append(optionalTexts: phrase.arguments, to: &bytes)
    }

    static func append(_ alert: NotificationAlert, to bytes: inout [UInt8]) {
        for phrase in [alert.body, alert.title, alert.subtitle] { append(phrase, to: &bytes) }
        for text in [alert.actionLocalizationKey, alert.launchImage, alert.soundName, alert.category] {
            append(optional: text, to: &bytes)
        }
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

    private mutating func readPhrase() throws(LayoutError) -> NotificationPhrase {
        NotificationPhrase(
            text: try readOptionalText(), localizationKey: try readOptionalText(), arguments: try readOptionalTexts())
    }

    /// An alert, without its flags.
    mutating func readAlert() throws(LayoutError) -> NotificationAlert {
        var alert = NotificationAlert()
        alert.body = try readPhrase()
        alert.title = try readPhrase()
        alert.subtitle = try readPhrase()
        alert.actionLocalizationKey = try readOptionalText()
        alert.launchImage = try readOptionalText()
        alert.soundName = try readOptionalText()
        alert.category = try readOptionalText()
        return alert
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

// MARK: Templates

extension ValueWriter {
    static func append(_ template: NotificationTemplate, to bytes: inout [UInt8]) {
        append(template.alert, to: &bytes)
        append(optional: template.collapseKey, to: &bytes)
        append(optionalTexts: template.desiredKeys, to: &bytes)
        let (isContentAvailable, isMutable) = (template.alert.isContentAvailable, template.alert.isMutable)
        bytes.append((template.badges ? 1 : 0) | (isContentAvailable ? 2 : 0) | (isMutable ? 4 : 0))
    }

    static func append(optional template: NotificationTemplate?, to bytes: inout [UInt8]) {
        bytes.append(template == nil ? 0 : 1)
        if let template { append(template, to: &bytes) }
    }
}

extension ValueReader {
    private mutating func readTemplate() throws(LayoutError) -> NotificationTemplate {
        var template = NotificationTemplate()
        template.alert = try readAlert()
        template.collapseKey = try readOptionalText()
        template.desiredKeys = try readOptionalTexts()
        let flags = try readByte()
        guard flags < 8 else { throw corrupt("A flag of the template is unknown.") }
        template.badges = flags & 1 != 0
        template.alert.isContentAvailable = flags & 2 != 0
        template.alert.isMutable = flags & 4 != 0
        return template
    }

    mutating func readOptionalTemplate() throws(LayoutError) -> NotificationTemplate? {
        try readFlag() ? try readTemplate() : nil
    }
}
