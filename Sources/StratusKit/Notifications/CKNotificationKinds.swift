// The kinds of notifications.

import Foundation
import StratusCloud

/// A notification of a query subscription: a record has begun to match, was changed, or was deleted or matches no more.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// Why a query subscription fired.
    public enum Reason: Int, Sendable {
        /// A record begins to match.
        case recordCreated = 1
        /// A record that matches was changed.
        case recordUpdated = 2
        /// A record that matched was deleted, or matches no more.
        case recordDeleted = 3
    }

    /// Why the subscription fired; `recordUpdated` where it was pruned.
    public var queryNotificationReason: CKQueryNotification.Reason {
        content.reason.flatMap { Reason(rawValue: Int($0.rawValue)) } ?? .recordUpdated
    }

    /// The values of the fields that the subscription wanted to come along (L-13), as far as the record has them; nil
    /// where there are none. Texts may be cut off after 100 characters (L-17).
    public var recordFields: [String: Any]? {
        content.fields.isEmpty ? nil : content.fields.mapValues { HeldValue($0).object }
    }

    /// The record; nil where it was pruned.
    public var recordID: CKRecord.ID? { content.recordID }

    /// The database the record is in.
    public var databaseScope: CKDatabase.Scope { content.databaseScope }

    /// Whether the record is in the public database.
    @available(*, deprecated, message: "Use databaseScope.")
    public var isPublicDatabase: Bool { databaseScope == .public }
}

/// A notification of a zone subscription: something has happened in the zone.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// The zone; nil where it was pruned.
    public var recordZoneID: CKRecordZone.ID? { content.zoneID }

    /// The database the zone is in.
    public var databaseScope: CKDatabase.Scope { content.databaseScope }
}

/// A notification of a database subscription: something has happened in the database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// Which database.
    public var databaseScope: CKDatabase.Scope { content.databaseScope }
}
