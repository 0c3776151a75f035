// What a host does with the data of its store: containers, zones, assets, schemas, permissions.

import Foundation
package import StratusCloud
import StratusModel
import StratusStore

extension Stratus {
    /// A container for the account that is signed in to the store at the time of each request.
    ///
    /// - Parameter identifier: The container's name, such as `iCloud.com.example.app`.
    /// - Returns: A new container object.
    public func container(_ identifier: String) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: nil)
    }

    /// A container for one account, no matter who is signed in. A service uses it to act for its users.
    ///
    /// - Parameters:
    ///   - identifier: The container's name, such as `iCloud.com.example.app`.
    ///   - account: The account. If it is suspended or deleted later, requests fail with `notAuthenticated`.
    /// - Returns: A new container object.
    public func container(_ identifier: String, signedInAs account: Account) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: account.accountID)
    }

    // Deleting zones as a person does in Settings, outside any app.

    /// Why a host deletes a person's zone. Apps get the reason (Z-07, Z-08).
    public enum ZonePurgeReason: Hashable, Sendable {
        /// The person has deleted the app's data: `userDeletedZone`. An app asks before it uploads again.
        case userDeletedData
        /// The person has recovered their account and lost its keys: `zoneNotFound`, with
        /// `CKErrorUserDidResetEncryptedDataKey` true. An app creates the zone again and uploads.
        case encryptedDataReset
    }

    /// Deletes a zone of a person's private database with all its records **on their behalf**, as they do in Settings.
    ///
    /// Until an app creates the zone again, requests for it fail as the reason says. The default zone is emptied, and
    /// exists again at once. The zone's data leaves the quota at once and the disk in the background.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - account: The owner.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - reason: The reason that the person's apps get.
    /// - Throws: ``StratusError`` with `unknownAccount`, `unknownZone` if the zone does not exist, and
    ///   `invalidArgument` for a zone of another person. Then nothing is changed.
    public func purgeZone(
        _ zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        reason: ZonePurgeReason = .userDeletedData
    ) throws {
        try asking {
            try $0.purgeZone(
                zoneID.address, of: account.accountID, in: ContainerName(container),
                reason: reason == .userDeletedData ? .purged : .encryptedDataReset)
        }
        upkeep.wake()
    }

    /// The content of one asset of a record, with the rights of the database's account: for a record that was fetched
    /// with `desiredKeys` that omit the asset. No other content of the record is copied.
    ///
    /// The file is a private copy. It stays as long as the asset, and ``Options/assetCopySeconds`` longer: move
    /// it to keep it. The call always checks whether the person may read the record.
    ///
    /// - Parameters:
    ///   - key: The field.
    ///   - index: The index in a list of assets; 0 for a field with a single asset.
    ///   - recordID: The record, as the person names it.
    ///   - database: A database of one of this store's containers.
    /// - Returns: The asset with its file; nil if the field has no asset, or its list is too short.
    /// - Throws: `CKError` as fetching the record does: `unknownItem` if it does not exist or the person does not see
    ///   it, `assetNotAvailable` if the content is missing or damaged, `notAuthenticated`, `zoneNotFound`, a planned
    ///   fault; ``StratusError`` with `invalidArgument` for a database of another store.
    public func asset(
        _ key: CKRecord.FieldKey, at index: Int = 0, of recordID: CKRecord.ID, in database: CKDatabase
    ) throws -> CKAsset? {
        guard database.scope.captured.openSession === session else {
            throw StratusError(.invalidArgument, "The database belongs to another store. Ask that store for the asset.")
        }
        let context = RequestContext(
            session: session, caller: database.scope.caller(in: session), database: database.selector,
            callbacks: CallbackQueue(pool: nil))
        do {
            return try context.asset(key, at: index, of: recordID)
        } catch let error as CloudError {
            throw context.clientError(error)
        }
    }

    /// Replaces the schema of a container by a text in Apple's schema language, the content of a `.ckdb` file. The text
    /// is the whole schema. In production a schema may only grow; the type of a field never changes.
    ///
    /// - Parameters:
    ///   - text: The schema.
    ///   - identifier: The container.
    /// - Throws: ``StratusError`` with `invalidArgument`, which names the line and column of a mistake, or the type and
    ///   field that prevent the change. Then nothing is changed.
    public func importSchema(_ text: String, intoContainer identifier: String) throws {
        try asking { try $0.importSchema(text, into: ContainerName(identifier)) }
    }

    /// The schema of a container as text, which you can import again.
    ///
    /// - Parameter identifier: The container.
    /// - Returns: The text; without types for a container without records.
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func exportSchema(ofContainer identifier: String) throws -> String {
        try asking { try $0.exportSchema(of: ContainerName(identifier)) }
    }

    /// What a person may do with a record.
    public struct RecordPermissions: OptionSet, Hashable, Sendable {
        /// A bit for each permission.
        public let rawValue: Int
        /// The permissions with these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// They see it.
        public static let read = RecordPermissions(rawValue: 1 << 0)
        /// They may change it.
        public static let change = RecordPermissions(rawValue: 1 << 1)

        init(_ permissions: TypePermissions) {
            self = []
            if permissions.contains(.read) { insert(.read) }
            if permissions.contains(.write) { insert(.change) }
        }
    }

    /// What a person may do with records: for a host that serves records by other means than CloudKit. The same code
    /// decides it as for requests (P-10, P-11), without reading the records of private databases.
    /// `explainAccess(to:of:inContainer:for:)` says why.
    ///
    /// - Parameters:
    ///   - recordIDs: The records, as their owner names them.
    ///   - owner: The owner of the private database; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person.
    /// - Returns: The permissions for every record. Empty for a record that does not exist or that the person does not
    ///   see, and if their account may not be used.
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func permissions(
        for recordIDs: [CKRecord.ID], of owner: Account?, inContainer container: String, account: Account
    ) throws -> [CKRecord.ID: RecordPermissions] {
        var answers: [CKRecord.ID: RecordPermissions] = [:]
        for (zoneName, recordIDs) in Dictionary(grouping: recordIDs, by: \.zoneID.zoneName) {
            let zone = ZoneID(zoneName, of: owner, inContainer: container)
            let permissions = try asking {
                try $0.permissions(
                    for: recordIDs.map { RecordName($0.recordName) }, in: zone, of: UserName(account.userRecordName))
            }
            for (recordID, permission) in zip(recordIDs, permissions) {
                answers[recordID] = RecordPermissions(permission)
            }
        }
        return answers
    }

    // The layers below, for programs of this package that need both on one store: the tool and the benchmarks.

    /// The server of the store, including the engine. Valid until `reset()` or `close()`. It bypasses planned faults,
    /// events, and the holding back of requests for both: the caller is responsible for the order of its calls.
    ///
    /// Throws `StratusError` if the store was closed.
    package var service: CloudService {
        get throws { try asking { $0 } }
    }
}

