// The blocking calls of the host API for asynchronous code: the same names, awaited.
//
// Each one runs its blocking variant on a thread that may block, and suspends the task meanwhile. So the few threads
// that all tasks share stay free. In asynchronous code the compiler chooses these.
//
// Calls about accounts and data run on the session's pool, like requests. Calls about a whole store run on a pool of
// the process, because a store has no session before it is open. `close` and `open(at:)` have a thread of their own:
// closing waits for clients' callbacks, which may wait for any other call, and opening waits for closing.

public import Foundation

// MARK: Opening and closing

extension Stratus {
    /// Opens the store in a directory, or creates one there. If the directory is open in this process, you get the same
    /// instance.
    ///
    /// - Throws: ``StratusError`` with `held` naming the process that has the store open, `notAStore`, `newerFormat`,
    ///   `notPermitted`, `diskFull`, or `corruption`; `CancellationError`.
    public static func open(at directory: URL, options: Options = Options()) async throws -> Stratus {
        try Task.checkCancellation()
        return try await Self.onOwnThread { Result { try Stratus.open(at: directory, options: options) } }.get()
    }

    /// Opens the store at an address, or creates one there: the path of a directory, or the address of a PostgreSQL
    /// database, which begins with `postgresql://`. If the store is open in this process, you get the same instance.
    ///
    /// - Throws: ``StratusError`` as for a directory; with `held` naming the host that has the database; with
    ///   `unavailable` if PostgreSQL's client library is not installed, or no server answers; with `invalidArgument`
    ///   for a wrong address or ``Stratus/Options/servesTool``; `CancellationError`.
    public static func open(at address: String, options: Options = Options()) async throws -> Stratus {
        try Task.checkCancellation()
        return try await Self.onOwnThread { Result { try Stratus.open(at: address, options: options) } }.get()
    }

    /// Creates an empty store in memory. It is removed when nothing refers to it.
    ///
    /// - Throws: ``StratusError`` if there is no room for the files of assets; `CancellationError`.
    public static func inMemory(options: Options = Options()) async throws -> Stratus {
        try await Self.suspending { try Stratus.inMemory(options: options) }
    }

    /// Finishes every accepted request, refuses later ones with `serviceUnavailable`, stops the upkeep, and closes the
    /// store. When this returns, other processes can open the directory. Closing again does nothing.
    ///
    /// Cancelling the task changes nothing: the store is closed when this returns. Do not await it in a block of an
    /// operation.
    public func close() async {
        await Self.onOwnThread { self.close() }
    }

    /// Empties the store: deletes accounts, devices, records, assets and planned faults, and signs out. For tests.
    ///
    /// The store is emptied completely or not at all. Earlier change tokens, records and accounts are refused
    /// afterwards.
    ///
    /// - Throws: ``StratusError`` if the store was closed, and if its directory could not be written or created again;
    ///   `CancellationError`.
    public func reset() async throws {
        try await Self.suspending { try self.reset() }
    }

    /// Reopens the store in place after a failed write. Does nothing if none has failed. Fix the cause first.
    ///
    /// Do not await it in a block of an operation.
    ///
    /// - Throws: ``StratusError`` with `diskFull`, `inputOutput` or `notPermitted` if the cause still exists, and
    ///   `unavailable` if another store, or an older copy of this one, is at the path; `CancellationError`.
    public func recover() async throws {
        try await Self.suspending { try self.recover() }
    }

