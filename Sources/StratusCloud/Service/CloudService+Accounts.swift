// The host's calls about accounts, and what a client may ask about its own.

package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Creates an account.
    ///
    /// Throws `invalidArguments` for a malformed handle or a broken limit, `constraintViolation` when the external
    /// identifier or a handle belongs to another account; nothing is written then.
    @discardableResult
    package func createAccount(_ draft: AccountDraft) throws(CloudError) -> Account {
        let birth = drawBirth()
        return try answering {
            try engine.transact { try accountDirectory.create(draft, birth, in: $0) }
        }
    }

    /// The account with the host's own identifier; created from `draft` when there is none. Two callers that ask at the
    /// same time get the same account.
    ///
    /// Throws as `createAccount` when it has to be created.
    package func account(externalID: String, createIfMissing draft: AccountDraft) throws(CloudError) -> Account {
        if let known = try account(externalID: externalID) { return known }
        var draft = draft
        draft.externalID = externalID
        let (wanted, birth) = (draft, drawBirth())
        return try answering {
            try engine.transact { transaction in
                try accountDirectory.account(externalID: externalID, in: transaction)
                    ?? accountDirectory.create(wanted, birth, in: transaction)
            }
        }
    }

    /// The account, or nil when there is none. Costs no look-up when it has been asked for lately.
    package func account(_ id: AccountID) throws(CloudError) -> Account? {
        if let known = accountDirectory.cache.newest(for: id) { return known }
        return try reading { try accountDirectory.account(id, in: $0) }
    }

    package func account(externalID: String) throws(CloudError) -> Account? {
        try reading { try accountDirectory.account(externalID: externalID, in: $0) }
    }

    /// The account that owns a handle, however it is written.
    package func account(handle: Handle) throws(CloudError) -> Account? {
        try reading { try accountDirectory.account(handle: handle, in: $0) }
    }

    package func account(userName: UserName) throws(CloudError) -> Account? {
        try reading { try accountDirectory.account(userName: userName, in: $0) }
    }

    /// The accounts after `id` in the order of identifiers, at most `limit` of them.
    package func accounts(after id: AccountID? = nil, limit: Int = 200) throws(CloudError) -> AccountPage {
        try reading { try accountDirectory.accounts(after: id, limit: limit, in: $0) }
    }

    /// Changes an account as `change` says. `change` may run twice.
    ///
    /// Throws `unknownItem` when there is no such account, and as `createAccount`.
    @discardableResult
    package func changeAccount(
        _ id: AccountID, _ change: (inout Account) throws -> Void
    ) throws(CloudError) -> Account {
        try answering {
            try engine.transact { try accountDirectory.change(id, in: $0, change) }
        }
    }

    /// Replaces all handles of an account.
    @discardableResult
    package func setHandles(_ handles: Set<Handle>, of id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.handles = handles }
    }

    @discardableResult
    package func addHandle(_ handle: Handle, to id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.handles.insert(try AccountLimits.normalized(handle)) }
    }

    @discardableResult
    package func removeHandle(_ handle: Handle, from id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.handles.remove(try AccountLimits.normalized(handle)) }
    }

    @discardableResult
    package func setExternalID(_ externalID: String?, of id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.externalID = externalID }
    }

    @discardableResult
    package func setName(_ name: PersonName, of id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.name = name }
    }

    @discardableResult
    package func setStanding(_ standing: AccountStanding, of id: AccountID) throws(CloudError) -> Account {
        let account = try changeAccount(id) { $0.standing = standing }
        guard AccountVerdict.status(of: account) == .available else { return account }
        // What has waited for them is handed out again.
        deliveryBell.keep(Set(try devices(of: id)))
        tellOfDeliveries()
        return account
    }

    @discardableResult
    package func setDiscoverable(_ isDiscoverable: Bool, of id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.isDiscoverable = isDiscoverable }
    }

    /// Sets how many bytes the account's private databases may hold; nil for the store's default. What is there stays.
    @discardableResult
    package func setQuota(_ byteCount: Int64?, of id: AccountID) throws(CloudError) -> Account {
        try changeAccount(id) { $0.quotaByteCount = byteCount }
    }

    private func drawBirth() -> AccountBirth {
        AccountBirth(
            identifier: environment.identifiers.makeUUID(), user: environment.identifiers.makeUUID(),
            created: environment.clock.now)
    }
}

extension CloudService {
    /// Runs `body` with every error in the client's words.
    func answering<Result>(_ body: () throws -> Result) throws(CloudError) -> Result {
        defer { tellOfDeliveries() }
        do { return try body() } catch { throw CloudError(answering: error) }
    }

    /// Runs `body` on a snapshot, with every error in the client's words.
    func reading<Result>(_ body: (RecordReader) throws -> Result) throws(CloudError) -> Result {
        do { return try engine.read(body) } catch { throw CloudError(answering: error) }
    }
}
