// Compares accounts with their identities, counters and databases. Reports what disagrees; repairs nothing.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// A fault of an account.
package typealias AccountFinding = VerifierFinding<AccountFault>

/// What can be wrong with accounts.
package enum AccountFault: String, FindingKind {
    /// An account cannot be found by one of its identities.
    case missing = "missingIdentity"
    /// An identity leads to an account that does not exist or does not own it.
    case dangling = "danglingIdentity"
    /// An owner's counters differ from what their zones hold.
    case miscounted = "wrongUsage"
    /// Counters or a private database of an owner who has neither an account nor a departure.
    case ownerless = "ownerless"
    /// An account's user name leads to another account, which has the same name.
    case repeated = "repeatedIdentity"
    /// An account's identifier or user name can be guessed (`UUID.withoutRandomness`).
    case predictable = "predictableIdentity"
}

extension VerifierFinding<AccountFault> {
    package static func missing(identity: String, _ account: AccountID) -> Self {
        Self(.missing, at: identity, "\(identity) does not lead to the account \(account)")
    }

    package static func dangling(identity: String, _ account: AccountID) -> Self {
        Self(.dangling, at: identity, "\(identity) leads to the account \(account), which does not own it")
    }

    package static func miscounted(_ owner: UserName) -> Self {
        Self(.miscounted, at: owner.text, "the counters of \(owner) differ from what their zones hold")
    }

    package static func ownerless(_ owner: UserName) -> Self {
        Self(.ownerless, at: owner.text, "data of \(owner), who has no account")
    }

    package static func repeated(_ user: UserName, _ account: AccountID) -> Self {
        Self(
            .repeated, at: user.text,
            "\(user), the user name of the account \(account), is also that of another account")
    }

    package static func predictable(_ account: AccountID) -> Self {
        Self(
            .predictable, at: account.text,
            "the account \(account) has an identity that can be guessed: create another for its user")
    }
}

/// Verifies the accounts of a store.
package struct AccountVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// Compares accounts, identities, departures and owners in one snapshot, and counts every record if `countsRecords`
    /// is set. Keeps no accounts in memory. `progress` gets how many accounts, identities, databases, counters and
    /// records were checked.
    ///
    /// Throws the errors of reading the store.
    package func verify(
        countsRecords: Bool = true, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierReport<AccountFault> {
        try engine.store.confirmed {
            try engine.read(.wholeStore) { reader in
                let meter = WorkMeter(total: try entryCount(in: reader, countsRecords: countsRecords), progress)
                var check = AccountCheck(reader, meter, countsRecords: countsRecords)
                try check.verifyAccounts()
                try check.verifyIdentities()
                try check.verifyOwners()
                check.report.sort()
                return check.report
            }
        }
    }

    /// The number of accounts, identities, databases, counters, and records of owners that are not being deleted.
    private func entryCount(in reader: RecordReader, countsRecords: Bool) throws -> Int {
        var count = 0
        for keyspace in [GlobalKeyspace.accounts, .identities, .usage, .zoneUsage] {
            count += try reader.entryCount(in: GlobalKeys.keyspace(keyspace))
        }
        try reader.visitDatabases { _, _ in
            count += 1
            return .next
        }
        guard countsRecords else { return count }
        let records = try reader.placeAndRecordCount { database in
            try database.owner.map { try !reader.store.contains(GlobalKeys.departure(of: $0)) } ?? true
        }.records
        return count + records
    }
}

/// One verification of accounts.
private struct AccountCheck {
    private let reader: RecordReader
    private let meter: WorkMeter
    private let countsRecords: Bool
    /// The users whose names do not lead to their accounts; nil before the first look-up.
    private var unled: Set<UserName>?
    /// Hashes of the reported names: a damaged store may have very many.
    private var ownerless: Set<Int> = []
    var report: VerifierReport<AccountFault>

    init(_ reader: RecordReader, _ meter: WorkMeter, countsRecords: Bool) {
        (self.reader, self.meter, self.countsRecords) = (reader, meter, countsRecords)
        report = VerifierReport(toBeConfirmed: !reader.store.showsOneMoment)
    }

