// Devices, and what waits for them.

package import FoundationEssentials
package import StratusModel

/// A device of an account. Bytes: version 1 · numbers: next order, count, badge.
package struct DeviceEntry: LayoutValue {
    /// The order of the next notification: later ones have higher numbers.
    package var next: UInt64
    /// How many notifications wait.
    package var count: UInt64
    /// The number on the app's icon.
    package var badge: UInt64

    package init(next: UInt64 = 0, count: UInt64 = 0, badge: UInt64 = 0) {
        self.next = next
        self.count = count
        self.badge = badge
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        for number in [next, count, badge] { ValueWriter.append(number: number, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "DeviceEntry")
        try reader.expectVersion(1)
        next = try reader.readNumber()
        count = try reader.readNumber()
        badge = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// A notification that waits for its device.
///
/// Bytes: version 1 · 32 bytes: slot · byte: flags (1 identifier, 2 container, 4 badge, 8 content available, 16 mutable, 32
/// pruned) · (1) UUID: identifier · (2) text: container · text: subscription · text: owner · byte: database (1 public, 2
/// private, 3 shared) · byte: subject (0 not known, 1 query, 2 zone, 3 database, 4 query and 5 zone without more) · (1) byte:
/// reason · text: record · text: zone · fields · (2) text: zone · alert · (4) number: badge.
package struct NotificationEntry: LayoutValue {
    package enum Subject: Hashable, Sendable {
        case query(reason: UInt8, record: RecordName, zone: ZoneName, fields: [FieldKey: FieldValue])
        case zone(ZoneName)
        case database
        /// Of a query and of a zone, of which nothing more is left (N-06).
        case prunedQuery
        case prunedZone
    }

    package static let slotByteCount = 32

    /// Of notifications of one slot only the latest waits.
    package var slot: [UInt8]
    package var id: UUID?
    package var container: ContainerName?
    package var subscription: String
    package var owner: UserName
    package var database: UInt8
    /// Nil in what was pruned before its kind was kept.
    package var subject: Subject?
    package var alert = NotificationAlert()
    package var badge: UInt64?
    package var isPruned = false

    /// `slot` has 32 bytes.
    package init(
        slot: [UInt8], id: UUID?, container: ContainerName?, subscription: String, owner: UserName, database: UInt8,
        subject: Subject?
    ) {
        precondition(slot.count == Self.slotByteCount, "A slot has 32 bytes.")
        self.slot = slot
        self.id = id
        self.container = container
        self.subscription = subscription
        self.owner = owner
        self.database = database
        self.subject = subject
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(contentsOf: slot)
        var flags: UInt8 = (id == nil ? 0 : 1) | (container == nil ? 0 : 2) | (badge == nil ? 0 : 4)
        flags |= (alert.isContentAvailable ? 8 : 0) | (alert.isMutable ? 16 : 0) | (isPruned ? 32 : 0)
        bytes.append(flags)
        if let id { ValueWriter.append(id, to: &bytes) }
        if let container { ValueWriter.append(container.text, to: &bytes) }
        ValueWriter.append(subscription, to: &bytes)
        ValueWriter.append(owner.text, to: &bytes)
        bytes.append(database)
        switch subject {
        case nil: bytes.append(0)
        case .query(let reason, let record, let zone, let fields):
            bytes.append(1)
            bytes.append(reason)
            ValueWriter.append(record.text, to: &bytes)
            ValueWriter.append(zone.text, to: &bytes)
            ValueWriter.append(fields, to: &bytes)
        case .zone(let zone):
            bytes.append(2)
            ValueWriter.append(zone.text, to: &bytes)
        case .database: bytes.append(3)
        case .prunedQuery: bytes.append(4)
        case .prunedZone: bytes.append(5)
        }
        ValueWriter.append(alert, to: &bytes)
        if let badge { ValueWriter.append(number: badge, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "NotificationEntry")
        try reader.expectVersion(1)
        let span = try reader.readSpan(byteCount: Self.slotByteCount)
        slot = [UInt8](copying: span)
        let flags = try reader.readByte()
        guard flags < 64 else { throw reader.corrupt("A flag of the notification is unknown.") }
        id = flags & 1 == 0 ? nil : try reader.readUUID()
        container = flags & 2 == 0 ? nil : ContainerName(try reader.readText())
        subscription = try reader.readText()
        owner = UserName(try reader.readText())
        database = try reader.readByte()
        guard (1...3).contains(database) else { throw reader.corrupt("No database of a user has this number.") }
        subject = try Self.readSubject(&reader)
        alert = try reader.readAlert()
        badge = flags & 4 == 0 ? nil : try reader.readNumber()
        alert.isContentAvailable = flags & 8 != 0
        alert.isMutable = flags & 16 != 0
        isPruned = flags & 32 != 0
        try reader.expectEnd()
    }

    private static func readSubject(_ reader: inout ValueReader) throws(LayoutError) -> Subject? {
        switch try reader.readByte() {
        case 0: return nil
        case 1:
            let reason = try reader.readReason()
            let record = RecordName(try reader.readText())
            let zone = ZoneName(try reader.readText())
            return .query(reason: reason, record: record, zone: zone, fields: try reader.readNotificationFields())
        case 2: return .zone(ZoneName(try reader.readText()))
        case 3: return .database
        case 4: return .prunedQuery
        case 5: return .prunedZone
        default: throw reader.corrupt("No subject of a notification has this number.")
        }
    }
}

extension ValueReader {
    /// Why a query fired: 1 created, 2 updated, 3 deleted.
    mutating func readReason() throws(LayoutError) -> UInt8 {
        let reason = try readByte()
        guard (1...3).contains(reason) else { throw corrupt("No reason of a notification has this number.") }
        return reason
    }
}

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
            bytes.append(FieldTypeByte(of: value).rawValue)
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
            guard let type = FieldTypeByte(rawValue: try readByte()) else {
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
