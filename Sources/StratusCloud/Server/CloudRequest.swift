// What a client asks of the server: one type for each request, which also names the type of its answer.
//
// Requests and answers are plain values that can be encoded, so a request travels the same way whether the server is in
// this process (`CloudService`), behind a socket, or behind anything else that carries bytes:
//
//   operation → CloudServer.answer(request, as: caller, in: database) → CloudRequest.answer(in: context) → engine
//
// To add a request: write its type and the service's method that answers it in one file, and give it its name and its
// answer here. Nothing else knows the requests one by one.

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
