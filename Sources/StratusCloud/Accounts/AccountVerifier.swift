// Whether accounts and what leads to them agree. Finds; mends nothing.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Something about the accounts that is not as it should be.
package enum AccountFinding: Hashable, Sendable, CustomStringConvertible {
    /// An account cannot be found by something that is its own.
    case missing(identity: String, AccountID)
    /// Something leads to an account that is not there, or does not own it.
    case dangling(identity: String, AccountID)
    /// An owner's counters are not what their zones hold.
    case miscounted(UserName)
    /// An owner's counters or private database, where there is neither an account nor a departure.
    case ownerless(UserName)

    package var description: String {
        switch self {
        case .missing(let identity, let account): "\(identity) does not lead to the account \(account)"
        case .dangling(let identity, let account): "\(identity) leads to the account \(account), which does not own it"
        case .miscounted(let owner): "what the zones of \(owner) hold is counted otherwise"
        case .ownerless(let owner): "data of \(owner), who has no account"
        }
    }
}

/// Verifies the accounts of a store.
package struct AccountVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// Compares accounts, identities, departures and owners in one snapshot, and counts every record when
    /// `countsRecords` is set. `progress` is told how many of accounts, identities and records were looked at.
    ///
    /// Throws what reading the store throws.
    package func findings(
        countsRecords: Bool = true, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> [AccountFinding] {
        try engine.read { reader in
            let meter = WorkMeter(total: try entryCount(in: reader, countsRecords: countsRecords), progress)
            var findings: [AccountFinding] = []
            var expected: [[UInt8]: AccountID] = [:]
            var owners: Set<UserName> = []
            try reader.store.scan(GlobalKeys.accounts.keyRange) { key, value in
                let account = try AccountEntry(decoding: value).account(GlobalKeys.readAccountKey(key))
                for key in AccountDirectory.identityKeys(of: account) { expected[key] = account.id }
                owners.insert(account.userName)
                meter.add()
                return .next
            }
            try reader.store.scan(GlobalKeys.identities.keyRange) { key, value in
                let account = try IdentityEntry(decoding: value).account
                if expected.removeValue(forKey: [UInt8](copying: key)) != account {
                    findings.append(.dangling(identity: KeyDescription.text(of: key), account))
                }
                meter.add()
                return .next
            }
            findings += expected.map { .missing(identity: "\(KeyDescription($0))", $1) }
            owners.formUnion(try apps(in: reader))
            if countsRecords {
                for owner in owners where try !QuotaLedger.verify(owner, in: reader, onRecord: { meter.add() }).isExact
                {
                    findings.append(.miscounted(owner))
                }
            }
            for departure in try departedOwners(in: reader) { owners.insert(departure) }
            findings += try owned(in: reader).subtracting(owners).map { .ownerless($0) }
            return findings.sorted { "\($0)" < "\($1)" }
        }
    }

    /// Accounts, identities, and the records that are counted: those of whoever has not departed.
    private func entryCount(in reader: RecordReader, countsRecords: Bool) throws -> Int {
        let count = try reader.entryCount(in: GlobalKeys.accounts) + reader.entryCount(in: GlobalKeys.identities)
        guard countsRecords else { return count }
        let departed = Set(try departedOwners(in: reader))
        return try count + reader.zoneAndRecordCount { $0.owner.map { !departed.contains($0) } ?? true }.records
    }

    /// The owners of the public databases.
    private func apps(in reader: RecordReader) throws -> [UserName] {
        try reader.databases().filter { $0.id.scope == .public }.map { AssetStore.publicOwner(of: $0.id.container) }
    }

    private func departedOwners(in reader: RecordReader) throws -> [UserName] {
        var owners: [UserName] = []
        try reader.store.scan(GlobalKeys.departures.keyRange) { key, _ in
            owners.append(try GlobalKeys.readDepartureKey(key))
            return .next
        }
        return owners
    }

    /// Everybody who has a private database or a counter.
    private func owned(in reader: RecordReader) throws -> Set<UserName> {
        var owners = Set(try reader.databases().compactMap(\.id.owner))
        try reader.store.scan(GlobalKeys.usages.keyRange) { key, _ in
            owners.insert(try GlobalKeys.readUsageKey(key))
            return .next
        }
        try reader.store.scan(GlobalKeys.zoneUsages.keyRange) { key, _ in
            owners.insert(try GlobalKeys.readZoneUsageKey(key).owner)
            return .next
        }
        return owners
    }
}
