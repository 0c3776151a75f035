// The server as the client's side sees it: requests that block, and a server that refuses everything.

package import Foundation
package import StratusCloud
package import StratusModel

/// Requests of records, zones, feeds, queries, subscriptions and people. Each blocks its thread until it is answered, and throws `CloudError` when it fails as
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
    /// One page of a database's feed.
    func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchDatabaseChangesResponse
    /// One page of a zone's feed.
    func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchZoneChangesResponse
    /// One page of a query's results.
    func query(_ request: QueryRequest, as caller: Caller, in database: DatabaseSelector) throws -> QueryResponse
    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifySubscriptionsResponse
    func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(String, Result<ClientSubscription, CloudError>)]

    /// One page of what waits for the caller's device.
    func fetchNotificationChanges(
        _ request: FetchNotificationChangesRequest, as caller: Caller
    ) throws -> FetchNotificationChangesResponse
    /// Marks notifications of the caller's device as read.
    func markNotificationsRead(_ ids: [UUID], as caller: Caller) throws
    /// Sets the number on the icon of the app on the caller's device.
    func modifyBadge(_ badge: Int, as caller: Caller) throws
    /// A token for the caller and the web service that is known by `apiToken`.
    func webAuthToken(apiToken: String, as caller: Caller) throws -> String

    /// What one request may have (L-01).
    func requestLimits() throws -> RequestSize
    /// Throws `limitExceeded` for more items than one request may have (L-01). Nothing is asked for by it.
    func checkItemCount(_ count: Int) throws
    /// Whether a file is larger than an asset may be (L-04); not of one that cannot be looked at.
    func isTooLarge(fileAt path: String) throws -> Bool

    /// How the caller's account stands.
    func accountStatus(of caller: Caller) throws -> AccountStatus
    /// The name of the caller's user record; throws `notAuthenticated` without an account (O-17).
    func userName(of caller: Caller) throws -> UserName
    /// Whether others may find the caller; throws as `userName`.
    func isDiscoverable(_ caller: Caller) throws -> Bool
    /// The people that were looked for, in order; nil for those who are not found or do not want to be.
    func discover(_ lookups: [IdentityLookup], as caller: Caller) throws -> [DiscoveredIdentity?]
    /// People as participants of a share that they are not in yet, in order.
    func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws -> [Result<ClientParticipant, CloudError>]
    /// Shares by their URLs, as the caller may know them, in the order of the request.
    func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws -> [Result<ClientShareMetadata, CloudError>]
    /// Accepts shares by their URLs, in order.
    func acceptShares(_ urls: [String], as caller: Caller) throws -> [Result<ClientRecord, CloudError>]
    /// Asks the owners of shares for access, in order.
    func requestShareAccess(_ urls: [String], as caller: Caller) throws -> [Result<Void, CloudError>]
    /// The path of a fresh private copy of an asset's content, which a field of a record holds.
    func copyAsset(
        _ asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        in database: DatabaseSelector
    ) throws -> String
    /// Keeps the contents that the answer to the next request will name; nil where there are none.
    func holdAssets() throws -> AssetHold?
    /// The paths of fresh private copies of the contents that an answer has named, made under a hold from before it, or
    /// without a hold of contents that records still hold. What is left when `shouldContinue` says no fails.
    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>]
    /// No object stands for these copies any more; nobody was told of the paths of those that are `unseen`. Must not wait
    /// for anything.
    func releaseCopies(_ paths: [String], unseen: [String])
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

    package func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchDatabaseChangesResponse { throw error }

    package func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchZoneChangesResponse { throw error }

    package func query(
        _ request: QueryRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> QueryResponse { throw error }

    package func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifySubscriptionsResponse { throw error }

    package func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(String, Result<ClientSubscription, CloudError>)] { throw error }

    package func fetchNotificationChanges(
        _ request: FetchNotificationChangesRequest, as caller: Caller
    ) throws -> FetchNotificationChangesResponse { throw error }

    package func markNotificationsRead(_ ids: [UUID], as caller: Caller) throws { throw error }

    package func modifyBadge(_ badge: Int, as caller: Caller) throws { throw error }

    package func webAuthToken(apiToken: String, as caller: Caller) throws -> String { throw error }

    package func requestLimits() throws -> RequestSize { throw error }

    package func checkItemCount(_ count: Int) throws { throw error }

    package func isTooLarge(fileAt path: String) throws -> Bool { throw error }

    package func accountStatus(of caller: Caller) throws -> AccountStatus { throw error }

    package func userName(of caller: Caller) throws -> UserName { throw error }

    package func isDiscoverable(_ caller: Caller) throws -> Bool { throw error }

    package func discover(_ lookups: [IdentityLookup], as caller: Caller) throws -> [DiscoveredIdentity?] {
        throw error
    }

    package func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws -> [Result<ClientParticipant, CloudError>] { throw error }

    package func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws -> [Result<ClientShareMetadata, CloudError>] { throw error }

    package func acceptShares(_ urls: [String], as caller: Caller) throws -> [Result<ClientRecord, CloudError>] {
        throw error
    }

    package func requestShareAccess(_ urls: [String], as caller: Caller) throws -> [Result<Void, CloudError>] {
        throw error
    }

    package func copyAsset(
        _ asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        in database: DatabaseSelector
    ) throws -> String { throw error }

    package func holdAssets() throws -> AssetHold? { throw error }

    package func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] { throw error }

    package func releaseCopies(_ paths: [String], unseen: [String]) {}
}
