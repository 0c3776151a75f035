// Subscriptions as they cross the line between client and server.

package import StratusModel

/// What makes a query subscription fire (N-04). The bits are those of the client's option set; they are stored.
package struct SubscriptionTriggers: OptionSet, Hashable, Codable, Sendable {
    package let rawValue: UInt
    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let creation = SubscriptionTriggers(rawValue: 1 << 0)
    package static let update = SubscriptionTriggers(rawValue: 1 << 1)
    package static let deletion = SubscriptionTriggers(rawValue: 1 << 2)
    /// It is deleted once it has fired.
    package static let once = SubscriptionTriggers(rawValue: 1 << 3)
}

/// What is subscribed to.
package enum SubscriptionSubject: Hashable, Codable, Sendable {
    /// Records for which a query holds, in one zone or in all of the database. The client's own archive of its predicate
    /// is kept and handed back as it came, and never read.
    case query(ClientQuery, zone: ZoneAddress?, triggers: SubscriptionTriggers, predicateArchive: [UInt8])
    /// Whatever happens in a zone, or what happens to the records of one type there.
    case zone(ZoneAddress, recordType: String?)
    /// Whatever happens in the database, or what happens to the records of one type.
    case database(recordType: String?)
}

/// A subscription of one person in one database (N-08).
package struct ClientSubscription: Hashable, Codable, Sendable {
    package var id: String
    package var subject: SubscriptionSubject
    /// Nil is a silent one (N-03).
    package var template: NotificationTemplate?

    package init(id: String, subject: SubscriptionSubject, template: NotificationTemplate? = nil) {
        self.id = id
        self.subject = subject
        self.template = template
    }
}
