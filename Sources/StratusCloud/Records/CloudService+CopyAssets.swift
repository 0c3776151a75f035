// Copies of the contents of assets, for callers who may read a record that holds them.
//
// An answer names contents. A session holds all contents before the snapshot of the answer (`holdAssets`), so that they
// can be copied afterwards even if the records have lost them since. Access to contents of the answer is not checked
// again.

import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

/// The content of an asset in a field of a record.
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
    /// Keeps all contents until the hold is released. Take one before a request whose answer names contents to copy.
    package func holdAssets() -> AssetHold? { assets?.hold() }

    /// Copies contents for one caller. Each copy succeeds or fails in its place.
    ///
    /// With a hold, all contents must be from an answer to the same caller whose snapshot is newer than the hold. They
    /// are copied without a check, so never pass a client's claims. Without a hold, each is checked as `copyAsset`
    /// does. `shouldContinue` is called before each copy; after it returns false the rest fail with
    /// `operationCancelled`.
    ///
    /// Throws a planned fault, and the store's failures.
    package func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
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
                        return .success(try copyAsset(wanted, as: caller, in: database))
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

    /// A private copy of the content in a field of a record, for a caller who may read the record. The server's record,
    /// not the client's claim, determines whose content it is.
    ///
    /// Throws the errors of resolving the zone, of requiring an account, and of `AssetStore.privateCopy`. Throws
    /// `assetNotAvailable` if the record does not exist, may not be read, or holds something else, without saying
    /// which.
    package func copyAsset(
        _ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> String {
        if database != .public { try claimedAccount(of: caller) }
        guard let assets else {
            throw CloudError(.assetNotAvailable, "The store has no directory for assets. Open it with one.")
        }
        let owner: UserName? = try reading { reader in
            let account =
                try database == .public
                ? caller.account.flatMap { try accountDirectory.account($0, in: reader) }
                : accountDirectory.requireAccount(of: caller, in: reader)
            let zone = try ScopeVerdict.zone(
                wanted.record.zone, in: database, container: caller.container, caller: account?.userName)
            var fetch = RecordFetch(
                service: self, caller: caller, account: account, database: database,
                fields: .only([FieldKey(wanted.field)]), reader: reader)
            guard case .success(let found) = try fetch.record(wanted.record),
                found.fields[wanted.field]?.value.holds(wanted.asset) == true
            else { return nil }
            return Self.assetOwner(of: zone.id.database)
        }
        guard let owner else {
            throw CloudError(
                .assetNotAvailable, "No readable record holds this content in the field. Fetch the record again.",
                ["field": wanted.field, "record": wanted.record.description])
        }
        return try copy(of: wanted.asset, owner, assets, for: caller, isHeld: false)
    }

    /// Copies a content. The host gets an event if it is missing, damaged or unreadable, with its file.
    private func copy(
        of asset: AssetDescriptor, _ owner: UserName, _ assets: AssetStore, for caller: Caller, isHeld: Bool
    ) throws(CloudError) -> String {
        do throws(CloudError) {
            return try assets.privateCopy(of: asset, owner: owner)
        } catch {
            guard error.code == .assetNotAvailable else { throw error }
            var isExpected = isHeld
            if !isExpected {
                // Without a hold, the content may have lost its last record since the request, and be collected.
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
