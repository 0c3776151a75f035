// What a client asks of the server: one type for each request, which also names the type of its answer.
//
// Requests and answers are plain values that can be encoded, so a request travels the same way whether the server is in
// this process (`CloudService`), behind a socket, or behind anything else that carries bytes:
//
//   operation → CloudServer.answer(request, as: caller, in: database) → CloudRequest.answer(in: context) → engine
//
// To add a request: write its type and the service's method that answers it in one file, and give it its name and its
// answer here. No other code lists the requests.

/// A request of a client.
package protocol CloudRequest<Answer>: Codable, Sendable {
    associatedtype Answer: Codable & Sendable
    /// What the request is about: one of the caller's databases, or no database.
    associatedtype Place: Codable & Sendable = DatabaseSelector

    /// The name of the request in messages between processes.
    static var name: RequestName { get }

    /// Answers the request. Blocks until its commits are durable.
    ///
    /// Throws `CloudError` if the request fails as a whole; a single item fails in its place of the answer.
    func answer(in context: AnswerContext<Place>) throws -> Answer
}

/// Who answers a request, whose it is, and what it is about.
package struct AnswerContext<Place> {
    let service: CloudService
    let caller: Caller
    let place: Place
}

/// The place of requests about the caller, other people, and shares by their URLs.
package struct NoDatabase: Codable, Sendable {
    package init() {}
}

/// The names of all requests. They are sent between processes, as are the properties of requests, answers and `Client…`
/// values: if you change one, raise `LocalFrame.version`.
package enum RequestName: String, Codable, Sendable, CaseIterable {
    case modifyRecords
    case fetchRecords
    case copyAsset
    case copyAssets
    case checkFileSize
    case modifyZones
    case fetchZones
    case fetchDatabaseChanges
    case fetchZoneChanges
    case query
    case modifySubscriptions
    case fetchSubscriptions
    case fetchNotificationChanges
    case markNotificationsRead
    case modifyBadge
    case fetchWebAuthToken
    case requestLimits
    case accountStatus
    case userName
    case discoverability
    case discoverUsers
    case shareParticipants
    case shareMetadata
    case acceptShares
    case requestShareAccess

    /// The type of the requests with this name.
    package var type: any CloudRequest.Type {
        switch self {
        case .modifyRecords: ModifyRecordsRequest.self
        case .fetchRecords: FetchRecordsRequest.self
        case .copyAsset: CopyAssetRequest.self
        case .copyAssets: CopyAssetsRequest.self
        case .checkFileSize: CheckFileSizeRequest.self
        case .modifyZones: ModifyZonesRequest.self
        case .fetchZones: FetchZonesRequest.self
        case .fetchDatabaseChanges: FetchDatabaseChangesRequest.self
        case .fetchZoneChanges: FetchZoneChangesRequest.self
        case .query: QueryRequest.self
        case .modifySubscriptions: ModifySubscriptionsRequest.self
        case .fetchSubscriptions: FetchSubscriptionsRequest.self
        case .fetchNotificationChanges: FetchNotificationChangesRequest.self
        case .markNotificationsRead: MarkNotificationsReadRequest.self
        case .modifyBadge: ModifyBadgeRequest.self
        case .fetchWebAuthToken: FetchWebAuthTokenRequest.self
        case .requestLimits: RequestLimitsRequest.self
        case .accountStatus: AccountStatusRequest.self
        case .userName: UserNameRequest.self
        case .discoverability: DiscoverabilityRequest.self
        case .discoverUsers: DiscoverUsersRequest.self
        case .shareParticipants: ShareParticipantsRequest.self
        case .shareMetadata: ShareMetadataRequest.self
        case .acceptShares: AcceptSharesRequest.self
        case .requestShareAccess: RequestShareAccessRequest.self
        }
    }
}

// MARK: The requests, each with its answer

extension ModifyRecordsRequest: CloudRequest {
    package static let name = RequestName.modifyRecords

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> ModifyRecordsResponse {
        try context.service.modifyRecords(self, as: context.caller, in: context.place)
    }
}

