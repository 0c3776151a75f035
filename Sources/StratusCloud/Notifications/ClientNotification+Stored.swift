// Notifications as a device is given them.

import StratusLayout
import StratusModel
import StratusRecords

extension ClientNotification {
    /// Throws `corruption` where it is for no database.
    init(_ entry: NotificationEntry) throws {
        guard let database = DatabaseSelector(rawValue: entry.database) else {
            throw RecordsError(
                .corruption, "A notification is of no database: restore the store from a backup.",
                ["subscription": entry.subscription])
        }
        var subject: NotificationSubject?
        switch entry.subject {
        case nil: break
        case .query(let reason, let record, let zone, let fields):
            guard let reason = QueryNotificationReason(rawValue: reason) else {
                throw RecordsError(
                    .corruption, "A notification has no reason: restore the store from a backup.",
                    ["subscription": entry.subscription])
            }
            let zone = ZoneAddress(zoneName: zone.text)
            var values: [String: ClientValue] = [:]
            for (key, value) in fields { values[key.text] = ClientValue(value, zone: zone) }
            subject = .query(
                reason: reason, record: RecordAddress(recordName: record.text, zone: zone), fields: values)
        case .zone(let zone): subject = .zone(ZoneAddress(zoneName: zone.text))
        case .database: subject = .database
        case .prunedQuery: subject = .prunedQuery
        case .prunedZone: subject = .prunedZone
        }
        self.init(
            id: entry.id, container: entry.container, subscriptionID: entry.subscription,
            subscriptionOwner: entry.owner, database: database, subject: subject, alert: entry.alert,
            badge: entry.badge.map { Int(clamping: $0) }, isPruned: entry.isPruned)
    }
}
