// The host's calls about accounts, and a client's look-ups of other people: by e-mail address, telephone number or user
// record.

package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Creates an account.
    ///
    /// Throws `invalidArguments` for a malformed handle or an exceeded limit, `constraintViolation` if the external
    /// identifier or a handle belongs to another account; then nothing is written.
    @discardableResult
    package func createAccount(_ draft: AccountDraft) throws(CloudError) -> StoredAccount {
        let birth = drawBirth()
        return try writing { try accountDirectory.create(draft, birth, in: $0) }
    }

    /// The account with the host's own identifier; created from `draft` if there is none. Two concurrent callers get
    /// the same account.
    ///
    /// Throws like `createAccount` if it must create one.
    package func account(externalID: String, createIfMissing draft: AccountDraft) throws(CloudError) -> StoredAccount {
        if let known = try account(externalID: externalID) { return known }
        var draft = draft
        draft.externalID = externalID
        let (wanted, birth) = (draft, drawBirth())
        return try writing { transaction in
            try accountDirectory.account(externalID: externalID, in: transaction)
                ?? accountDirectory.create(wanted, birth, in: transaction)
        }
    }

    package func account(externalID: String) throws(CloudError) -> StoredAccount? {
        try reading { try accountDirectory.account(externalID: externalID, in: $0) }
    }

    /// The account that owns a handle, in any spelling.
    package func account(handle: Handle) throws(CloudError) -> StoredAccount? {
        try reading { try accountDirectory.account(handle: handle, in: $0) }
    }

    package func account(userName: UserName) throws(CloudError) -> StoredAccount? {
        try reading { try accountDirectory.account(userName: userName, in: $0) }
    }

    /// The accounts after `id` in the order of identifiers, at most `limit` of them.
    package func accounts(after id: AccountID? = nil, limit: Int = 200) throws(CloudError) -> AccountPage {
        try reading { try accountDirectory.accounts(after: id, limit: limit, in: $0) }
    }

    /// Changes an account. `change` may run twice.
    ///
    /// Throws `unknownItem` if there is no such account, and like `createAccount`.
    @discardableResult
    package func changeAccount(
        _ id: AccountID, _ change: (inout StoredAccount) throws -> Void
    ) throws(CloudError) -> StoredAccount {
        try writing { try accountDirectory.change(id, in: $0, change) }
    }

    @discardableResult
    package func setStanding(_ standing: AccountStanding, of id: AccountID) throws(CloudError) -> StoredAccount {
        let account = try writing { transaction in
            let account = try accountDirectory.change(id, in: transaction) { $0.standing = standing }
            if AccountVerdict.status(of: account) == .available {
                try tellOtherHosts(ofDevicesOf: id, in: transaction)
            }
            return account
        }
        guard AccountVerdict.status(of: account) == .available else { return account }
        // Notifications that have waited for the account are delivered again.
        deliveryBell.keep(Set(try devices(of: id)))
        tellOfDeliveries()
        return account
    }

    private func drawBirth() -> AccountBirth {
        AccountBirth(
            identifier: environment.identifiers.makeUUID(), user: environment.identifiers.makeUUID(),
            created: environment.clock.now)
    }
}

extension CloudService {
    /// Runs `body` and converts every error to a `CloudError`.
    func answering<Result>(_ body: () throws -> Result) throws(CloudError) -> Result {
        defer { tellOfDeliveries() }
        do { return try body() } catch { throw CloudError(answering: error) }
    }

    /// Runs `body` in a transaction, perhaps twice, and converts every error to a `CloudError`. Name the database if it
    /// is the only one that changes.
    func writing<Result>(
        in database: DatabaseID? = nil, _ body: (RecordTransaction) throws -> Result
    ) throws(CloudError) -> Result {
        try answering { try engine.transact(in: database, body) }
    }

    /// Runs `body` on a snapshot and converts every error to a `CloudError`.
    func reading<Result>(_ body: (RecordReader) throws -> Result) throws(CloudError) -> Result {
        do { return try engine.read(body) } catch { throw CloudError(answering: error) }
    }
}

// MARK: Other people

extension CloudService {
    /// Looks up people, in the order of `lookups`; nil for those who do not exist or do not want to be found. The
    /// caller always finds themself.
    ///
    /// Throws `notAuthenticated` and similar errors without a usable account, `limitExceeded` for too many look-ups
    /// (L-01).
    package func discover(
        _ lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [DiscoveredIdentity?] {
        try reporting(.discoverUsers, caller, itemCount: lookups.count) { _ in
            let asking = try requireAccount(caller)
            try checkCount(of: lookups)
            return try reading { reader in
                try lookups.map { lookup in
                    guard let found = try account(lookup, asking, in: reader), found.isFound(by: asking) else {
                        return nil
                    }
                    return DiscoveredIdentity(lookup: lookup, userName: found.userName, name: found.name)
                }
            }
        }
    }

    /// People as new participants of a share (P-01), in the order of `lookups`, each with a new identifier. An unknown
    /// handle is a person without an account; a malformed one fails with `invalidArguments`, an unknown user record
    /// with `unknownItem`. Writes nothing.
    ///
    /// Throws like `discover`.
    package func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [Result<ClientParticipant, CloudError>] {
        try reporting(.shareParticipants, caller, itemCount: lookups.count) { _ in
            let asking = try requireAccount(caller)
            try checkCount(of: lookups)
            let people = try reading { reader in try lookups.map { try person($0, asking, in: reader) } }
            return people.map { $0.map { ClientParticipant(id: makeParticipantID().text, identity: $0) } }
        }
    }

    /// A person whom `asking` may invite. Has only what they may know (P-03).
    private func person(
        _ lookup: IdentityLookup, _ asking: StoredAccount, in reader: RecordReader
    ) throws -> Result<ClientIdentity, CloudError> {
        if let handle = lookup.handle {
            do throws(CloudError) { _ = try AccountLimits.normalized(handle) } catch { return .failure(error) }
        }
        let found = try account(lookup, asking, in: reader)
        if found == nil, case .userRecord(let name) = lookup {
            return .failure(
                CloudError.notFound("No person has this user record. Look them up by a handle.", ["userRecord": name]))
        }
        guard let found, found.standing != .suspended else {
            return .success(ClientIdentity(lookup: lookup, userName: nil, name: nil, hasAccount: false))
        }
        let mayBeKnown = found.isFound(by: asking)
        let userName = found.id == asking.id ? ZoneAddress.currentUser : found.userName.text
        return .success(
            ClientIdentity(
                lookup: lookup, userName: mayBeKnown || lookup.handle == nil ? userName : nil,
                name: mayBeKnown ? found.name : nil, hasAccount: true))
    }

    private func account(_ lookup: IdentityLookup, _ asking: StoredAccount, in reader: RecordReader) throws
        -> StoredAccount?
    {
        switch lookup {
        case .email, .phone: try lookup.handle.flatMap { try accountDirectory.account(handle: $0, in: reader) }
        case .userRecord(ZoneAddress.currentUser): asking
        case .userRecord(let name): try accountDirectory.account(userName: UserName(name), in: reader)
        }
    }

    private func checkCount(of lookups: [IdentityLookup]) throws(CloudError) {
        guard lookups.count <= options.requestItemCount else {
            throw CloudError.overLimit(
                "The request looks up too many people. Split it.", limit: options.requestItemCount,
                ["count": "\(lookups.count)"])
        }
    }
}

extension StoredAccount {
    /// Whether another account may find this one by a handle.
    fileprivate func isFound(by asking: StoredAccount) -> Bool {
        id == asking.id || (isDiscoverable && standing != .suspended)
    }
}
