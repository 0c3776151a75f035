// Subscriptions between what a client says and what is stored.

import StratusLayout
import StratusModel
import StratusRecords

enum SubscriptionCoding {
    /// What is stored of a subscription. Its zones are the caller's own.
    static func entry(of subscription: ClientSubscription) -> SubscriptionEntry {
        let subject: SubscriptionEntry.Subject
        switch subscription.subject {
        case .query(let query, let zone, let triggers, let archive):
            var writer = CursorWriter()
            writer.append(query)
            subject = .query(
                SubscribedQuery(
                    recordType: RecordType(query.recordType), query: writer.bytes,
                    matchesNothing: query.matchesNothing, zone: zone.map { ZoneName($0.zoneName) },
                    triggers: UInt8(truncatingIfNeeded: triggers.rawValue), predicateArchive: archive))
        case .zone(let zone, let type):
            subject = .zone(ZoneName(zone.zoneName), recordType: type.map { RecordType($0) })
        case .database(let type): subject = .database(recordType: type.map { RecordType($0) })
        }
        return SubscriptionEntry(subject: subject, template: subscription.template)
    }

    /// A stored subscription as its owner is told of it.
    ///
    /// Throws `corruption` where its query cannot be read.
    static func subscription(_ entry: SubscriptionEntry, _ parts: SubscriptionKeyParts) throws -> ClientSubscription {
        let subject: SubscriptionSubject
        switch entry.subject {
        case .query(let stored):
            subject = .query(
                try query(stored, parts), zone: stored.zone.map { ZoneAddress(zoneName: $0.text) },
                triggers: SubscriptionTriggers(rawValue: UInt(stored.triggers)),
                predicateArchive: stored.predicateArchive)
        case .zone(let zone, let type):
            subject = .zone(ZoneAddress(zoneName: zone.text), recordType: type?.text)
        case .database(let type): subject = .database(recordType: type?.text)
        }
        return ClientSubscription(id: parts.id, subject: subject, template: entry.template)
    }

    static func query(_ stored: SubscribedQuery, _ parts: SubscriptionKeyParts) throws -> ClientQuery {
        do throws(CursorReader.Failure) {
            var reader = CursorReader(stored.query)
            var query = try reader.readQuery()
            try reader.expectEnd()
            query.matchesNothing = stored.matchesNothing
            return query
        } catch {
            throw RecordsError(
                .corruption, "The query of a subscription cannot be read: restore the store from a backup.",
                ["key": "\(KeyDescription(GlobalKeys.subscription(parts)))"])
        }
    }
}

extension SubscriptionEntry.Subject {
    /// Whether both are told of the same. The client's archive of a predicate does not count: it says what the query says.
    func isEqual(to other: SubscriptionEntry.Subject) -> Bool {
        guard case .query(var own) = self, case .query(let theirs) = other else { return self == other }
        own.predicateArchive = theirs.predicateArchive
        return own == theirs
    }
}
