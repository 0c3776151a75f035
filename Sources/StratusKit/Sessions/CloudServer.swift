// The server as the client's side sees it: requests that block, and a server that refuses everything.

package import StratusCloud

/// Requests of records and zones. Each blocks its thread until it is answered, and throws `CloudError` when it fails as
/// a whole. `CloudService` is the server; tests put others in its place.
package protocol CloudServer: Sendable {
    func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyRecordsResponse
    func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchRecordsResponse
    func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyZonesResponse
    func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(ZoneAddress, Result<ClientZone, CloudError>)]
}

/// A server that answers every request with one error: a store that could not be opened.
package struct RefusingServer: CloudServer {
    package let error: CloudError

    package init(_ error: CloudError) { self.error = error }

    package func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyRecordsResponse { throw error }

    package func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchRecordsResponse { throw error }

    package func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyZonesResponse { throw error }

    package func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(ZoneAddress, Result<ClientZone, CloudError>)] { throw error }
}
