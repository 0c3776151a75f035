// Saving and deleting records.

import StratusModel

extension CloudService {
    /// Saves and deletes records.
    package func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifyRecordsResponse {
        throw CloudError(.serviceUnavailable, "Not built yet.")
    }

    /// Fetches records by name.
    package func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> FetchRecordsResponse {
        throw CloudError(.serviceUnavailable, "Not built yet.")
    }
}
