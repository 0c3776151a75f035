// Creating and changing accounts, each with its identities in the same transaction.

package import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// What a new account is given from outside, drawn before the transaction.
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
    /// Throws `CloudError` with `invalidArguments` for a malformed handle or a broken limit, `constraintViolation` when
    /// the external identifier or a handle belongs to another account, and `internalError` when the account's identifier
    /// or user name exists already.
    package func create(
        _ draft: AccountDraft, _ birth: AccountBirth, in transaction: RecordTransaction
    ) throws -> Account {
        let account = Account(
            id: birth.id, externalID: draft.externalID, userName: birth.userName,
            handles: try AccountLimits.normalized(draft.handles), name: draft.name, standing: draft.standing,
            isDiscoverable: draft.isDiscoverable, quotaByteCount: draft.quotaByteCount, created: birth.created)
        guard try self.account(birth.id, in: transaction) == nil else { throw CloudError.repeatedIdentity }
        try write(account, replacing: nil, in: transaction)
        return account
    }

    /// Takes over an account as it was in another store. One that is there stays as it is.
    ///
    /// Returns whether it was taken over. Throws as `create`.
    func adopt(_ account: Account, in transaction: RecordTransaction) throws -> Bool {
        guard try self.account(account.id, in: transaction) == nil else { return false }
        try write(account, replacing: nil, in: transaction)
        return true
    }

    /// Changes an account. Handles are normalised after `change`; the identifier and the user name never change.
    ///
    /// Throws as `create`, and `CloudError` with `unknownItem` when there is no such account.
    @discardableResult
    package func change(
        _ id: AccountID, in transaction: RecordTransaction, _ change: (inout Account) throws -> Void
    ) throws -> Account {
        guard let old = try account(id, in: transaction) else { throw Self.unknownAccount }
        var new = old
        try change(&new)
        new.handles = try AccountLimits.normalized(new.handles)
        precondition(new.id == old.id && new.userName == old.userName, "An account keeps its identifier and user name.")
        if new != old { try write(new, replacing: old, in: transaction) }
        return new
    }

    package static var unknownAccount: CloudError {
        CloudError(.unknownItem, "There is no such account: it was deleted, or belongs to another store.")
    }

    private func write(_ new: Account, replacing old: Account?, in transaction: RecordTransaction) throws {
        try AccountLimits.check(new)
        let newKeys = Set(Self.identityKeys(of: new))
        let oldKeys = Set(old.map(Self.identityKeys(of:)) ?? [])
        for key in oldKeys.subtracting(newKeys) { try transaction.delete(key) }
        if old == nil {
            // What somebody of this name has left, whose account is being deleted, would be the new account's.
            guard try !transaction.store.contains(GlobalKeys.departure(of: new.userName)) else {
                throw CloudError.repeatedIdentity
            }
        }
        try claim(GlobalKeys.identity(.userRecord, new.userName.text), for: new.id, in: transaction) {
            CloudError.repeatedIdentity
        }
        let entry = IdentityEntry(account: new.id).encoded()
        for handle in new.handles.sorted(by: { $0.text < $1.text }) {
            try claim(GlobalKeys.identity(handle), for: new.id, in: transaction) {
                CloudError(
                    .constraintViolation,
                    "The handle belongs to another account: remove it there first, or verify anew whose it is.",
                    ["handle": handle.text])
            }
        }
        if let externalID = new.externalID {
            try claim(GlobalKeys.identity(.externalID, externalID), for: new.id, in: transaction) {
                CloudError(
                    .constraintViolation,
                    "An account with this external identifier exists: look it up, or choose another identifier.",
                    ["externalID": externalID])
            }
        }
        for key in newKeys.subtracting(oldKeys) { try transaction.set(key, to: entry) }
        try transaction.set(GlobalKeys.account(new.id), to: AccountEntry(new).encoded())
        publish(new.id, new, in: transaction)
    }

    /// Throws `error` when the identity leads to another account.
    private func claim(
        _ key: [UInt8], for id: AccountID, in transaction: RecordTransaction, _ error: () -> CloudError
    ) throws {
        if let owner = try owner(of: key, in: transaction), owner != id { throw error() }
    }

    /// The keys of everything that leads to an account.
    static func identityKeys(of account: Account) -> [[UInt8]] {
        var keys = account.handles.map { GlobalKeys.identity($0) }
        keys.append(GlobalKeys.identity(.userRecord, account.userName.text))
        if let externalID = account.externalID { keys.append(GlobalKeys.identity(.externalID, externalID)) }
        return keys
    }

    /// Makes the cache learn of a change when it becomes visible.
    func publish(_ id: AccountID, _ account: Account?, in transaction: RecordTransaction) {
        let cache = cache
        transaction.onPublish { version in cache.publish(id, account, version: version) }
    }
}
