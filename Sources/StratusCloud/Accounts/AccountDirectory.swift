// The accounts of a store: finds them by identifier, the host's identifier, a handle or the name of the user record;
// creates and changes them; and takes the first step of their deletion (`DepartureRunner` does the rest).
//
// Invariants: an account is the only one with its external identifier, each of its handles and its user name; each of
// these has one entry among the identities. They change in one transaction with the account, so two callers cannot both
// get the same handle.

package import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
package import StratusStore

/// The accounts of a store.
package final class AccountDirectory: Sendable {
    package let cache: PublishedCache<AccountID, StoredAccount>
    /// The accounts to which identities led when they were read. They only guess.
    let guessedIDs: PublishedCache<[UInt8], AccountID>

    package init(cacheCount: Int = 20_000, role: CacheRole = .answers) {
        cache = PublishedCache(maximumCount: cacheCount, role: role)
        guessedIDs = PublishedCache(maximumCount: role == .guesses ? cacheCount : 0, role: .guesses)
    }

    /// The account, or nil if there is none. Uses the cache if possible; in a transaction only if no change of the
    /// account is in flight, so that a deletion that commits first is seen.
    package func account(_ id: AccountID, in reader: RecordReader) throws -> StoredAccount? {
        let key = GlobalKeys.account(id)
        let transaction = reader as? RecordTransaction
        let mayUseCache = transaction?.hasUnpublishedWrite(forKey: key) != true
        let version = reader.store.version
        if mayUseCache, let account = cache.value(for: id, at: version) { return account }
        let entry = try reader.store.withValue(forKey: key) { try AccountEntry(decoding: $0) }
        guard let account = entry?.account(id) else { return nil }
        if transaction == nil || cache.role == .guesses { cache.fill(id, account, at: version) }
        return account
    }

    /// The account with the host's own identifier.
    package func account(externalID: String, in reader: RecordReader) throws -> StoredAccount? {
        guard externalID.utf8.count <= AccountLimits.externalIDByteCount else { return nil }
        return try account(under: GlobalKeys.identity(.externalID, externalID), in: reader)
    }

    /// The account that owns a handle; nil for a malformed handle.
    package func account(handle: Handle, in reader: RecordReader) throws -> StoredAccount? {
        guard let key = Self.identityKey(of: handle) else { return nil }
        return try account(under: key, in: reader)
    }

    /// The account whose user record has this name.
    package func account(userName: UserName, in reader: RecordReader) throws -> StoredAccount? {
        guard let key = Self.identityKey(of: userName) else { return nil }
        return try account(under: key, in: reader)
    }

    /// The accounts of identities, in their order; nil where there is none. As looking each up, but read together.
    func accounts(under keys: [[UInt8]?], in reader: RecordReader) throws -> [StoredAccount?] {
        announce(keys.compactMap { $0 }, in: reader)
        let ids = try keys.map { key in try key.flatMap { try accountID(under: $0, in: reader) } }
        announce(ids.compactMap { $0 }, in: reader)
        return try zip(keys, ids).map { key, id in
            try key.flatMap { key in try id.map { try knownAccount($0, under: key, in: reader) } }
        }
    }

    /// The key of the identity of a handle; nil for a malformed one.
    static func identityKey(of handle: Handle) -> [UInt8]? { handle.normalized.map { GlobalKeys.identity($0) } }

    /// The key of the identity of a user record's name; nil for one that no record has.
    static func identityKey(of userName: UserName) -> [UInt8]? {
        guard userName.text.utf8.count <= LayoutLimits.maximumNameByteCount else { return nil }
        return GlobalKeys.identity(.userRecord, userName.text)
    }

    /// The key of the identity that a look-up names.
    static func identityKey(of lookup: IdentityLookup) -> [UInt8]? {
        switch lookup {
        case .email, .phone: lookup.handle.flatMap { identityKey(of: $0) }
        case .userRecord(let name): identityKey(of: UserName(name))
        }
    }

    /// The accounts after `id` in the order of identifiers, at most `limit` of them.
    package func accounts(after id: AccountID?, limit: Int, in reader: RecordReader) throws -> AccountPage {
        let limit = min(max(limit, 1), AccountLimits.pageCount)
        let range = id.map { GlobalKeys.accounts(after: $0) } ?? GlobalKeys.keyspace(.accounts)
        var page = AccountPage(accounts: [], next: nil)
        // One more entry shows whether there are more. It is not decoded: a damaged one belongs to the next page.
        try reader.store.forEach(in: range, limit: limit + 1) { key, value in
            if page.accounts.count == limit {
                page.next = page.accounts.last?.id
            } else {
                page.accounts.append(try AccountEntry(decoding: value).account(GlobalKeys.readAccountKey(key)))
            }
        }
        return page
    }

    /// The caller's account, if it may be used now.
    ///
    /// Throws `CloudError` with `notAuthenticated`, `managedAccountRestricted` or `accountTemporarilyUnavailable`
    /// (S-17).
    package func requireAccount(of caller: Caller, in reader: RecordReader) throws -> StoredAccount {
        guard let id = caller.account else { return try AccountVerdict.require(nil) }
        return try AccountVerdict.require(account(id, in: reader))
    }

    private func account(under key: [UInt8], in reader: RecordReader) throws -> StoredAccount? {
        guard let id = try accountID(under: key, in: reader) else { return nil }
        return try knownAccount(id, under: key, in: reader)
    }

    private func accountID(under key: [UInt8], in reader: RecordReader) throws -> AccountID? {
        guard let id = try reader.accountID(under: key) else { return nil }
        if cache.role == .guesses { guessedIDs.fill(key, id, at: reader.store.version) }
        return id
    }

    /// The account to which an identity leads.
    private func knownAccount(_ id: AccountID, under key: [UInt8], in reader: RecordReader) throws -> StoredAccount {
        guard let account = try account(id, in: reader) else {
            throw CloudError(
                .internalError, "An identity leads to an account that does not exist. Restore the store from a backup.",
                ["key": KeyDescription.text(of: key)])
        }
        return account
    }
}

