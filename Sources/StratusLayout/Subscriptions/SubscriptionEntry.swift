// What somebody has subscribed to. Who, where and the identifier are in the key.
//
// Bytes: version 1 · byte: 1 a query, 2 a zone, 3 a database ·
//   (1) text: record type · bytes: query (number, then as many, in the form in which cursors hold it) · byte: 1 matches
//       nothing, else 0 · text?: zone · byte: triggers (1 creation, 2 update, 4 deletion, 8 once) · bytes: the client's
//       archive of its predicate
//   (2) text: zone · text?: record type
//   (3) text?: record type
// then template?

package import StratusModel

/// A subscription.
package struct SubscriptionEntry: LayoutValue {
    package enum Subject: Hashable, Sendable {
        case query(SubscribedQuery)
        case zone(ZoneName, recordType: RecordType?)
        case database(recordType: RecordType?)
    }

    package var subject: Subject
    /// Nil is a silent one.
    package var template: NotificationTemplate?

    package init(subject: Subject, template: NotificationTemplate?) {
        self.subject = subject
        self.template = template
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        switch subject {
        case .query(let query):
            bytes.append(1)
            query.append(to: &bytes)
        case .zone(let zone, let recordType):
            bytes.append(2)
            ValueWriter.append(zone.text, to: &bytes)
            ValueWriter.append(optional: recordType?.text, to: &bytes)
        case .database(let recordType):
            bytes.append(3)
            ValueWriter.append(optional: recordType?.text, to: &bytes)
        }
        ValueWriter.append(optional: template, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "SubscriptionEntry")
        try reader.expectVersion(1)
        switch try reader.readByte() {
        case 1: subject = .query(try SubscribedQuery(&reader))
        case 2:
            let zone = ZoneName(try reader.readText())
            subject = .zone(zone, recordType: try reader.readOptionalText().map { RecordType($0) })
        case 3: subject = .database(recordType: try reader.readOptionalText().map { RecordType($0) })
        default: throw reader.corrupt("No kind of subscription has this number.")
        }
        template = try reader.readOptionalTemplate()
        try reader.expectEnd()
    }
}

/// The query of a subscription.
package struct SubscribedQuery: Hashable, Sendable {
    package static let allTriggers: UInt8 = 15

    package var recordType: RecordType
    /// As cursors hold it.
    package var query: [UInt8]
    package var matchesNothing: Bool
    /// Nil for all zones of the database.
    package var zone: ZoneName?
    package var triggers: UInt8
    /// Never read.
    package var predicateArchive: [UInt8]

    package init(
        recordType: RecordType, query: [UInt8], matchesNothing: Bool, zone: ZoneName?, triggers: UInt8,
        predicateArchive: [UInt8]
    ) {
        self.recordType = recordType
        self.query = query
        self.matchesNothing = matchesNothing
        self.zone = zone
        self.triggers = triggers
        self.predicateArchive = predicateArchive
    }

    fileprivate func append(to bytes: inout [UInt8]) {
        ValueWriter.append(recordType.text, to: &bytes)
        ValueWriter.append(query, to: &bytes)
        bytes.append(matchesNothing ? 1 : 0)
        ValueWriter.append(optional: zone?.text, to: &bytes)
        bytes.append(triggers)
        ValueWriter.append(predicateArchive, to: &bytes)
    }

    fileprivate init(_ reader: inout ValueReader) throws(LayoutError) {
        recordType = RecordType(try reader.readText())
        query = try reader.readBytes()
        matchesNothing = try reader.readFlag()
        zone = try reader.readOptionalText().map { ZoneName($0) }
        triggers = try reader.readByte()
        guard triggers <= Self.allTriggers else { throw reader.corrupt("A trigger of the subscription is unknown.") }
        predicateArchive = try reader.readBytes()
    }
}
