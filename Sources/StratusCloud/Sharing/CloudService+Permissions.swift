// What somebody may do with records, for a host that asks before it shows or serves them.

package import StratusModel
import StratusRecords

extension CloudService {
    /// What somebody may do with the records of a zone, in the order of their names: nothing with one that is not there or
    /// that they do not see, and nothing for somebody whose account may not be used. `explainAccess` says why.
    ///
    /// One walk up a record's parents, which is memory where the hierarchy is known, and one look-up of what the person has
    /// accepted; only records of a public database are read.
    ///
    /// Throws the store's failures.
    package func permissions(
        for records: [RecordName], in zone: ZoneID, of user: UserName
    ) throws(CloudError) -> [RecordPermissions] {
        try reading { reader in
            let account = try accountDirectory.account(userName: user, in: reader)
            let isUsable = AccountVerdict.status(of: account) == .available
            guard isUsable || zone.database.scope == .public else { return records.map { _ in [] } }
            let resolved = ResolvedZone(id: zone, as: user)
            let access = try ZoneAccess(self, to: resolved, caller: isUsable ? user : nil, in: reader)
            return try records.map { try access.permissions(at: $0) }
        }
    }
}
