// Who asks: the caller's account, its status, its user name, and what its data takes.

package import StratusModel
import StratusRecords

extension CloudService {
    /// The status of the caller's account. It never fails for lack of an account (O-18).
    ///
    /// Throws what a fault plan says, and the store's errors: a store that is closed or damaged does not know of accounts.
    package func accountStatus(of caller: Caller) throws(CloudError) -> AccountStatus {
        try reporting(.accountStatus, caller, itemCount: 1) { _ in
            guard let id = caller.account else { return .noAccount }
            return AccountVerdict.status(of: try account(id))
        }
    }

    /// The record name of the caller's user record.
    ///
    /// Throws `notAuthenticated` without an account (O-17), and as `requireAccount`.
    package func userName(of caller: Caller) throws(CloudError) -> UserName {
        try reporting(.userRecord, caller, itemCount: 1) { _ in try requireAccount(caller).userName }
    }

    /// Whether the host lets others find the caller.
    ///
    /// Throws as `userName`.
    package func isDiscoverable(_ caller: Caller) throws(CloudError) -> Bool {
        try reporting(.userRecord, caller, itemCount: 1) { _ in try requireAccount(caller).isDiscoverable }
    }

    /// The caller's account when it may be used now. Costs no look-up in the store when it has been asked for lately.
    ///
    /// Throws `notAuthenticated` when nobody is signed in or the account is gone or closed, `managedAccountRestricted`
    /// when it is restricted, `accountTemporarilyUnavailable` when it must be verified again (S-17).
    @discardableResult
    package func requireAccount(_ caller: Caller) throws(CloudError) -> Account {
        guard let id = caller.account else { throw AccountVerdict.notSignedIn }
        return try AccountVerdict.require(account(id))
    }

    /// The most bytes the private databases of an account may hold; nil for no limit (S-16).
    package func quotaLimit(of account: Account) -> Int64? { account.quotaByteCount ?? options.quotaByteCount }

    /// Whom the records of a zone are charged to, and what may be held: the zone's owner for private data, whoever writes
    /// it, the app for public data (S-16).
    func charged(
        for zone: ResolvedZone, _ caller: Account, in reader: RecordReader
    ) throws -> (owner: UserName, limit: Int64?) {
        guard let owner = zone.id.database.owner else { return (zone.assetOwner, options.publicQuotaByteCount) }
        let account =
            try owner == caller.userName ? caller : accountDirectory.account(userName: owner, in: reader)
        return (owner, account.map { quotaLimit(of: $0) } ?? options.quotaByteCount)
    }

    /// The bytes that the private databases of an owner hold.
    package func usage(of owner: UserName) throws(CloudError) -> Int64 {
        try reading { try QuotaLedger.usage(of: owner, in: $0) }
    }

    /// The bytes that the public database of a container holds.
    package func publicUsage(of container: ContainerName) throws(CloudError) -> Int64 {
        try usage(of: AssetStore.publicOwner(of: container))
    }
}

extension CloudService {
    /// Compares what is counted for an owner with what is there.
    package func verifyUsage(of owner: UserName) throws(CloudError) -> UsageReport {
        try reading { try QuotaLedger.verify(owner, in: $0) }
    }

    /// Sets an owner's counters to what is there, and says what it was before.
    @discardableResult
    package func recountUsage(of owner: UserName) throws(CloudError) -> UsageReport {
        let before = try verifyUsage(of: owner)
        try answering { try QuotaLedger.recount(owner, in: engine) }
        return before
    }
}
