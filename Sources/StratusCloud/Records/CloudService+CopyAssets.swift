// Copies of contents, for those who may read a record that holds them.
//
// An answer names contents. Whoever makes one holds them all before its snapshot, so that they can be copied afterwards
// although the records may have lost them since: what the answer has shown is not asked for a second time.

import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

/// A content that a field of a record holds.
package struct HeldAsset: Hashable, Codable, Sendable {
    package let asset: AssetDescriptor
    package let field: String
    package let record: RecordAddress

    package init(_ asset: AssetDescriptor, in field: String, of record: RecordAddress) {
        self.asset = asset
        self.field = field
        self.record = record
    }
}

extension CloudService {
    /// Keeps all contents until it is let go of. Made before a request whose answer names contents to be copied.
    package func holdAssets() -> AssetHold? { assets?.hold() }

    /// Private copies of contents, each of which succeeds or fails in its place.
    ///
    /// With a hold they are those of an answer to the same caller whose snapshot is newer than the hold: it has shown them
    /// and is trusted, so nothing that a client says may come here. Without one each is judged anew, as `privateCopy` does.
    /// `shouldContinue` is asked before each; those that are left are `operationCancelled`.
    ///
    /// Throws a planned fault, and the store's failures.
    package func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, _ database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws(CloudError) -> [Result<String, CloudError>] {
        try reporting(.fetchAssets, caller, itemCount: wanted.count) { event in
            let user = try caller.account.flatMap { try account($0) }?.userName
            let copies = wanted.map { wanted -> Result<String, CloudError> in
                guard shouldContinue() else {
                    return .failure(CloudError(.operationCancelled, "The operation was cancelled."))
                }
                do throws(CloudError) {
                    guard let assets, let hold else {
                        return .success(
                            try privateCopy(
                                of: wanted.asset, in: wanted.field, of: wanted.record, as: caller, database))
                    }
                    defer { withExtendedLifetime(hold) {} }
                    let zone = try ScopeVerdict.zone(
                        wanted.record.zone, in: database, container: caller.container, caller: user)
                    return .success(try copy(of: wanted.asset, zone.assetOwner, assets, for: caller, isHeld: true))
                } catch { return .failure(error) }
            }
            event.count(copies)
            return copies
        }
    }

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
        return try copy(of: asset, owner, assets, for: caller, isHeld: false)
    }

    /// A copy of a content. The host gets an event of a content that is missing, damaged or cannot be read, with its file.
    private func copy(
        of asset: AssetDescriptor, _ owner: UserName, _ assets: AssetStore, for caller: Caller, isHeld: Bool
    ) throws(CloudError) -> String {
        do throws(CloudError) {
            return try assets.privateCopy(of: asset, owner: owner)
        } catch {
            guard error.code == .assetNotAvailable else { throw error }
            var isExpected = isHeld
            if !isExpected {
                // What nothing has held may have lost its last record since it was asked for, and be collected.
                let key = GlobalKeys.asset(owner: owner, digest: asset.digest)
                isExpected = try reading { try $0.store.contains(key) }
            }
            if isExpected {
                var told = error
                told.fields["file"] = contentPath(of: asset, owner: owner)
                environment.onEvent?(CloudEvent(kind: .fetchAssets, caller: caller, error: told))
            }
            throw error
        }
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
