// The calls of the host API that block, for asynchronous code: the same names, awaited. Here are those about stores and
// accounts; `Stratus+AwaitingData.swift` has those about data.
//
// Each runs its blocking variant on a thread that may block and suspends the task meanwhile, so that the few threads
// that all tasks share stay free. In asynchronous code the compiler chooses these.
//
// Calls about accounts and data run on the session's pool, as requests do. Calls about a whole store run on a pool of
// the process, because there is no session before a store is open. `close` and `open(at:)` have a thread of their own:
// closing waits for callbacks of clients, which may wait for any other call, and opening waits for a closing.

public import Foundation

// MARK: Opening and closing

extension Stratus {
    /// Opens the store in a directory, or creates one there. A directory that is open in this process already is
    /// not opened twice: you get the same instance.
    ///
    /// - Throws: ``StratusError`` with `held` naming the process that has the store open, `notAStore`, `newerFormat`,
    ///   `notPermitted`, `diskFull`, or `corruption`; `CancellationError`.
    public static func open(at directory: URL, options: Options = Options()) async throws -> Stratus {
        try Task.checkCancellation()
        return try await Self.onOwnThread { Result { try Stratus.open(at: directory, options: options) } }.get()
    }

    /// Creates an empty store in memory, which is gone when nothing refers to it any more.
    ///
    /// - Throws: ``StratusError`` where there is no room for the files of assets; `CancellationError`.
    public static func inMemory(options: Options = Options()) async throws -> Stratus {
        try await Self.suspending { try Stratus.inMemory(options: options) }
    }

    /// Finishes every request that was accepted, refuses later ones with `serviceUnavailable`, stops the upkeep, and
    /// closes the store: when this returns the directory is free for others. Closing again does nothing.
    ///
    /// Cancelling the task changes nothing: the store is closed when this returns. Do not await it in a block of an
    /// operation.
    public func close() async {
        await Self.onOwnThread { self.close() }
    }

    /// Empties the store: accounts, devices, records, assets, planned faults and the signed-in account are gone. For
    /// tests.
    ///
    /// The store is emptied whole or not at all. Change tokens, records and accounts from before are refused
    /// afterwards.
    ///
    /// - Throws: ``StratusError`` where the store was closed, and where its directory could not be written or made
    ///   again; `CancellationError`.
    public func reset() async throws {
        try await Self.suspending { try self.reset() }
    }

    /// Opens the store again in place after a failed write. Does nothing where none has failed. Fix the cause first.
    ///
    /// Do not await it in a block of an operation.
    ///
    /// - Throws: ``StratusError`` with `diskFull`, `inputOutput` or `notPermitted` where the cause is still there,
    ///   and `unavailable` where another store, or an older copy of this one, is at the path; `CancellationError`.
    public func recover() async throws {
        try await Self.suspending { try self.recover() }
    }

    /// Frees at once what deleted zones and accounts, expired history and orphaned assets take, as the store
    /// otherwise does in the background. Returns when everything is done.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func performUpkeep() async throws {
        try await Self.suspending { try self.performUpkeep() }
    }

    /// Copies this store, which serves requests meanwhile. The copy is opened, read whole and verified
    /// before it has its name, and is durable when this returns.
    ///
    /// - Throws: ``StratusError`` with `corruption` where the store is damaged, `unavailable` where it changes too
    ///   fast, `notPermitted`, `diskFull`, `inputOutput` where the destination exists, `invalidArgument` for a store
    ///   in memory; `CancellationError`.
    @discardableResult
    public func backup(to destination: URL) async throws -> BackupReport {
        try await Self.suspending { try self.backup(to: destination) }
    }

    /// Copies a store that may be open here, in another process, or in none.
    ///
    /// - Throws: ``StratusError`` as for a store that is open here; also `notAStore` and `newerFormat`;
    ///   `CancellationError`.
    @discardableResult
    public static func backup(ofStoreAt source: URL, to destination: URL) async throws -> BackupReport {
        try await Self.suspending { try Stratus.backup(ofStoreAt: source, to: destination) }
    }
}

// MARK: Accounts

extension Stratus {
    /// The account with the host's own identifier; it is made where there is none. Two callers that ask at the same
    /// time get the same account.
    ///
    /// - Throws: ``StratusError`` with `invalidArgument` for a malformed handle, and with `alreadyTaken` when a
    ///   handle belongs to another account; `CancellationError`.
    public func account(externalID: String, createIfMissing account: NewAccount) async throws -> Account {
        try await suspending { try self.account(externalID: externalID, createIfMissing: account) }
    }

