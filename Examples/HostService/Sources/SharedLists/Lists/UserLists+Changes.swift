// The changes since a token: a client keeps the token of the last answer, and continues from there.

import Foundation
import StratusKit

/// The changes in the lists of one owner.
struct ListChanges {
    /// New and changed lists and items, in a deterministic order.
    var records: [CKRecord]
    var deletions: [CKDatabase.RecordZoneChange.Deletion]
    var token: CKServerChangeToken
    /// Whether there are more changes to fetch at once.
    var isMoreComing: Bool
}

/// The owners of changed lists, among those that others share with a person.
struct SharedChanges {
    var changedOwners: [String]
    /// People who no longer share anything.
    var goneOwners: [String]
    var token: CKServerChangeToken
    var isMoreComing: Bool
}

extension UserLists {
    /// The changes in the lists of an owner, as far as the person may see them.
    func changes(of owner: String, since token: CKServerChangeToken?) async throws -> ListChanges {
        let zoneID = zoneID(of: owner)
        let page = try await database(of: zoneID).recordZoneChanges(
            inZoneWith: zoneID, since: token, resultsLimit: Limits.pageItemCount)
        let records = try page.modificationResultsByID.values.map { try $0.get().record }
            .sorted { $0.recordID.recordName < $1.recordID.recordName }
        return ListChanges(
            records: records, deletions: page.deletions, token: page.changeToken, isMoreComing: page.moreComing)
    }

    /// The owners of changed shared lists.
    func sharedChanges(since token: CKServerChangeToken?) async throws -> SharedChanges {
        let page = try await container.sharedCloudDatabase.databaseChanges(
            since: token, resultsLimit: Limits.pageItemCount)
        return SharedChanges(
            changedOwners: page.modifications.map(\.zoneID.ownerName),
            goneOwners: page.deletions.map(\.zoneID.ownerName), token: page.changeToken, isMoreComing: page.moreComing)
    }

    /// Subscribes the person's devices to changes in their own lists and in the lists shared with them.
    func subscribe() async throws {
        for (database, name) in [
            (container.privateCloudDatabase, "own-lists"), (container.sharedCloudDatabase, "shared-lists"),
        ] {
            do {
                _ = try await database.subscription(for: name)
            } catch CKError.unknownItem {
                let subscription = CKDatabaseSubscription(subscriptionID: name)
                let info = CKSubscription.NotificationInfo()
                info.shouldSendContentAvailable = true
                subscription.notificationInfo = info
                try await database.save(subscription)
            }
        }
    }
}

/// Tokens and cursors as clients have them: text that only the store can read.
///
/// A token from a client is only a claim: `StratusArchive` decodes it, which accepts any bytes, and the store checks
/// its owner.
enum OpaqueText {
    /// A text of a client's that was never a token.
    struct Malformed: Error {}

    private static let byteCountLimit = 16 << 10

    static func encode(_ object: some NSObject & NSSecureCoding) throws -> String {
        try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true).base64URLText
    }

    static func decode<Object: NSObject & NSSecureCoding>(_ type: Object.Type, from text: String) throws -> Object {
        guard let data = Data(base64URLText: text) else { throw Malformed() }
        do {
            return try StratusArchive.decode(type, from: data, byteCountLimit: byteCountLimit)
        } catch {
            throw Malformed()
        }
    }
}
