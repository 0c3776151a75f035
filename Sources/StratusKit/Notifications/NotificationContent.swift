// What a notification tells, as its object keeps it.
//
// A notification that was pruned may have lost what it is about, and keeps its kind. Where a payload does not say it, it
// follows from the database: only query subscriptions are in public ones (N-01), and in the others a client does right to
// look at all of the database.

import StratusCloud

struct NotificationContent: Hashable, Sendable {
    /// All of it in the server's words.
    var told: ClientNotification
    var type: CKNotification.NotificationType
    /// What a query's payload tells although it has lost the record.
    var reason: QueryNotificationReason?
    var fields: [String: ClientValue] = [:]

    init(_ told: ClientNotification) {
        self.told = told
        switch told.subject {
        case .query(let reason, _, let fields):
            type = .query
            self.reason = reason
            self.fields = fields
        case .prunedQuery: type = .query
        case .zone, .prunedZone: type = .recordZone
        case .database: type = .database
        case nil: type = told.database == .public ? .query : .database
        }
    }

    var recordID: CKRecordID? {
        if case .query(_, let record, _)? = told.subject { CKRecordID(record) } else { nil }
    }

    var zoneID: CKRecordZoneID? {
        if case .zone(let zone)? = told.subject { CKRecordZoneID(zone) } else { nil }
    }

    var databaseScope: CKDatabase.Scope {
        switch told.database {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}
