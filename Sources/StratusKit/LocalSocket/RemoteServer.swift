// The server of a store that another process has open, asked over its socket: what verbs that write need of it.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

struct RemoteServer: CloudServer {
    let client: LocalClient

    private func ask<Answer: Decodable>(_ call: CloudCall) throws -> Answer {
        do {
            return try client.ask(.cloud(call))
        } catch let error as LocalSocketError {
            throw CloudError(error)
        }
    }

    func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyRecordsResponse {
        let answer: AnsweredRecords = try ask(.modifyRecords(request, caller, database))
        return ModifyRecordsResponse(
            saves: answer.saves.map(\.result), deletes: answer.deletes.map(\.verdict), endedShares: answer.endedShares)
    }

    func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchRecordsResponse {
        let answer: [Outcome<ClientRecord>] = try ask(.fetchRecords(request, caller, database))
        return FetchRecordsResponse(records: answer.map(\.result))
    }

    func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyZonesResponse {
        let answer: AnsweredZones = try ask(.modifyZones(request, caller, database))
        return ModifyZonesResponse(
            saves: answer.saves.map(\.result), deletes: answer.deletes.map(\.verdict), endedShares: answer.endedShares)
    }

    func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(ZoneAddress, Result<ClientZone, CloudError>)] {
        let answer: [FetchedZone] = try ask(.fetchZones(request, caller, database))
        return answer.map { ($0.address, $0.zone.result) }
    }

    func checkItemCount(_ count: Int) throws { let _: Done = try ask(.checkItemCount(count)) }

    func isTooLarge(fileAt path: String) throws -> Bool { try ask(.isTooLarge(path: path)) }

    func accountStatus(of caller: Caller) throws -> AccountStatus { try ask(.accountStatus(caller)) }

    func userName(of caller: Caller) throws -> UserName { try ask(.userName(caller)) }

    func isDiscoverable(_ caller: Caller) throws -> Bool { try ask(.isDiscoverable(caller)) }

    func discover(_ lookups: [IdentityLookup], as caller: Caller) throws -> [DiscoveredIdentity?] {
        try ask(.discover(lookups, caller))
    }

    func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws -> [Result<ClientParticipant, CloudError>] {
        let answer: [Outcome<ClientParticipant>] = try ask(.shareParticipants(lookups, caller))
        return answer.map(\.result)
    }

    func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws -> [Result<ClientShareMetadata, CloudError>] {
        let answer: [Outcome<ClientShareMetadata>] = try ask(.shareMetadata(request, caller))
        return answer.map(\.result)
    }

    func acceptShares(_ urls: [String], as caller: Caller) throws -> [Result<ClientRecord, CloudError>] {
        let answer: [Outcome<ClientRecord>] = try ask(.acceptShares(urls, caller))
        return answer.map(\.result)
    }

    func requestShareAccess(_ urls: [String], as caller: Caller) throws -> [Result<Void, CloudError>] {
        let answer: [Outcome<Done>] = try ask(.requestShareAccess(urls, caller))
        return answer.map(\.verdict)
    }

    func copyAsset(
        _ asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        in database: DatabaseSelector
    ) throws -> String { try ask(.copyAsset(asset, field: field, record, caller, database)) }

    /// Nothing is held: contents are copied that records still have.
    func holdAssets() throws -> AssetHold? { nil }

    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] {
        let answer: [Outcome<String>] = try ask(.copyAssets(wanted, caller, database))
        return answer.map(\.result)
    }

    /// The host removes them itself when they have aged.
    func releaseCopies(_ paths: [String], unseen: [String]) {}
}

// MARK: What is not asked of a host

extension RemoteServer {
    private static var notAsked: CloudError {
        CloudError(.serverRejectedRequest, "A host's socket does not take this request: read the store instead.")
    }

    func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchDatabaseChangesResponse { throw Self.notAsked }

    func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchZoneChangesResponse { throw Self.notAsked }

    func query(_ request: QueryRequest, as caller: Caller, in database: DatabaseSelector) throws -> QueryResponse {
        throw Self.notAsked
    }

    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifySubscriptionsResponse { throw Self.notAsked }

    func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(String, Result<ClientSubscription, CloudError>)] { throw Self.notAsked }

    func fetchNotificationChanges(
        _ request: FetchNotificationChangesRequest, as caller: Caller
    ) throws -> FetchNotificationChangesResponse { throw Self.notAsked }

    func requestLimits() throws -> RequestSize { throw Self.notAsked }

    func markNotificationsRead(_ ids: [UUID], as caller: Caller) throws { throw Self.notAsked }

    func modifyBadge(_ badge: Int, as caller: Caller) throws { throw Self.notAsked }

    func webAuthToken(apiToken: String, as caller: Caller) throws -> String { throw Self.notAsked }
}

extension CloudError {
    /// A connection that has failed. A request that is too large was not sent; of any other nobody knows what became of it.
    fileprivate init(_ error: LocalSocketError) {
        let isTooLarge = error.fields["limit"] != nil
        self.init(
            isTooLarge ? .limitExceeded : .serverResponseLost, text: error.message, error.fields)
    }
}
