// Saving, deleting and fetching zones.

package import StratusModel

extension CloudService {
    /// Saves and deletes zones.
    package func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifyZonesResponse {
        throw CloudError(.serviceUnavailable, "Not built yet.")
    }

    /// Fetches zones by name, or all of a database (Z-05).
    package func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> [(ZoneAddress, Result<ClientZone, CloudError>)] {
        throw CloudError(.serviceUnavailable, "Not built yet.")
    }

    /// Deletes a zone on behalf of the host, and remembers why (Z-07).
    package func purgeZone(
        _ zone: ZoneAddress, of account: AccountID, in container: ContainerName, reason: ZonePurgeReason
    ) throws(CloudError) {
        throw CloudError(.serviceUnavailable, "Not built yet.")
    }
}
