// Containers for hosts: of this store, for whoever is signed in or for an account of their own.

import Foundation
package import StratusCloud
import StratusModel
import StratusStore

extension Stratus {
    /// A container for whoever is signed in to the store at the time of each request.
    ///
    /// - Parameter identifier: The container's name, such as `iCloud.com.example.app`.
    /// - Returns: The container, made anew.
    public func container(_ identifier: String) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: nil)
    }

    /// A container for one account, whoever else is signed in: this is how a service acts for its users.
    ///
    /// - Parameters:
    ///   - identifier: The container's name, such as `iCloud.com.example.app`.
    ///   - account: Who uses it. Where the account is suspended or deleted later, requests fail with `notAuthenticated`.
    /// - Returns: The container, made anew.
    public func container(_ identifier: String, signedInAs account: Account) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: account.accountID)
    }
}

// What a person does to their zones outside every app, in Settings: the host does it for them.

extension Stratus {
    /// Why a host deletes a person's zone: what their apps are told (Z-07, Z-08).
    public enum ZonePurgeReason: Hashable, Sendable {
        /// The person has deleted the app's data: `userDeletedZone`. An app asks them before it uploads again.
        case userDeletedData
        /// The person has recovered their account and lost its keys: `zoneNotFound`, with
        /// `CKErrorUserDidResetEncryptedDataKey` true. An app makes the zone again and uploads.
        case encryptedDataReset
    }

    /// Deletes a zone of a person's private database with all its records **on their behalf**, as they do in Settings.
    ///
    /// Whatever their apps ask of the zone is answered as the reason says, until one makes it anew. The default zone is
    /// emptied, and there again at once. What the zone holds leaves the quota at once and the disk in the background.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - account: Whose it is.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - reason: What the person's apps are to be told.
    /// - Throws: ``StratusError`` with `unknownAccount`, `unknownZone` where there is no such zone, or is none any more,
    ///   and `invalidArgument` for a zone of somebody else's; nothing is changed then.
    public func purgeZone(
        _ zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        reason: ZonePurgeReason = .userDeletedData
    ) throws {
        try asking {
            try $0.purgeZone(
                zoneID.address, of: account.accountID, in: ContainerName(container),
                reason: StratusCloud.ZonePurgeReason(reason))
        }
        upkeep.wake()
    }
}

extension StratusCloud.ZonePurgeReason {
    fileprivate init(_ reason: Stratus.ZonePurgeReason) {
        switch reason {
        case .userDeletedData: self = .purged
        case .encryptedDataReset: self = .encryptedDataReset
        }
    }
}

// The content of one asset, for a record that was fetched without it.

extension Stratus {
    /// The content of one asset of a record, with the rights of the account whose database it is: for a record that was
    /// fetched with `desiredKeys` that leave the asset out. Nothing else of the record is copied.
    ///
    /// The file is a private copy. It stays as long as the asset, and ``Options/assetCopySeconds`` longer: move it to
    /// keep it. Whether the person may read the record is decided here and now, whatever was fetched before.
    ///
    /// - Parameters:
    ///   - key: The field.
    ///   - index: Which of a list's assets; 0 for a field that holds one.
    ///   - recordID: The record, as the person names it.
    ///   - database: A database of one of this store's containers.
    /// - Returns: The asset with its file; nil where the field holds no asset, or no list that is so long.
    /// - Throws: `CKError` as fetching the record does: `unknownItem` where it is not there or the person does not see it,
    ///   `assetNotAvailable` where the content is missing or damaged, `notAuthenticated`, `zoneNotFound`, a planned fault;
    ///   ``StratusError`` with `invalidArgument` for a database of another store.
    public func asset(
        _ key: CKRecord.FieldKey, at index: Int = 0, of recordID: CKRecord.ID, in database: CKDatabase
    ) throws -> CKAsset? {
        guard database.scope.captured.openSession === session else {
            throw StratusError(.invalidArgument, "The database is another store's: ask that store for the asset.")
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
}

extension RequestContext {
    /// An asset with its file, without the record's other fields.
    /// - Throws: `CloudError`.
    fileprivate func asset(_ key: CKRecord.FieldKey, at index: Int, of recordID: CKRecord.ID) throws -> CKAsset? {
        try ContainerScope.check(caller.container)
        // Held from before the record is read, so that what it names cannot go before it is copied.
        let hold = try server.holdAssets()
        let request = FetchRecordsRequest(addresses: [recordID.address], desiredKeys: [key])
        guard let answer = try server.fetchRecords(request, as: caller, in: database).records.first else { return nil }
        let assets = record(try answer.get()).state.value.assets.filter { $0.key == key }.map(\.asset)
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

// The schemas of a store's containers, in Apple's schema language.

extension Stratus {
    /// Replaces the schema of a container with what a text in Apple's schema language, the content of a `.ckdb` file,
    /// defines. The text is the whole schema. In production a schema may only grow; a field's type never changes.
    ///
    /// - Parameters:
    ///   - text: The schema.
    ///   - identifier: The container.
    /// - Throws: ``StratusError`` with `invalidArgument`, which names the line and column of a mistake, or the type and
    ///   field in the way. Nothing is changed then.
    public func importSchema(_ text: String, intoContainer identifier: String) throws {
        try asking { try $0.importSchema(text, into: ContainerName(identifier)) }
    }

    /// The schema of a container as text, which can be imported again.
    ///
    /// - Parameter identifier: The container.
    /// - Returns: The text, empty of types for a container without records.
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func exportSchema(ofContainer identifier: String) throws -> String {
        try asking { try $0.exportSchema(of: ContainerName(identifier)) }
    }
}

// What somebody may do with records, asked by the host.

extension Stratus {
    /// What a person may do with a record that is there.
    public struct RecordPermissions: OptionSet, Hashable, Sendable {
        /// A bit for each permission.
        public let rawValue: Int
        /// The permissions of these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// They see it.
        public static let read = RecordPermissions(rawValue: 1 << 0)
        /// They may change it.
        public static let change = RecordPermissions(rawValue: 1 << 1)
    }

    /// What a person may do with records: for a host that serves them by other ways than CloudKit's. It is decided in the
    /// place where requests are (P-10, P-11), without reading the records of private databases.
    /// `explainAccess(to:of:inContainer:for:)` says why.
    ///
    /// - Parameters:
    ///   - recordIDs: The records, as their owner names them.
    ///   - owner: Whose private database they lie in; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person.
    /// - Returns: An answer for every record: nothing for one that is not there or that the person does not see, and
    ///   nothing where their account may not be used.
    /// - Throws: ``StratusError`` where the store fails or was closed.
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

extension Stratus.RecordPermissions {
    init(_ permissions: StratusModel.RecordPermissions) {
        self = []
        if permissions.contains(.read) { insert(.read) }
        if permissions.contains(.write) { insert(.change) }
    }
}

// The floors below the face, for programs of this package that need both on one store: the tool, the benchmarks.

extension Stratus {
    /// The server of the store, with the engine in it. It is the store's until `reset()` or `close()`, and goes round the
    /// planned faults of requests, the watching and the holding back of both: who uses it answers for the order of things.
    ///
    /// Throws `StratusError` where the store was closed.
    package var service: CloudService {
        get throws { try asking { $0 } }
    }
}