extension RecordReader {
    /// The account that an identity leads to.
    func accountID(under identityKey: [UInt8]) throws -> AccountID? {
        try store.withValue(forKey: identityKey) { try AccountIDEntry(decoding: $0).account }
    }
}

// MARK: Changes

/// The identifiers and the date of a new account, drawn before the transaction.
package struct AccountBirth: Hashable, Sendable {
    package var id: AccountID
    package var userName: UserName
    package var created: Date

    package init(identifier: UUID, user: UUID, created: Date) {
        id = AccountID(identifier.uuidString.lowercased())
        userName = UserName("_" + user.uuidString.lowercased().filter { $0 != "-" })
        self.created = created
    }
}

extension AccountDirectory {
    /// Creates an account.
    ///
    /// Throws `invalidArguments` for a malformed handle or an exceeded limit, `constraintViolation` if the external
    /// identifier or a handle belongs to another account, and `internalError` if the account's identifier or user name
    /// is already in use.
    package func create(
        _ draft: AccountDraft, _ birth: AccountBirth, in transaction: RecordTransaction
    ) throws -> StoredAccount {
        let account = StoredAccount(
            id: birth.id, externalID: draft.externalID, userName: birth.userName,
            handles: try AccountLimits.normalized(draft.handles), name: draft.name, standing: draft.standing,
            isDiscoverable: draft.isDiscoverable, quotaByteCount: draft.quotaByteCount, created: birth.created)
        guard try self.account(birth.id, in: transaction) == nil else { throw CloudError.repeatedIdentity }
        try write(account, replacing: nil, in: transaction)
        return account
    }

    /// Writes an account as it is in another store. An existing account does not change.
    ///
    /// Returns whether it was written. Throws like `create`.
    func adopt(_ account: StoredAccount, in transaction: RecordTransaction) throws -> Bool {
        guard try self.account(account.id, in: transaction) == nil else { return false }
        try write(account, replacing: nil, in: transaction)
        return true
    }

    /// Changes an account. Handles are normalised after `change`; the identifier and the user name never change.
    ///
    /// Throws like `create`, and `unknownItem` if there is no such account.
    @discardableResult
    package func change(
        _ id: AccountID, in transaction: RecordTransaction, _ change: (inout StoredAccount) throws -> Void
    ) throws -> StoredAccount {
        guard let old = try account(id, in: transaction) else { throw Self.unknownAccount }
        var new = old
        try change(&new)
        new.handles = try AccountLimits.normalized(new.handles)
        precondition(new.id == old.id && new.userName == old.userName, "An account keeps its identifier and user name.")
        if new != old { try write(new, replacing: old, in: transaction) }
        return new
    }

    package static var unknownAccount: CloudError {
        CloudError(.unknownItem, "The account does not exist. It was deleted, or belongs to another store.")
    }

    private func write(_ new: StoredAccount, replacing old: StoredAccount?, in transaction: RecordTransaction) throws {
        try AccountLimits.check(new)
        let newKeys = Set(Self.identityKeys(of: new))
        let oldKeys = Set(old.map(Self.identityKeys(of:)) ?? [])
        for key in oldKeys.subtracting(newKeys) { try transaction.delete(key) }
        if old == nil {
            // The data of a deleted account of this name, which is being removed, would become the new account's.
            guard try !transaction.store.contains(GlobalKeys.departure(of: new.userName)) else {
                throw CloudError.repeatedIdentity
            }
        }
        func isTaken(_ key: [UInt8]) throws -> Bool {
            guard let owner = try transaction.accountID(under: key) else { return false }
            return owner != new.id
        }
        if try isTaken(GlobalKeys.identity(.userRecord, new.userName.text)) { throw CloudError.repeatedIdentity }
        for handle in new.handles.sorted(by: { $0.text < $1.text }) where try isTaken(GlobalKeys.identity(handle)) {
            throw CloudError(
                .constraintViolation,
                "The handle belongs to another account. Remove it there first, or verify its owner again.",
                ["handle": handle.text])
        }
        if let externalID = new.externalID, try isTaken(GlobalKeys.identity(.externalID, externalID)) {
            throw CloudError(
                .constraintViolation,
                "An account with this external identifier exists. Look it up, or choose another identifier.",
                ["externalID": externalID])
        }
        let entry = AccountIDEntry(account: new.id).encoded()
        for key in newKeys.subtracting(oldKeys) { try transaction.set(key, to: entry) }
        try transaction.set(GlobalKeys.account(new.id), to: AccountEntry(new).encoded())
        publish(new.id, new, in: transaction)
    }