    /// Frees the space of deleted zones and accounts, expired history and orphaned assets now, which the store
    /// otherwise does in the background. Returns when everything is done.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func performUpkeep() async throws {
        try await Self.suspending { try self.performUpkeep() }
    }

    /// Copies this store, which continues to serve requests. The copy is opened, read completely and verified before it
    /// gets its name, and is durable when this returns.
    ///
    /// - Throws: ``StratusError`` with `corruption` if the store is damaged, `unavailable` if it changes too fast,
    ///   `notPermitted`, `diskFull`, `inputOutput` if the destination exists, `invalidArgument` for a store in memory;
    ///   `CancellationError`.
    @discardableResult
    public func backup(to destination: URL) async throws -> BackupReport {
        try await Self.suspending { try self.backup(to: destination) }
    }

    /// Copies a store that may be open in this process, in another one, or in none.
    ///
    /// - Throws: ``StratusError`` as for an open store; also `notAStore` and `newerFormat`; `CancellationError`.
    @discardableResult
    public static func backup(ofStoreAt source: URL, to destination: URL) async throws -> BackupReport {
        try await Self.suspending { try Stratus.backup(ofStoreAt: source, to: destination) }
    }

    // MARK: Accounts

    /// The account with the host's identifier of a person. Creates it if there is none. Two callers at the same time
    /// get the same account.
    ///
    /// - Throws: ``StratusError`` with `invalidArgument` for a malformed handle, and with `alreadyTaken` if a handle
    ///   belongs to another account; `CancellationError`.
    public func account(externalID: String, createIfMissing account: NewAccount) async throws -> Account {
        try await suspending { try self.account(externalID: externalID, createIfMissing: account) }
    }

    /// The account with the host's identifier of a person, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func account(externalID: String) async throws -> Account? {
        try await suspending { try self.account(externalID: externalID) }
    }

    /// The account with the store's identifier, ``Account/id``, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func account(id: String) async throws -> Account? {
        try await suspending { try self.account(id: id) }
    }

    /// The account that owns a verified e-mail address in any spelling, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func account(email: String) async throws -> Account? {
        try await suspending { try self.account(email: email) }
    }

    /// The account that owns a verified telephone number in any spelling, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func account(phoneNumber: String) async throws -> Account? {
        try await suspending { try self.account(phoneNumber: phoneNumber) }
    }

    /// The account whose user record has this name, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func account(userRecordName: String) async throws -> Account? {
        try await suspending { try self.account(userRecordName: userRecordName) }
    }

    /// The account for which a client got this token with a `CKFetchWebAuthTokenOperation`. Nil if this store did not
    /// create the token for this container and service, if the token is too old, or if the account may not be used.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func account(
        webAuthToken token: String, apiToken: String, container: String, notOlderThan age: Double = 14 * 24 * 3600
    ) async throws -> Account? {
        try await suspending {
            try self.account(
                webAuthToken: token, apiToken: apiToken, container: container, notOlderThan: age)
        }
    }

    /// All accounts, in no particular order.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func accounts() async throws -> [Account] {
        try await suspending { try self.accounts() }
    }

    /// The size of the account's private databases in bytes, including assets. The quota limits it (S-16).
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func usageByteCount(of account: Account) async throws -> Int64 {
        try await suspending { try self.usageByteCount(of: account) }
    }

    /// The size of a container's public database in bytes, including assets (S-16).
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func publicUsageByteCount(ofContainer identifier: String) async throws -> Int64 {
        try await suspending { try self.publicUsageByteCount(ofContainer: identifier) }
    }

    /// Creates an account. `externalID` is the host's identifier of the person; nil if the host knows them only by
    /// handle.
    ///
    /// - Throws: ``StratusError`` with `alreadyTaken` if the identifier or a handle belongs to another account, and
    ///   with `invalidArgument` for a malformed handle; then nothing is created; `CancellationError`.
    public func createAccount(_ account: NewAccount, externalID: String? = nil) async throws -> Account {
        try await suspending { try self.createAccount(account, externalID: externalID) }
    }

    /// Replaces all handles of an account. Verify them first. Returns the account after the change.
    ///
    /// - Throws: ``StratusError`` with `alreadyTaken`, `invalidArgument`, and `unknownAccount`; then nothing is
    ///   changed; `CancellationError`.
    @discardableResult
    public func setHandles(
        emails: Set<String>, phoneNumbers: Set<String> = [], of account: Account
    ) async throws -> Account {
        try await suspending { try self.setHandles(emails: emails, phoneNumbers: phoneNumbers, of: account) }
    }

    /// Changes the name by which others know the person. Returns the account after the change.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setName(_ name: PersonNameComponents, of account: Account) async throws -> Account {
        try await suspending { try self.setName(name, of: account) }
    }

    /// Suspends, restricts or restores an account, and posts `CKAccountChanged` for each container of the account
    /// . Returns the account after the change.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setStanding(_ standing: Standing, of account: Account) async throws -> Account {
        try await suspending { try self.setStanding(standing, of: account) }
    }

    /// Changes whether others may find the person by a handle. Returns the account after the change.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setDiscoverable(_ isDiscoverable: Bool, of account: Account) async throws -> Account {
        try await suspending { try self.setDiscoverable(isDiscoverable, of: account) }
    }

    /// Changes how many bytes the person's private databases may hold; nil for the store's default (S-16). Returns the
    /// account after the change.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setQuota(byteCount: Int64?, of account: Account) async throws -> Account {
        try await suspending { try self.setQuota(byteCount: byteCount, of: account) }
    }

    /// Deletes an account and **everything it owns in every container**, permanently. If this throws, call it again to
    /// continue; the upkeep continues too.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    public func deleteAccountWithAllData(_ account: Account) async throws {
        try await Self.suspending { try self.deleteAccountWithAllData(account) }
    }

    /// Signs an account in for all containers that were not created for a particular account. Posts `CKAccountChanged`
    /// for each of them.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    public func signIn(_ account: Account) async throws {
        try await suspending { try self.signIn(account) }
    }

    /// A device of a person. Creates it if the person has none of that name. From then on the store keeps its
    /// notifications.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`, and with `invalidArgument` if the name is empty or too long,
    ///   or the person has the maximum number of devices (``Options/deviceCount``); `CancellationError`.
    public func device(_ name: String, signedInAs account: Account) async throws -> Device {
        try await suspending { try self.device(name, signedInAs: account) }
    }

    /// The devices of a person, sorted by name; empty for a deleted account.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func devices(of account: Account) async throws -> [Device] {
        try await suspending { try self.devices(of: account) }
    }

    // MARK: Threads

    /// The threads for calls about whole stores.
    static let storeCalls = BlockingPool(threadCount: 64)

    func suspending<Answer: Sendable>(_ call: @escaping @Sendable () throws -> Answer) async throws -> Answer {
        try await Self.suspending(on: session.pool, call)
    }

    /// Runs a call on a pool while the task is suspended.
    /// - Throws: What the call throws, `CancellationError`, and ``StratusError`` with `unavailable`.
    static func suspending<Answer: Sendable>(
        on pool: BlockingPool = storeCalls, _ call: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        do {
            return try await pool.run(priority: .userInitiated, call)
        } catch is BlockingPool.Refusal {
            throw StratusError(
                .unavailable, "Too many calls are waiting for a thread. Make fewer at a time, or try again later.")
        }
    }

    /// Runs a call on its own thread while the task is suspended, even if the task was cancelled.
    private static func onOwnThread<Answer: Sendable>(_ call: @escaping @Sendable () -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: call()) }
        }
    }

    // Calls about data.

    /// Handles a tap on a share's URL: finds the share, accepts it for the account, and returns its metadata.
    ///
    /// - Throws: ``StratusError`` with `unknownShare` (M-04, M-05), `accessNotGranted`, `alreadyInvited` (P-17),
    ///   `shareIsFull`, and `unknownAccount`; `CancellationError`.
    @discardableResult
    public func open(_ url: URL, as account: Account) async throws -> CKShare.Metadata {
        try await suspending { try self.open(url, as: account) }
    }

    /// The content of one asset of a record, with the rights of the database's account; nil if the field has none at
    /// the index. The file is a private copy: move it to keep it.
    ///
    /// - Throws: ``StratusError`` with `invalidArgument` for a database of another store; `CKError` as fetching the
    ///   record does; `CancellationError`.
    public func asset(
        _ key: CKRecord.FieldKey, at index: Int = 0, of recordID: CKRecord.ID, in database: CKDatabase
    ) async throws -> CKAsset? {
        try await suspending { try self.asset(key, at: index, of: recordID, in: database) }
    }

    /// The people who can see a record, a page at a time (P-10, P-11). Do not show them to clients: participants may
    /// not see all of them. `limit` is 1 to 1,000 people.
    ///
    /// - Throws: ``StratusError`` with `unknownRecord` if the record does not exist, and `invalidArgument` for another
    ///   limit; `CancellationError`.
    public func people(
        whoCanSee recordID: CKRecord.ID, of owner: Account?, inContainer container: String,
        after position: RecordPeoplePage.Position? = nil, limit: Int = 200
    ) async throws -> RecordPeoplePage {
        try await suspending {
            try self.people(whoCanSee: recordID, of: owner, inContainer: container, after: position, limit: limit)
        }
    }

    /// What a person may do with records. The result has an entry for every record; it is empty for a record that the
    /// person does not see (P-10, P-11).
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func permissions(
        for recordIDs: [CKRecord.ID], of owner: Account?, inContainer container: String, account: Account
    ) async throws -> [CKRecord.ID: RecordPermissions] {
        try await suspending {
            try self.permissions(for: recordIDs, of: owner, inContainer: container, account: account)
        }
    }

    /// Explains a person's access to a record: the chain, the share, the participant, and the verdict.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func explainAccess(
        to recordID: CKRecord.ID, of owner: Account?, inContainer container: String, for account: Account
    ) async throws -> AccessExplanation {
        try await suspending {
            try self.explainAccess(to: recordID, of: owner, inContainer: container, for: account)
        }
    }

    /// Explains how a query is answered: the plan for each zone, and the cost of its first page, with the rights of the
    /// person who asks.
    ///
    /// - Throws: ``StratusError`` if CloudKit refuses the query; `CancellationError`.
    public func explainQuery(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, of scope: CKDatabase.Scope = .private,
        inContainer container: String, as account: Account?, resultsLimit: Int = 0
    ) async throws -> QueryExplanation {
        try await suspending {
            try self.explainQuery(
                query, inZoneWith: zoneID, of: scope, inContainer: container, as: account, resultsLimit: resultsLimit)
        }
    }

    /// The events of the shares in a person's zone, in order. `limit` is 1 to 1,000 events.
    ///
    /// - Throws: ``StratusError`` with `unknownZone` if the zone does not exist; `CancellationError`.
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
    /// - Throws: ``StratusError`` with `unknownAccount`, `unknownZone`, and `invalidArgument` for a zone of another
    ///   person; then nothing is changed; `CancellationError`.
    public func purgeZone(
        _ zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        reason: ZonePurgeReason = .userDeletedData
    ) async throws {
        try await suspending { try self.purgeZone(zoneID, of: account, inContainer: container, reason: reason) }
    }

    /// Replaces the schema of a container by a text in Apple's schema language.
    ///
    /// - Throws: ``StratusError`` with `invalidArgument`, which names the line and column of a mistake, or the type and
    ///   field that prevent the change; then nothing is changed; `CancellationError`.
    public func importSchema(_ text: String, intoContainer identifier: String) async throws {
        try await suspending { try self.importSchema(text, intoContainer: identifier) }
    }

    /// The schema of a container as text, which you can import again.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
    public func exportSchema(ofContainer identifier: String) async throws -> String {
        try await suspending { try self.exportSchema(ofContainer: identifier) }
    }
}
