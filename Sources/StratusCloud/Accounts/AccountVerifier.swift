// Whether accounts and what leads to them agree. Finds; mends nothing.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Something about the accounts that is not as it should be.
package enum AccountFinding: VerifierFinding {
    /// An account cannot be found by something that is its own.
    case missing(identity: String, AccountID)
    /// Something leads to an account that is not there, or does not own it.
    case dangling(identity: String, AccountID)
    /// An owner's counters are not what their zones hold.
    case miscounted(UserName)
    /// An owner's counters or private database, where there is neither an account nor a departure.
    case ownerless(UserName)
    /// An account's user name leads to another account, whose name it is too.
    case repeated(UserName, AccountID)
    /// An account's identifier or user name is the one that everybody can guess (`UUID.withoutRandomness`).
    case predictable(AccountID)

    /// What is wrong, without what it is wrong with.
    package enum Kind: String, Hashable, Sendable {
        case missing = "missingIdentity"
        case dangling = "danglingIdentity"
        case miscounted = "wrongUsage"
        case ownerless = "ownerless"
        case repeated = "repeatedIdentity"
        case predictable = "predictableIdentity"
    }

    package var kind: Kind {
        switch self {
        case .missing: .missing
        case .dangling: .dangling
        case .miscounted: .miscounted
        case .ownerless: .ownerless
        case .repeated: .repeated
        case .predictable: .predictable
        }
    }

    package var description: String {
        switch self {
        case .missing(let identity, let account): "\(identity) does not lead to the account \(account)"
        case .dangling(let identity, let account): "\(identity) leads to the account \(account), which does not own it"
        case .miscounted(let owner): "what the zones of \(owner) hold is counted otherwise"
        case .ownerless(let owner): "data of \(owner), who has no account"
        case .repeated(let user, let account):
            "\(user), the user name of the account \(account), is that of another too"
        case .predictable(let account):
            "the account \(account) has an identity that everybody can guess: create another for its user"
        }
    }
}

