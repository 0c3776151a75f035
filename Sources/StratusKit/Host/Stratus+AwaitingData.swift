// The calls of the host API about data that block, for asynchronous code: see `Stratus+Awaiting.swift`.

public import Foundation

extension Stratus {
    /// What a tap on a share's URL does: finds the share, accepts it for the account, and returns its metadata
    ///
    ///
    /// - Throws: ``StratusError`` with `unknownShare` (M-04, M-05), `accessNotGranted`, `alreadyInvited` (P-17),
    ///   `shareIsFull`, and `unknownAccount`; `CancellationError`.
    @discardableResult
    public func open(_ url: URL, as account: Account) async throws -> CKShare.Metadata {
        try await suspending { try self.open(url, as: account) }
    }

    /// The content of one asset of a record, with the rights of the account whose database it is; nil where the field
    /// holds none at the index. The file is a private copy: move it to keep it.
    ///
    /// - Throws: ``StratusError`` with `invalidArgument` for a database of another store; `CKError` as fetching the
    ///   record does; `CancellationError`.
    public func asset(
        _ key: CKRecord.FieldKey, at index: Int = 0, of recordID: CKRecord.ID, in database: CKDatabase
    ) async throws -> CKAsset? {
        try await suspending { try self.asset(key, at: index, of: recordID, in: database) }
    }

    /// Who can see a record, a page at a time (P-10, P-11). Do not show it to clients: it names people whom
    /// participants may not see. A `limit` is 1 to 1,000 people.
    ///
    /// - Throws: ``StratusError`` with `unknownRecord` where there is no such record, and `invalidArgument` for
    ///   another limit; `CancellationError`.
    public func people(
        whoCanSee recordID: CKRecord.ID, of owner: Account?, inContainer container: String,
        after position: RecordPeoplePage.Position? = nil, limit: Int = 200
    ) async throws -> RecordPeoplePage {
        try await suspending {
            try self.people(whoCanSee: recordID, of: owner, inContainer: container, after: position, limit: limit)
        }
    }

    /// What a person may do with records: an answer for every record, nothing for one that they do not see (P-10,
    /// P-11).
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func permissions(
        for recordIDs: [CKRecord.ID], of owner: Account?, inContainer container: String, account: Account
    ) async throws -> [CKRecord.ID: RecordPermissions] {
        try await suspending {
            try self.permissions(for: recordIDs, of: owner, inContainer: container, account: account)
        }
    }

    /// Why a person may do what they may with a record: the chain walked, the share found, the participant matched,
    /// the verdict.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func explainAccess(
        to recordID: CKRecord.ID, of owner: Account?, inContainer container: String, for account: Account
    ) async throws -> AccessExplanation {
        try await suspending {
            try self.explainAccess(to: recordID, of: owner, inContainer: container, for: account)
        }
    }

    /// How a query is answered: the plan for each zone, and what its first page costs, with the rights of the person
    /// who asks.
    ///
    /// - Throws: ``StratusError`` where the query is one that CloudKit refuses; `CancellationError`.
    public func explainQuery(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, of scope: CKDatabase.Scope = .private,
        inContainer container: String, as account: Account?, resultsLimit: Int = 0
    ) async throws -> QueryExplanation {
        try await suspending {
            try self.explainQuery(
                query, inZoneWith: zoneID, of: scope, inContainer: container, as: account, resultsLimit: resultsLimit)
        }
    }

    /// What happened to the shares of a person's zone, in the order in which it happened. A `limit` is 1 to 1,000
    /// events.
    ///
    /// - Throws: ``StratusError`` with `unknownZone` where there is no such zone; `CancellationError`.
    public func shareEvents(
        of zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        after position: ShareEventPage.Position? = nil, limit: Int = 200
    ) async throws -> ShareEventPage {
        try await suspending {
            try self.shareEvents(of: zoneID, of: account, inContainer: container, after: position, limit: limit)
        }
    }

    /// Deletes a zone of a person's private database with all its records **on their behalf**, as they do in Settings
    /// (Z-07, Z-08).
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`, `unknownZone`, and `invalidArgument` for a zone of somebody
    ///   else; nothing is changed then; `CancellationError`.
    public func purgeZone(
        _ zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        reason: ZonePurgeReason = .userDeletedData
    ) async throws {
        try await suspending { try self.purgeZone(zoneID, of: account, inContainer: container, reason: reason) }
    }

    /// Replaces the schema of a container with what a text in Apple's schema language defines.
    ///
    /// - Throws: ``StratusError`` with `invalidArgument`, which names the line and column of a mistake, or the type
    ///   and field in the way; nothing is changed then; `CancellationError`.
    public func importSchema(_ text: String, intoContainer identifier: String) async throws {
        try await suspending { try self.importSchema(text, intoContainer: identifier) }
    }

    /// The schema of a container as text, which can be imported again.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func exportSchema(ofContainer identifier: String) async throws -> String {
        try await suspending { try self.exportSchema(ofContainer: identifier) }
    }
}
