// Devices, the notifications that wait for them, and the parts that they share with subscriptions and the outbox.
//
// Byte layout of the parts (`LayoutValue.swift` has the primitives):
//   texts?    byte 0, or byte 1 and texts
//   phrase    text?: text · text?: localization key · texts?: arguments
//   alert     phrases: body, title, subtitle · text?: action key, launch image, sound, category; its flags are with
//             those of the value that contains it
//   template  alert · text?: collapse key · texts?: desired keys · byte: flags (1 badges, 2 content available,
//             4 mutable)
//   template? byte 0, or byte 1 and a template
//   fields    number (how many), in the byte order of their keys, each text: key · byte: type, as in records · bytes:
//             the value, as in records

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// A device of an account. Bytes: version 1 · numbers: next order, count, badge.
package struct DeviceEntry: VersionedValue {
    /// The order of the next notification: later ones have higher numbers.
    package var next: UInt64
    /// How many notifications are waiting.
    package var count: UInt64
    /// The number on the app's icon.
    package var badge: UInt64

    package init(next: UInt64 = 0, count: UInt64 = 0, badge: UInt64 = 0) {
        self.next = next
        self.count = count
        self.badge = badge
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(next, count, badge, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (next, count, badge) = try reader.read() }
}

/// A notification that waits for its device.
///
/// Bytes: version 1 · 32 bytes: slot · byte: flags (1 identifier, 2 container, 4 badge, 8 content available, 16
/// mutable, 32 pruned) · (1) UUID: identifier · (2) text: container · text: subscription · text: owner · byte: database
/// (1 public, 2 private, 3 shared) · byte: subject (0 not known, 1 query, 2 zone, 3 database, 4 query and 5 zone, both
/// pruned) · (1) byte: reason · text: record · text: zone · fields · (2) text: zone · alert · (4) number: badge.
package struct NotificationEntry: VersionedValue {
    package enum Subject: Hashable, Sendable {
        case query(reason: UInt8, record: RecordName, zone: ZoneName, fields: [FieldKey: FieldValue])
        case zone(ZoneName)
        case database
        /// A pruned notification of a query, and of a zone: nothing else of it is left (N-06).
        case prunedQuery
        case prunedZone
    }

    package static let slotByteCount = 32

    /// Only the latest notification of a slot waits.
    package var slot: [UInt8]
    package var id: UUID?
    package var container: ContainerName?
    package var subscription: String
    package var owner: UserName
    package var database: UInt8
    /// Nil in pruned notifications that are older than this part.
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

    package func appendParts(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: slot)
        var flags: UInt8 = (id == nil ? 0 : 1) | (container == nil ? 0 : 2) | (badge == nil ? 0 : 4)
        flags |= (alert.isContentAvailable ? 8 : 0) | (alert.isMutable ? 16 : 0) | (isPruned ? 32 : 0)
        bytes.append(flags)
        if let id { ValueWriter.append(id, to: &bytes) }
        if let container { ValueWriter.append(container, to: &bytes) }
        ValueWriter.append(subscription, owner, database, to: &bytes)
        switch subject {
        case nil: bytes.append(0)
        case .query(let reason, let record, let zone, let fields):
            ValueWriter.append(UInt8(1), reason, record, zone, to: &bytes)
            ValueWriter.append(fields, to: &bytes)
        case .zone(let zone): ValueWriter.append(UInt8(2), zone, to: &bytes)
        case .database: bytes.append(3)
        case .prunedQuery: bytes.append(4)
        case .prunedZone: bytes.append(5)
        }
        ValueWriter.append(alert, to: &bytes)
        if let badge { ValueWriter.append(number: badge, to: &bytes) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        slot = try reader.readBytes(count: Self.slotByteCount)
        let flags = try reader.readFlags(below: 64)
        id = flags & 1 == 0 ? nil : try reader.read() as UUID
        container = flags & 2 == 0 ? nil : try reader.read() as ContainerName
        (subscription, owner, database) = try reader.read()
        guard (1...3).contains(database) else { throw reader.corrupt("No database of a user has this number.") }
        subject = try Self.readSubject(&reader)
        alert = try reader.read()
        badge = flags & 4 == 0 ? nil : try reader.readNumber()
        alert.isContentAvailable = flags & 8 != 0
        alert.isMutable = flags & 16 != 0
        isPruned = flags & 32 != 0
    }

    private static func readSubject(_ reader: inout ValueReader) throws(StoreError) -> Subject? {
        switch try reader.readByte() {
        case 0: return nil
        case 1:
            let reason = try reader.readReason()
            let (record, zone): (RecordName, ZoneName) = try reader.read()
            return .query(reason: reason, record: record, zone: zone, fields: try reader.readNotificationFields())
        case 2: return .zone(try reader.read())
        case 3: return .database
        case 4: return .prunedQuery
        case 5: return .prunedZone
        default: throw reader.corrupt("No subject of a notification has this number.")
        }
    }
}

extension ValueReader {
    /// Reads why a query fired: 1 created, 2 updated, 3 deleted.
    mutating func readReason() throws(StoreError) -> UInt8 {
        let reason = try readByte()
        guard (1...3).contains(reason) else { throw corrupt("No reason of a notification has this number.") }
        return reason
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

extension NotificationPhrase: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(text, localizationKey, arguments, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> NotificationPhrase {
        NotificationPhrase(text: try reader.read(), localizationKey: try reader.read(), arguments: try reader.read())
    }
}

/// An alert without its flags.
extension NotificationAlert: ValuePart {
    func write(to bytes: inout [UInt8]) {
        ValueWriter.append(
            body, title, subtitle, actionLocalizationKey, launchImage, soundName, category, to: &bytes)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> NotificationAlert {
        var alert = NotificationAlert()
        (alert.body, alert.title, alert.subtitle) = try reader.read()
        (alert.actionLocalizationKey, alert.launchImage, alert.soundName, alert.category) = try reader.read()
        return alert
    }
}

extension NotificationTemplate: ValuePart {
    func write(to bytes: inout [UInt8]) {
        let flags: UInt8 = (badges ? 1 : 0) | (alert.isContentAvailable ? 2 : 0) | (alert.isMutable ? 4 : 0)
        ValueWriter.append(alert, collapseKey, desiredKeys, flags, to: &bytes)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> NotificationTemplate {
        var template = NotificationTemplate()
        (template.alert, template.collapseKey, template.desiredKeys) = try reader.read()
        let flags = try reader.readFlags(below: 8)
        template.badges = flags & 1 != 0
        template.alert.isContentAvailable = flags & 2 != 0
        template.alert.isMutable = flags & 4 != 0
        return template
    }
}

extension ValueWriter {
    /// Appends the fields that a notification can carry, and skips the others.
    static func append(_ fields: [FieldKey: FieldValue], to bytes: inout [UInt8]) {
        append(fields.filter { $0.value.fitsNotification }, to: &bytes) { value, bytes in
            var content: [UInt8] = []
            // Only lists and assets are refused, and the filter has removed them.
            do throws(StoreError) { try FieldCodec.append(value, to: &content) } catch { content = [] }
            append(FieldTypeByte(of: value).rawValue, content, to: &bytes)
        }
    }
}

extension ValueReader {
    mutating func readNotificationFields() throws(StoreError) -> [FieldKey: FieldValue] {
        try readDictionary { reader throws(StoreError) in
            let type: FieldTypeByte = try reader.readCase("The type of a field is unknown.")
            let byteCount = try reader.readCount()
            let value = try FieldCodec.read(type, byteCount: byteCount, &reader)
            guard value.fitsNotification else { throw reader.corrupt("No notification carries a field of this type.") }
            return value
        }
    }
}
