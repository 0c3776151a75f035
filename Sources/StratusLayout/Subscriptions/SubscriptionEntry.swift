// Subscriptions, and the outbox: the news of commits for subscribers. `NotificationEntry.swift` has the parts (text?,
// texts?, fields, template?).

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// A subscription. Its user, database and identifier are in the key.
///
/// Bytes: version 1 · byte: 1 a query, 2 a zone, 3 a database ·
///   (1) text: record type · bytes: query, in the form of cursors · byte: 1 matches nothing, else 0 · text?: zone ·
///       byte: triggers (1 creation, 2 update, 4 deletion, 8 once) · bytes: the client's archive of its predicate
///   (2) text: zone · text?: record type
///   (3) text?: record type
/// then template?
package struct SubscriptionEntry: VersionedValue {
    package enum Subject: Hashable, Sendable {
        case query(SubscribedQuery)
        case zone(ZoneName, recordType: RecordType?)
        case database(recordType: RecordType?)
    }

    package var subject: Subject
    /// Nil for a silent subscription.
    package var template: NotificationTemplate?

    package init(subject: Subject, template: NotificationTemplate?) {
        self.subject = subject
        self.template = template
    }

    package func appendParts(to bytes: inout [UInt8]) {
        switch subject {
        case .query(let query): ValueWriter.append(UInt8(1), query, to: &bytes)
        case .zone(let zone, let recordType): ValueWriter.append(UInt8(2), zone, recordType, to: &bytes)
        case .database(let recordType): ValueWriter.append(UInt8(3), recordType, to: &bytes)
        }
        ValueWriter.append(template, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        switch try reader.readByte() {
        case 1: subject = .query(try reader.read())
        case 2: subject = .zone(try reader.read(), recordType: try reader.read())
        case 3: subject = .database(recordType: try reader.read())
        default: throw reader.corrupt("No kind of subscription has this number.")
        }
        template = try reader.read()
    }
}

/// The query of a subscription.
package struct SubscribedQuery: Hashable, Sendable {
    package static let allTriggers: UInt8 = 15

    package var recordType: RecordType
    /// In the form of cursors.
    package var query: [UInt8]
    package var matchesNothing: Bool
    /// Nil for all zones of the database.
    package var zone: ZoneName?
    package var triggers: UInt8
    /// Only the client reads it.
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
}

extension SubscribedQuery: ValuePart {
    func write(to bytes: inout [UInt8]) {
        ValueWriter.append(recordType, query, matchesNothing, zone, triggers, predicateArchive, to: &bytes)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> SubscribedQuery {
        let query = SubscribedQuery(
            recordType: try reader.read(), query: try reader.read(), matchesNothing: try reader.read(),
            zone: try reader.read(), triggers: try reader.read(), predicateArchive: try reader.read())
        guard query.triggers <= allTriggers else { throw reader.corrupt("A trigger of the subscription is unknown.") }
        return query
    }
}

/// The news of one commit, or of a part of it: its place, its device and its changes.
///
/// The names of people and records are those at the commit, so that later changes do not matter to its delivery.
///
/// Bytes: version 1 · text: container · text?: owner (none in the public database) · text: zone · number: the zone's
/// number · UUID: its identity · number: its last change · text?: the account that made the commit · text?: its device
/// · text?: the last user who got the news · byte: news, then
///   1 records of a zone, for its owner:  texts?: the types of the records; none if any may have changed
///   2 records in shares, for others:     number · for each: text: share · texts?: types · texts?: users, none for
///                                        everyone who sees the share
///   3 the zone was deleted
///   4 queries matched:                   number · for each: text: user · text: subscription · byte: reason ·
///                                        text: record · fields
///   5 a subscription ended with the zone: text: subscription · template?
package struct OutboxEntry: VersionedValue {
    package enum News: Hashable, Sendable {
        /// For the zone's owner. Nil if records of any type may have changed.
        case records([RecordType]?)
        case shares([SharedNews])
        case zoneDeleted
        case matches([QueryMatch])
        /// The owner's subscription to the deleted zone. Its template is needed to report the end.
        case subscriptionEnded(String, NotificationTemplate?)
    }

    package var container: ContainerName
    /// Nil in the public database.
    package var owner: UserName?
    package var zone: ZoneName
    package var zoneNumber: ZoneNumber
    package var identity: UUID
    /// The zone's last change of the commit.
    package var sequence: UInt64
    package var originAccount: AccountID?
    package var originDevice: String?
    /// All users up to this one, in the order of names, have got the news.
    package var last: UserName?
    package var news: News

    package init(
        container: ContainerName, owner: UserName?, zone: ZoneName, zoneNumber: ZoneNumber, identity: UUID,
        sequence: UInt64, originAccount: AccountID? = nil, originDevice: String? = nil, last: UserName? = nil,
        news: News
    ) {
        self.container = container
        self.owner = owner
        self.zone = zone
        self.zoneNumber = zoneNumber
        self.identity = identity
        self.sequence = sequence
        self.originAccount = originAccount
        self.originDevice = originDevice
        self.last = last
        self.news = news
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(
            container, owner, zone, zoneNumber, identity, sequence, originAccount, originDevice, last, to: &bytes)
        switch news {
        case .records(let types): ValueWriter.append(UInt8(1), types, to: &bytes)
        case .shares(let shares): ValueWriter.append(UInt8(2), shares, to: &bytes)
        case .zoneDeleted: bytes.append(3)
        case .matches(let matches): ValueWriter.append(UInt8(4), matches, to: &bytes)
        case .subscriptionEnded(let id, let template): ValueWriter.append(UInt8(5), id, template, to: &bytes)
        }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        (container, owner, zone, zoneNumber, identity) = try reader.read()
        (sequence, originAccount, originDevice, last) = try reader.read()
        switch try reader.readByte() {
        case 1: news = .records(try reader.read())
        case 2: news = .shares(try reader.read())
        case 3: news = .zoneDeleted
        case 4: news = .matches(try reader.read())
        case 5: news = .subscriptionEnded(try reader.read(), try reader.read())
        default: throw reader.corrupt("No news of a commit has this number.")
        }
    }
}

/// The changes in one share.
package struct SharedNews: Hashable, Sendable {
    package var share: RecordName
    /// Nil if records of any type may have become visible or hidden.
    package var types: [RecordType]?
    /// The users who saw the share before or after the commit. Nil for everyone who sees it, if that did not change.
    package var users: [UserName]?

    package init(share: RecordName, types: [RecordType]?, users: [UserName]?) {
        self.share = share
        self.types = types
        self.users = users
    }
}

extension SharedNews: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(share, types, users, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> SharedNews {
        SharedNews(share: try reader.read(), types: try reader.read(), users: try reader.read())
    }
}

/// A record that a query subscription fires for.
package struct QueryMatch: Hashable, Sendable {
    package var user: UserName
    package var subscription: String
    /// 1 created, 2 updated, 3 deleted.
    package var reason: UInt8
    package var record: RecordName
    /// The fields that the subscription's template names, with the values of the record.
    package var fields: [FieldKey: FieldValue]

    package init(
        user: UserName, subscription: String, reason: UInt8, record: RecordName, fields: [FieldKey: FieldValue]
    ) {
        self.user = user
        self.subscription = subscription
        self.reason = reason
        self.record = record
        self.fields = fields
    }
}

extension QueryMatch: ValuePart {
    func write(to bytes: inout [UInt8]) {
        ValueWriter.append(user, subscription, reason, record, to: &bytes)
        ValueWriter.append(fields, to: &bytes)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> QueryMatch {
        QueryMatch(
            user: try reader.read(), subscription: try reader.read(), reason: try reader.readReason(),
            record: try reader.read(), fields: try reader.readNotificationFields())
    }
}
