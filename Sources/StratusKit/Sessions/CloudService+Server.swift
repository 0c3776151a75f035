// The server itself, as the client's side sees it.

package import StratusCloud
package import StratusModel

extension CloudService: CloudServer {
    package func copyAsset(
        _ asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        in database: DatabaseSelector
    ) throws -> String {
        try privateCopy(of: asset, in: field, of: record, as: caller, database)
    }

    package func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] {
        try copyAssets(wanted, as: caller, database, under: hold, shouldContinue: shouldContinue)
    }
}