    /// The keys of all identities of an account.
    static func identityKeys(of account: StoredAccount) -> [[UInt8]] {
        var keys = account.handles.map { GlobalKeys.identity($0) }
        keys.append(GlobalKeys.identity(.userRecord, account.userName.text))
        if let externalID = account.externalID { keys.append(GlobalKeys.identity(.externalID, externalID)) }
        return keys
    }

    /// Updates the cache when a change becomes visible.
    func publish(_ id: AccountID, _ account: StoredAccount?, in transaction: RecordTransaction) {
        let cache = cache
        transaction.onPublish { version in cache.publish(id, account, version: version) }
    }
}

// MARK: Deletion

/// A deleted account whose data is still being removed.
package struct Departure: Hashable, Sendable {
    package var userName: UserName
    package var account: AccountID
}

extension AccountDirectory {
    /// Replaces an account and its identities with a departure entry. Returns nil if there is no such account.
    package func depart(_ id: AccountID, in transaction: RecordTransaction) throws -> Departure? {
        guard let account = try account(id, in: transaction) else { return nil }
        for key in Self.identityKeys(of: account) { try transaction.delete(key) }
        try transaction.delete(GlobalKeys.account(id))
        try transaction.set(
            GlobalKeys.departure(of: account.userName), to: AccountIDEntry(account: id).encoded())
        publish(id, nil, in: transaction)
        return Departure(userName: account.userName, account: id)
    }

    /// The departures that are not finished, at most `limit` of them.
    package func departures(limit: Int = AccountLimits.pageCount, in reader: RecordReader) throws -> [Departure] {
        try reader.store.collect(GlobalKeys.keyspace(.departures), limit: limit) { key, value in
            Departure(
                userName: try GlobalKeys.readDepartureKey(key), account: try AccountIDEntry(decoding: value).account)
        }
    }
}

/// What an account's standing allows. Pure decisions about an account that may be missing.
package enum AccountVerdict {
    /// The status of an account; nil means none. Source: O-18.
    package static func status(of account: StoredAccount?) -> AccountStatus {
        switch account?.standing {
        case nil, .suspended: .noAccount
        case .good: .available
        case .restricted: .restricted
        case .needsVerification: .temporarilyUnavailable
        }
    }

    /// The account, if it may be used; nil means that none is signed in, or that it was deleted. Source: S-17.
    package static func require(_ account: StoredAccount?) throws(CloudError) -> StoredAccount {
        guard let account else {
            throw CloudError(.notAuthenticated, "No account is signed in. Sign in, then try again.")
        }
        switch account.standing {
        case .good: return account
        case .restricted:
            throw CloudError(
                .managedAccountRestricted, "The account is restricted. Its manager must remove the restriction.")
        case .needsVerification:
            throw CloudError(
                .accountTemporarilyUnavailable, "The account must be verified again. Ask its user to do so.")
        case .suspended:
            throw CloudError(
                .notAuthenticated, "The host has closed the account. Sign in with another one, or have it restored.")
        }
    }
}

/// User records. Every account has one in the default zone of its private database and of the public one. It exists
/// before any client saves it; the first save writes it (S-15).
enum UserRecords {
    /// The account whose user record has this name in this zone, or nil.
    static func owner(
        of name: RecordName, in zone: ResolvedZone, caller: StoredAccount?, _ directory: AccountDirectory,
        reader: RecordReader
    ) throws -> StoredAccount? {
        guard zone.isDefault else { return nil }
        let userName = UserName(name.text)
        if let caller, caller.userName == userName { return caller }
        // User names begin with an underscore, so that other names cost no look-up.
        guard zone.isPublic, name.text.utf8.first == UInt8(ascii: "_") else { return nil }
        return try directory.account(userName: userName, in: reader)
    }

    /// The record as it is before its first save.
    static func unsaved(of account: StoredAccount) -> StoredRecord {
        let stamp = Stamp(date: account.created, user: account.userName)
        return StoredRecord(
            record: Record(name: RecordName(account.userName.text), type: AccessVerdict.usersType),
            system: SystemFields(changeSequence: 0, tagSalt: 0, created: stamp, modified: stamp))
    }
}
