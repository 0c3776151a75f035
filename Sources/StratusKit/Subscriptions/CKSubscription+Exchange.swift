// Subscriptions between client and server. What the server hands back of a predicate is the archive that a client made
// of it: a claim like any archive, which has to go through the parser.

import Foundation
import StratusCloud

extension CKSubscription {
    /// What a save of this subscription sends.
    /// - Parameter now: What `now()` is in a predicate.
    /// - Returns: The subscription in the server's words.
    /// - Throws: A mistake, which fails the save.
    final func makeSave(now: Date) throws(PredicateProblem) -> ClientSubscription {
        ClientSubscription(
            id: subscriptionID, subject: try subject(now: now), template: notificationInfo?.template)
    }

    /// A subscription as the server tells of it, of the class of its kind.
    static func from(_ told: ClientSubscription) -> CKSubscription {
        let made: CKSubscription =
            switch told.subject {
            case .query(let query, let zone, let triggers, let predicateArchive):
                CKQuerySubscription(
                    id: told.id, recordType: query.recordType,
                    captured: ArchivedQuery.predicate(inBlock: predicateArchive) ?? unreadablePredicate,
                    options: CKQuerySubscription.Options(rawValue: triggers.rawValue),
                    zoneID: zone.map { CKRecordZoneID($0) })
            case .zone(let zone, let recordType):
                CKRecordZoneSubscription(id: told.id, zoneID: CKRecordZoneID(zone), recordType: recordType)
            case .database(let recordType):
                CKDatabaseSubscription(id: told.id, recordType: recordType)
            }
        made.notificationInfo = told.template.map { CKNotificationInfo($0) }
        return made
    }

    private static var unreadablePredicate: CapturedPredicate {
        CapturedPredicate(
            .failure(PredicateProblem("The predicate of the subscription cannot be read: save one anew.")))
    }
}
