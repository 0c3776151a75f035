// The server itself, as the client's side sees it.

package import StratusCloud
package import StratusModel

extension CloudService: CloudServer {
    package func copyAsset(
        _ asset: AssetDescriptor, of zone: ZoneAddress, as caller: Caller, in database: DatabaseSelector
    ) throws -> String {
        guard let assets else {
            throw CloudError(.assetNotAvailable, "The store keeps no assets: open it with a directory for them.")
        }
        if database == .public {
            return try assets.privateCopy(of: asset, owner: AssetStore.publicOwner(of: caller.container))
        }
        let isOwn = zone.ownerName == ZoneAddress.currentUser
        let owner = isOwn ? try requireAccount(caller).userName : UserName(zone.ownerName)
        return try assets.privateCopy(of: asset, owner: owner)
    }
}
