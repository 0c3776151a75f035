// Finding accounts: by their own identifier, the host's identifier, a handle or the name of the user record.
//
// Invariants: every account is the only one under its external identifier, each of its handles and its user name; each
// of these has one entry among the identities. All of them change in one transaction with the account, so two callers
// that want the same handle cannot both get it.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// The accounts of a store.
package final class AccountDirectory: Sendable {
    package let cache: AccountCache

    package init(cache: AccountCache = AccountCache(maximumCount: 20_000)) { self.cache = cache }

    /// The account, or nil when there is none. The cache answers when it can; in a transaction only where no change of
    /// the account is in flight, so that a deletion that commits first is seen.
    package func account(_ id: AccountID, in reader: RecordReader) throws -> Account? {
        let key = GlobalKeys.account(id)
        let transaction = reader as? RecordTransaction
        let mayUseCache = transaction?.hasUnpublishedWrite(forKey: key) != true
        let version = reader.store.version
        if mayUseCache, let account = cache.value(for: id, at: version) { return account }
        let entry = try reader.store.withValue(forKey: key) { try AccountEntry(decoding: $0) }
        guard let account = entry?.account(id) else { return nil }
        if transaction == nil { cache.fill(id, account, at: version) }
        return account
    }

    /// The account with the host's own identifier.
    package func account(externalID: String, in reader: RecordReader) throws -> Account? {
        guard externalID.utf8.count <= AccountLimits.externalIDByteCount else { return nil }
        return try account(under: GlobalKeys.identity(.externalID, externalID), in: reader)
    }

    /// The account that owns a handle. A malformed handle belongs to nobody.
    package func account(handle: Handle, in reader: RecordReader) throws -> Account? {
        guard let handle = handle.normalized else { return nil }
        return try account(under: GlobalKeys.identity(handle), in: reader)
    }

    /// The account whose user record has this name.
    package func account(userName: UserName, in reader: RecordReader) throws -> Account? {
        guard userName.text.utf8.count <= LayoutLimits.maximumNameByteCount else { return nil }
        return try account(under: GlobalKeys.identity(.userRecord, userName.text), in: reader)
    }

    /// The accounts after `id` in the order of identifiers, at most `limit` of them.
    package func accounts(after id: AccountID?, limit: Int, in reader: RecordReader) throws -> AccountPage {
        let limit = min(max(limit, 1), AccountLimits.pageCount)
        let range = id.map { GlobalKeys.accounts(after: $0) } ?? GlobalKeys.accounts
        var accounts: [Account] = []
        var hasMore = false
        try reader.store.scan(range.keyRange, .forward, limit: limit + 1) { key, value in
            guard accounts.count < limit else {
                hasMore = true
                return .stop
            }
            accounts.append(try AccountEntry(decoding: value).account(GlobalKeys.readAccountKey(key)))
            return .next
        }
        return AccountPage(accounts: accounts, next: hasMore ? accounts.last?.id : nil)
    }

    /// The caller's account when it may be used now.
    ///
    /// Throws `CloudError` with `notAuthenticated`, `managedAccountRestricted` or `accountTemporarilyUnavailable` (S-17).
    package func requireAccount(of caller: Caller, in reader: RecordReader) throws -> Account {
        guard let id = caller.account else { throw AccountVerdict.notSignedIn }
        return try AccountVerdict.require(account(id, in: reader))
    }

    private func account(under key: [UInt8], in reader: RecordReader) throws -> Account? {
        guard let id = try owner(of: key, in: reader) else { return nil }
        guard let account = try account(id, in: reader) else {
            throw CloudError(
                .internalError, "An identity leads to an account that is not there: restore the store from a backup.",
                ["key": "\(KeyDescription(key))"])
        }
        return account
    }

    /// The account that an identity leads to.
    func owner(of identityKey: [UInt8], in reader: RecordReader) throws -> AccountID? {
        try reader.store.withValue(forKey: identityKey) { try IdentityEntry(decoding: $0).account }
    }
}