    /// The account with the host's own identifier, or nil.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func account(externalID: String) async throws -> Account? {
        try await suspending { try self.account(externalID: externalID) }
    }

    /// The account with the store's own identifier, ``Account/id``, or nil.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func account(id: String) async throws -> Account? {
        try await suspending { try self.account(id: id) }
    }

    /// The account that owns a verified e-mail address, however it is written, or nil.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func account(email: String) async throws -> Account? {
        try await suspending { try self.account(email: email) }
    }

    /// The account that owns a verified telephone number, however it is written, or nil.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func account(phoneNumber: String) async throws -> Account? {
        try await suspending { try self.account(phoneNumber: phoneNumber) }
    }

    /// The account whose user record has this name, or nil.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func account(userRecordName: String) async throws -> Account? {
        try await suspending { try self.account(userRecordName: userRecordName) }
    }

    /// The account of which a client has got this token with a `CKFetchWebAuthTokenOperation`; nil for a token that
    /// this store did not make for just this container and service, or that is too old, and where the account may not
    /// be used.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func account(
        webAuthToken token: String, apiToken: String, container: String, notOlderThan age: Double = 14 * 24 * 3600
    ) async throws -> Account? {
        try await suspending {
            try self.account(
                webAuthToken: token, apiToken: apiToken, container: container, notOlderThan: age)
        }
    }

    /// All accounts, in no meaningful order.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func accounts() async throws -> [Account] {
        try await suspending { try self.accounts() }
    }

    /// The bytes that the account's private databases hold, assets included: what its quota is compared with (S-16).
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func usageByteCount(of account: Account) async throws -> Int64 {
        try await suspending { try self.usageByteCount(of: account) }
    }

    /// The bytes that the public database of a container holds, assets included (S-16).
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func publicUsageByteCount(ofContainer identifier: String) async throws -> Int64 {
        try await suspending { try self.publicUsageByteCount(ofContainer: identifier) }
    }

    /// Creates an account. `externalID` is the host's own identifier of the person, nil where it knows them by handle
    /// alone.
    ///
    /// - Throws: ``StratusError`` with `alreadyTaken` when the identifier or a handle belongs to another account, and
    ///   with `invalidArgument` for a malformed handle; nothing is made then; `CancellationError`.
    public func createAccount(_ account: NewAccount, externalID: String? = nil) async throws -> Account {
        try await suspending { try self.createAccount(account, externalID: externalID) }
    }

    /// Replaces all handles of an account. Verify them first. Returns the account as it is now.
    ///
    /// - Throws: ``StratusError`` with `alreadyTaken`, `invalidArgument`, and `unknownAccount`; nothing is changed
    ///   then; `CancellationError`.
    @discardableResult
    public func setHandles(
        emails: Set<String>, phoneNumbers: Set<String> = [], of account: Account
    ) async throws -> Account {
        try await suspending { try self.setHandles(emails: emails, phoneNumbers: phoneNumbers, of: account) }
    }

    /// Changes the name by which others know the person. Returns the account as it is now.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setName(_ name: PersonNameComponents, of account: Account) async throws -> Account {
        try await suspending { try self.setName(name, of: account) }
    }

    /// Suspends, restricts or restores an account, and posts `CKAccountChanged` for each container of the account
    /// . Returns the account as it is now.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setStanding(_ standing: Standing, of account: Account) async throws -> Account {
        try await suspending { try self.setStanding(standing, of: account) }
    }

    /// Changes whether others may find the person by a handle. Returns the account as it is now.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setDiscoverable(_ isDiscoverable: Bool, of account: Account) async throws -> Account {
        try await suspending { try self.setDiscoverable(isDiscoverable, of: account) }
    }

    /// Changes how many bytes the person's private databases may hold; nil for the store's default (S-16). Returns
    /// the account as it is now.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    @discardableResult
    public func setQuota(byteCount: Int64?, of account: Account) async throws -> Account {
        try await suspending { try self.setQuota(byteCount: byteCount, of: account) }
    }

    /// Deletes an account and **everything it owns in every container**, for good. Where it throws half way, calling
    /// it again continues, and so does the upkeep.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    public func deleteAccountWithAllData(_ account: Account) async throws {
        try await Self.suspending { try self.deleteAccountWithAllData(account) }
    }

    /// Signs an account in for all containers that are not made for an account of their own. Posts `CKAccountChanged`
    /// for each of them.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`; `CancellationError`.
    public func signIn(_ account: Account) async throws {
        try await suspending { try self.signIn(account) }
    }

    /// A device of a person. It is made where the person has none of that name, and from then on the store keeps what
    /// it is told.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`, and with `invalidArgument` for a name that is none or too
    ///   long, and where the person has as many devices as there may be (``Options/deviceCount``);
    ///   `CancellationError`.
    public func device(_ name: String, signedInAs account: Account) async throws -> Device {
        try await suspending { try self.device(name, signedInAs: account) }
    }

    /// The devices of a person, by name; none of a person who is gone.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
    public func devices(of account: Account) async throws -> [Device] {
        try await suspending { try self.devices(of: account) }
    }
}

// MARK: Threads

extension Stratus {
    /// The threads for calls about whole stores.
    static let storeCalls = BlockingPool(threadCount: 64)

    func suspending<Answer: Sendable>(_ call: @escaping @Sendable () throws -> Answer) async throws -> Answer {
        try await Self.suspending(on: session.pool, call)
    }

    /// - Throws: What the call throws, `CancellationError`, and ``StratusError`` with `unavailable`.
    static func suspending<Answer: Sendable>(
        on pool: BlockingPool = storeCalls, _ call: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        do {
            return try await pool.run(priority: .userInitiated, call)
        } catch is BlockingPool.Refusal {
            throw StratusError(
                .unavailable, "Too many calls wait for a thread: make fewer at a time, or try again later.")
        }
    }

    /// Runs a call on a thread of its own while the task is suspended. It runs although the task was cancelled.
    private static func onOwnThread<Answer: Sendable>(_ call: @escaping @Sendable () -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: call()) }
        }
    }
}

// The calls of the host API about data that block, for asynchronous code: see `Stratus+Awaiting.swift`.

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