    /// Checks that every identity of an account leads to it, and that its owner's counters equal what their zones hold.
    mutating func verifyAccounts() throws {
        try reader.store.forEach(in: GlobalKeys.keyspace(.accounts)) { key, value in
            let account = try AccountEntry(decoding: value).account(GlobalKeys.readAccountKey(key))
            if UUID.isWithoutRandomness(account.id.text) || UUID.isWithoutRandomness(account.userName.text) {
                report.note(.predictable(account.id))
            }
            for key in AccountDirectory.identityKeys(of: account) {
                let found = try reader.accountID(under: key)
                // `verifyIdentities` reports an identity that leads to an account that does not own it.
                guard try found.map({ try $0 != account.id && owns($0, key) }) ?? true else { continue }
                if found != nil, key == GlobalKeys.identity(.userRecord, account.userName.text) {
                    report.note(.repeated(account.userName, account.id))
                } else {
                    report.note(.missing(identity: KeyDescription.text(of: key), account.id))
                }
            }
            meter.add()
            try verifyCounters(of: account.userName)
        }
    }

    /// Checks that every identity belongs to the account it leads to.
    mutating func verifyIdentities() throws {
        try reader.store.forEach(in: GlobalKeys.keyspace(.identities)) { key, value in
            let id = try AccountIDEntry(decoding: value).account
            if try !owns(id, [UInt8](copying: key)) {
                report.note(.dangling(identity: KeyDescription.text(of: key), id))
            }
            meter.add()
        }
    }

    /// Whether the account exists and owns the identity.
    private func owns(_ id: AccountID, _ identityKey: [UInt8]) throws -> Bool {
        let account = try reader.store.withValue(forKey: GlobalKeys.account(id)) {
            try AccountEntry(decoding: $0).account(id)
        }
        return account.map { AccountDirectory.identityKeys(of: $0).contains(identityKey) } ?? false
    }

    /// Checks that every owner of a private database or a counter has an account, is being deleted, or is the app.
    mutating func verifyOwners() throws {
        var apps: Set<UserName> = []
        for container in try reader.containers() {
            let database = DatabaseID(container: container, owner: nil, scope: .public)
            guard try reader.databaseEntry(database) != nil else { continue }
            apps.insert(AssetLedger.publicOwner(of: container))
        }
        for app in apps.sorted() { try verifyCounters(of: app) }
        try reader.visitDatabases { database, _ in
            if let owner = database.owner { try verify(owner, apps) } else { meter.add() }
            return .next
        }
        try reader.store.forEach(in: GlobalKeys.keyspace(.usage)) { key, _ in
            try verify(GlobalKeys.readUsageKey(key), apps)
        }
        try reader.store.forEach(in: GlobalKeys.keyspace(.zoneUsage)) { key, _ in
            try verify(GlobalKeys.readZoneUsageKey(key).owner, apps)
        }
    }

    private mutating func verify(_ owner: UserName, _ apps: Set<UserName>) throws {
        meter.add()
        guard !apps.contains(owner), !ownerless.contains(owner.hashValue), try reader.account(of: owner) == nil,
            try !reader.store.contains(GlobalKeys.departure(of: owner))
        else { return }
        let unled = try self.unled ?? reader.unledUsers(meter)
        self.unled = unled
        guard !unled.contains(owner) else { return }
        ownerless.insert(owner.hashValue)
        report.note(.ownerless(owner))
    }

    private mutating func verifyCounters(of owner: UserName) throws {
        guard countsRecords else { return }
        let usage = try reader.undisturbed(in: QuotaLedger.databases(of: owner, in: reader)) {
            try QuotaLedger.verify(owner, in: reader, onRecord: { meter.add() })
        }
        if let usage, !usage.isExact { report.note(.miscounted(owner)) }
    }
}

extension RecordReader {
    /// The account that a user name leads to, if it has that name, as stored.
    func account(of user: UserName) throws -> AccountID? {
        guard let id = try accountID(under: GlobalKeys.identity(.userRecord, user.text)) else { return nil }
        let found = try store.withValue(forKey: GlobalKeys.account(id)) { try AccountEntry(decoding: $0) }
        return found?.content.userName == user ? id : nil
    }

    /// The users whose names do not lead to their accounts. Reads all accounts.
    func unledUsers(_ meter: WorkMeter? = nil) throws -> Set<UserName> {
        var users: Set<UserName> = []
        try store.forEach(in: GlobalKeys.keyspace(.accounts)) { key, value in
            let user = try AccountEntry(decoding: value).content.userName
            meter?.add(0)
            if try account(of: user) != GlobalKeys.readAccountKey(key) { users.insert(user) }
        }
        return users
    }
}