extension FetchRecordsRequest: CloudRequest {
    package static let name = RequestName.fetchRecords

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> FetchRecordsResponse {
        try context.service.fetchRecords(self, as: context.caller, in: context.place)
    }
}

extension ModifyZonesRequest: CloudRequest {
    package static let name = RequestName.modifyZones

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> ModifyZonesResponse {
        try context.service.modifyZones(self, as: context.caller, in: context.place)
    }
}

extension FetchZonesRequest: CloudRequest {
    package static let name = RequestName.fetchZones

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> FetchZonesResponse {
        FetchZonesResponse(try context.service.fetchZones(self, as: context.caller, in: context.place))
    }
}

extension FetchDatabaseChangesRequest: CloudRequest {
    package static let name = RequestName.fetchDatabaseChanges

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> FetchDatabaseChangesResponse {
        try context.service.fetchDatabaseChanges(self, as: context.caller, in: context.place)
    }
}

extension FetchZoneChangesRequest: CloudRequest {
    package static let name = RequestName.fetchZoneChanges

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> FetchZoneChangesResponse {
        try context.service.fetchZoneChanges(self, as: context.caller, in: context.place)
    }
}

extension QueryRequest: CloudRequest {
    package static let name = RequestName.query

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> QueryResponse {
        try context.service.query(self, as: context.caller, in: context.place)
    }
}

extension ModifySubscriptionsRequest: CloudRequest {
    package static let name = RequestName.modifySubscriptions

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> ModifySubscriptionsResponse {
        try context.service.modifySubscriptions(self, as: context.caller, in: context.place)
    }
}

extension FetchSubscriptionsRequest: CloudRequest {
    package static let name = RequestName.fetchSubscriptions

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> FetchSubscriptionsResponse {
        FetchSubscriptionsResponse(try context.service.fetchSubscriptions(self, as: context.caller, in: context.place))
    }
}

extension FetchNotificationChangesRequest: CloudRequest {
    package static let name = RequestName.fetchNotificationChanges

    package func answer(in context: AnswerContext<NoDatabase>) throws -> FetchNotificationChangesResponse {
        try context.service.fetchNotificationChanges(self, as: context.caller)
    }
}

extension ShareMetadataRequest: CloudRequest {
    package static let name = RequestName.shareMetadata

    package func answer(in context: AnswerContext<NoDatabase>) throws -> ItemList<ClientShareMetadata> {
        ItemList(try context.service.shareMetadata(self, as: context.caller))
    }
}

/// Answers requests. `CloudService` is the server; a host's socket, a store that could not be opened, and tests put
/// others in its place.
package protocol CloudServer: Sendable {
    /// Answers a request. Blocks its thread until the answer is there.
    ///
    /// Throws `CloudError` if the request fails as a whole.
    func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer

    // Files of assets. They are copied between directories of one machine, and clients keep the copies.

    /// Keeps all contents until the hold is released, so that those that the answer to the next request names can be
    /// copied after it. Nil if there are none.
    func holdAssets() throws -> AssetHold?
    /// Returns the paths of new private copies of contents. The contents are those of an answer, under a hold
    /// from before its request, or, without a hold, contents that records still have. Asks `shouldContinue` before each
    /// copy; if it returns false, the remaining ones fail.
    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>]
    /// Returns the path of a new private copy of a content that a field of a record holds.
    func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String
    /// Releases copies whose objects are gone; no client has seen the paths of those that are `unseen`. Must not wait.
    func releaseCopies(_ paths: [String], unseen: [String])
}

extension CloudServer {
    package func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller
    ) throws -> Request.Answer where Request.Place == NoDatabase {
        try answer(request, as: caller, in: NoDatabase())
    }
}

extension CloudService: CloudServer {
    package func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer {
        try request.answer(in: AnswerContext(service: self, caller: caller, place: place))
    }
}

/// A server that answers every request with one error: a store that could not be opened.
package struct RefusingServer: CloudServer {
    package let error: CloudError

    package init(_ error: CloudError) { self.error = error }

    package func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer { throw error }

    package func holdAssets() throws -> AssetHold? { throw error }

    package func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] { throw error }

    package func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String {
        throw error
    }

    package func releaseCopies(_ paths: [String], unseen: [String]) {}
}
