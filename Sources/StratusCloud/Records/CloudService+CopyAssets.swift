// Copies of contents, for those who may read a record that holds them.

import StratusLayout
package import StratusModel
import StratusRecords

extension CloudService {
    /// A private copy of a content that a field of a record holds, for a caller who may read the record. Whose content it
    /// is follows from the record as the server knows it, not from what the client says.
    ///
    /// Throws as resolving the zone and requiring an account do, and as `AssetStore.privateCopy`. `assetNotAvailable`
    /// where the record is not there, may not be read, or holds something else: which of these it is, is not said.
    package func privateCopy(
        of asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        _ database: DatabaseSelector
    ) throws(CloudError) -> String {
        if database != .public { try requireAccount(caller) }
        guard let assets else {
            throw CloudError(.assetNotAvailable, "This store keeps no assets: open it with a directory for them.")
        }
        let owner: UserName? = try reading { reader in
            let account = try caller.account.flatMap { try accountDirectory.account($0, in: reader) }
            let zone = try ScopeVerdict.zone(
                record.zone, in: database, container: caller.container, caller: account?.userName)
            var fetch = RecordFetch(
                service: self, caller: caller, account: account, database: database,
                fields: .only([FieldKey(field)]), reader: reader)
            guard case .success(let found) = try fetch.record(record),
                found.fields[field]?.value.holds(asset) == true
            else { return nil }
            return Self.assetOwner(of: zone.id.database)
        }
        guard let owner else {
            throw CloudError(
                .assetNotAvailable, "No record that may be read holds this content there: fetch the record anew.",
                ["field": field, "record": record.description])
        }
        return try assets.privateCopy(of: asset, owner: owner)
    }
}

extension ClientValue {
    /// Whether the value is this content, or a list with it.
    fileprivate func holds(_ asset: AssetDescriptor) -> Bool {
        switch self {
        case .asset(.content(let own)): own == asset
        case .list(let items): items.contains { $0.holds(asset) }
        default: false
        }
    }
}