extension RequestContext {
    /// An asset with its file, without the record's other fields.
    /// - Throws: `CloudError`.
    fileprivate func asset(_ key: CKRecord.FieldKey, at index: Int, of recordID: CKRecord.ID) throws -> CKAsset? {
        try ContainerScope.check(caller.container)
        // Held before the record is read, so that the content it names cannot be removed before it is copied.
        let hold = try server.holdAssets()
        let request = FetchRecordsRequest(addresses: [recordID.address], desiredKeys: [key])
        guard let answer = try server.answer(request, as: caller, in: database).records.first else { return nil }
        let assets = record(try answer.get()).assets.filter { $0.key == key }.map(\.asset)
        guard assets.indices.contains(index), let (content, place) = assets[index].wanted else { return nil }
        let wanted = [HeldAsset(content, in: place.key, of: place.record)]
        guard
            let copy = try server.copyAssets(wanted, as: caller, in: database, under: hold, shouldContinue: { true })
                .first
        else { return nil }
        assets[index].adopt(URL(fileURLWithPath: try copy.get()))
        return assets[index]
    }
}

extension ZoneID {
    /// A zone of a person's private database, or of the public one if `owner` is nil.
    init(_ zoneName: String, of owner: Stratus.Account?, inContainer container: String) {
        self.init(
            database: DatabaseID(
                container: ContainerName(container), owner: owner.map { UserName($0.userRecordName) },
                scope: owner == nil ? .public : .private),
            name: ZoneName(zoneName))
    }
}