/// Verifies the accounts of a store.
package struct AccountVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// The first findings of each kind of `verify`.
    package func findings(countsRecords: Bool = true) throws -> [AccountFinding] {
        try verify(countsRecords: countsRecords).kept
    }

    /// Compares accounts, identities, departures and owners in one snapshot, and counts every record when
    /// `countsRecords` is set. No account is kept in memory. `progress` is told how many of accounts, identities, databases,
    /// counters and records were looked at.
    ///
    /// Throws what reading the store throws.
    package func verify(
        countsRecords: Bool = true, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierFindings<AccountFinding> {
        try engine.read { reader in
            let meter = WorkMeter(total: try entryCount(in: reader, countsRecords: countsRecords), progress)
            var check = AccountCheck(reader, meter, countsRecords: countsRecords)
            try check.verifyAccounts()
            try check.verifyIdentities()
            try check.verifyOwners()
            check.findings.sort()
            return check.findings
        }
    }

    /// Accounts, identities, databases, counters, and the records that are counted: those of whoever has not departed.
    private func entryCount(in reader: RecordReader, countsRecords: Bool) throws -> Int {
        var count = 0
        for range in [GlobalKeys.accounts, GlobalKeys.identities, GlobalKeys.usages, GlobalKeys.zoneUsages] {
            count += try reader.entryCount(in: range)
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
    /// Those to whose account their user name does not lead; nil before anybody asks.
    private var unled: Set<UserName>?
    /// Hashes of the names that were told: a damaged store may have very many.
    private var ownerless: Set<Int> = []
    var findings = VerifierFindings<AccountFinding>()

    init(_ reader: RecordReader, _ meter: WorkMeter, countsRecords: Bool) {
        (self.reader, self.meter, self.countsRecords) = (reader, meter, countsRecords)
    }

    /// Everything that is an account's own leads somewhere, and its owner's counters are what their zones hold.
    mutating func verifyAccounts() throws {
        try reader.store.scan(GlobalKeys.accounts.keyRange) { key, value in
            let account = try AccountEntry(decoding: value).account(GlobalKeys.readAccountKey(key))
            if UUID.isWithoutRandomness(account.id.text) || UUID.isWithoutRandomness(account.userName.text) {
                findings.note(.predictable(account.id))
            }
            for key in AccountDirectory.identityKeys(of: account) {
                let found = try reader.store.withValue(forKey: key) { try IdentityEntry(decoding: $0).account }
                // What leads to somebody who does not own it is told where identities are gone over.
                guard try found.map({ try $0 != account.id && owns($0, key) }) ?? true else { continue }
                if found != nil, key == GlobalKeys.identity(.userRecord, account.userName.text) {
                    findings.note(.repeated(account.userName, account.id))
                } else {
                    findings.note(.missing(identity: "\(KeyDescription(key))", account.id))
                }
            }
            meter.add()
            try verifyCounters(of: account.userName)
            return .next
        }
    }

    /// Everything that leads to an account is its own.
    mutating func verifyIdentities() throws {
        try reader.store.scan(GlobalKeys.identities.keyRange) { key, value in
            let id = try IdentityEntry(decoding: value).account
            if try !owns(id, [UInt8](copying: key)) {
                findings.note(.dangling(identity: KeyDescription.text(of: key), id))
            }
            meter.add()
            return .next
        }
    }

    /// Whether there is such an account and an identity is its own.
    private func owns(_ id: AccountID, _ identityKey: [UInt8]) throws -> Bool {
        let account = try reader.store.withValue(forKey: GlobalKeys.account(id)) {
            try AccountEntry(decoding: $0).account(id)
        }
        return account.map { AccountDirectory.identityKeys(of: $0).contains(identityKey) } ?? false
    }

    /// Whoever has a private database or a counter has an account, is being deleted, or is the app.
    mutating func verifyOwners() throws {
        var apps: Set<UserName> = []
        for container in try reader.containers() {
            let database = DatabaseID(container: container, owner: nil, scope: .public)
            guard try reader.databaseEntry(database) != nil else { continue }
            apps.insert(AssetStore.publicOwner(of: container))
        }
        for app in apps.sorted() { try verifyCounters(of: app) }
        try reader.visitDatabases { database, _ in
            if let owner = database.owner { try verify(owner, apps) } else { meter.add() }
            return .next
        }
        try reader.store.scan(GlobalKeys.usages.keyRange) { key, _ in
            try verify(GlobalKeys.readUsageKey(key), apps)
            return .next
        }
        try reader.store.scan(GlobalKeys.zoneUsages.keyRange) { key, _ in
            try verify(GlobalKeys.readZoneUsageKey(key).owner, apps)
            return .next
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
        findings.note(.ownerless(owner))
    }

    private mutating func verifyCounters(of owner: UserName) throws {
        guard countsRecords else { return }
        let report = try QuotaLedger.verify(owner, in: reader, onRecord: { meter.add() })
        if !report.isExact { findings.note(.miscounted(owner)) }
    }
}

extension RecordReader {
    /// The account that a user name leads to and is of, as the store has it.
    func account(of user: UserName) throws -> AccountID? {
        let key = GlobalKeys.identity(.userRecord, user.text)
        guard let id = try store.withValue(forKey: key, { try IdentityEntry(decoding: $0).account }) else { return nil }
        let found = try store.withValue(forKey: GlobalKeys.account(id)) { try AccountEntry(decoding: $0).userName }
        return found == user ? id : nil
    }

    /// Those to whose account their user name does not lead: all accounts are gone over.
    func unledUsers(_ meter: WorkMeter? = nil) throws -> Set<UserName> {
        var users: Set<UserName> = []
        try store.scan(GlobalKeys.accounts.keyRange) { key, value in
            let user = try AccountEntry(decoding: value).userName
            meter?.add(0)
            if try account(of: user) != GlobalKeys.readAccountKey(key) { users.insert(user) }
            return .next
        }
        return users
    }
}
