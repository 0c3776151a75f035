// Calls for one page of changes, with a completion handler and awaited (T-04), and the changes that they return.

import StratusCloud

extension CKDatabase {
    /// Fetches a page of the zones that have changed.
    /// - Parameters:
    ///   - changeToken: The newest token that the client has stored for the database; nil to start from the beginning.
    ///   - resultsLimit: Zones in the page; nil lets the server decide (T-14).
    ///   - completionHandler: Gets the changes, the token after them and whether there are more, or the error.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
                        changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(fetchingChanges(changeToken, resultsLimit, completionHandler))
    }

    /// Fetches a page of the zones that have changed.
    /// - Parameters:
    ///   - changeToken: The newest token that the client has stored for the database; nil to start from the beginning.
    ///   - resultsLimit: Zones in the page; nil lets the server decide (T-14).
    /// - Returns: The changes, the token after them, and whether there are more.
    /// - Throws: `CKError`, `changeTokenExpired` if the token is too old or belongs to another database: fetch without
    ///   a token (T-09, X-30).
    public func databaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try await scope.await { fetchingChanges(changeToken, resultsLimit, $0) }
    }

    /// Fetches a page of the changes in a zone.
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - changeToken: The newest token that the client has stored for it; nil to start from the beginning.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records and deletions in the page; nil lets the server decide (T-14).
    ///   - completionHandler: Gets the changes, the token after them and whether there are more, or the error.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
                        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(fetchingChanges(zoneID, changeToken, desiredKeys, resultsLimit, completionHandler))
    }

    /// Fetches a page of the changes in a zone.
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - changeToken: The newest token that the client has stored for it; nil to start from the beginning.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records and deletions in the page; nil lets the server decide (T-14).
    /// - Returns: The changes, the token after them, and whether there are more.
    /// - Throws: `CKError`, `changeTokenExpired` if the token is too old or belongs to another zone: fetch without a
    ///   token (T-09, X-30).
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try await scope.await { fetchingChanges(zoneID, changeToken, desiredKeys, resultsLimit, $0) }
    }

    // MARK: Helpers

    private typealias DatabaseChanges = (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )
    private typealias ZoneChanges = (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    )

    private func fetchingChanges(
        _ token: CKServerChangeToken?, _ limit: Int?,
        _ completion: @escaping Completion<DatabaseChanges>
    ) -> CKOperation {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        operation.database = self
        operation.resultsLimit = limit ?? 0
        operation.fetchAllChanges = false
        let changed = Gathered<[DatabaseChange.Modification]>([])
        let deleted = Gathered<[DatabaseChange.Deletion]>([])
        operation.recordZoneWithIDChangedBlock = { changed.value.append(.init(zoneID: $0)) }
        operation.recordZoneWithIDWasDeletedBlock = { deleted.value.append(.init(zoneID: $0, reason: .deleted)) }
        operation.recordZoneWithIDWasPurgedBlock = { deleted.value.append(.init(zoneID: $0, reason: .purged)) }
        operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = {
            deleted.value.append(.init(zoneID: $0, reason: .encryptedDataReset))
        }
        operation.fetchDatabaseChangesResultBlock = { result in
            completion(result.map { (changed.value, deleted.value, $0.serverChangeToken, $0.moreComing) })
        }
        return operation
    }

    private func fetchingChanges(
        _ zoneID: CKRecordZone.ID, _ token: CKServerChangeToken?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int?,
        _ completion: @escaping Completion<ZoneChanges>
    ) -> CKOperation {
        let changed = Gathered<[(CKRecord.ID, Result<RecordZoneChange.Modification, any Error>)]>([])
        let operation = fetchingPage(
            of: zoneID, .init(previousServerChangeToken: token, resultsLimit: limit, desiredKeys: desiredKeys)
        ) { page in
            completion(page.map { (changed.byID(), $0, $1.serverChangeToken, $1.moreComing) })
        }
        operation.recordWasChangedBlock = { changed.value.append(($0, $1.map { .init(record: $0) })) }
        return operation
    }

    /// Fetches one page of a zone's changes, without a block for the changed records.
    func fetchingPage(
        of zoneID: CKRecordZone.ID, _ configuration: CKFetchRecordZoneChangesOperation.ZoneConfiguration,
        _ completion: @escaping Completion<([RecordZoneChange.Deletion], FetchedZoneChanges)>
    ) -> CKFetchRecordZoneChangesOperation {
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
        operation.database = self
        operation.fetchAllChanges = false
        let deleted = Gathered<[RecordZoneChange.Deletion]>([])
        let end = Gathered<Result<FetchedZoneChanges, any Error>?>(nil)
        operation.recordWithIDWasDeletedBlock = { deleted.value.append(.init(recordID: $0, recordType: $1)) }
        operation.recordZoneFetchResultBlock = { end.value = $1 }
        operation.fetchRecordZoneChangesResultBlock = { result in
            // The call throws the error of the zone.
            let fetched = result.flatMap { _ in end.value ?? .failure(CKError.unanswered()) }
            completion(fetched.map { (deleted.value, $0) })
        }
        return operation
    }

    // Changes. Only answers of the server create them.

    /// A change of a zone.
    public enum DatabaseChange {
        /// A zone that is new, or in which something has changed.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
        }

        /// A zone that is gone.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone (Z-07).
            public enum Reason: Hashable, Sendable {
                /// It was deleted, or nothing of it is shared with the user now.
                case deleted
                /// It was purged: ask the user before its records are uploaded again.
                case purged
                /// The keys of its encrypted data were lost: create it again, and upload the local data.
                case encryptedDataReset
            }

            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why it is gone.
            public let reason: Reason

            /// Whether it was purged.
            @available(*, deprecated, message: "Use reason.")
            public var purged: Bool { reason == .purged }
        }
    }

    /// A change of a record.
    public enum RecordZoneChange {
        /// A record that is new or has changed.
        public struct Modification: Hashable, Sendable {
            /// The record as it is now.
            public let record: CKRecord
        }

        /// A record that is gone, or that the user may no longer see.
        public struct Deletion: Hashable, Sendable {
            /// The record.
            public let recordID: CKRecord.ID
            /// The type of the record (T-07).
            public let recordType: CKRecord.RecordType
        }
    }
}
