// Stands in for the server's calls until they are there.

package import StratusCloud

extension CloudService {
    package func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchDatabaseChangesResponse { throw CloudError(.serviceUnavailable, "Not there yet.") }

    package func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchZoneChangesResponse { throw CloudError(.serviceUnavailable, "Not there yet.") }

    package func query(
        _ request: QueryRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> QueryResponse { throw CloudError(.serviceUnavailable, "Not there yet.") }
}
