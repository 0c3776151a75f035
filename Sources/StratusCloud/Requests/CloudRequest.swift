// What a client asks of the server: one type for each request, which also names the type of its answer.
//
// Requests and answers are plain values that can be encoded, so a request travels the same way whether the server is in
// this process (`CloudService`), behind a socket, or behind anything else that carries bytes:
//
//   operation → CloudServer.answer(request, as: caller, in: database) → CloudRequest.answer(by: CloudService) → engine
//
// To add a request: declare its type with `answer(by:as:in:)`, and name it in `RequestName`. Nothing else knows the
// requests one by one.

package import StratusModel

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
    func answer(by service: CloudService, as caller: Caller, in place: Place) throws -> Answer
}

/// The place of requests about the caller, other people, and shares by their URLs.
package struct NoDatabase: Codable, Sendable {
    package init() {}
}

/// An answer that holds nothing.
package struct Done: Codable, Sendable {
    package init() {}
}

/// The names of all requests. They are sent between processes: if you change one, change `LocalFrame.version` too.
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

/// Who asks, and in which container.
package struct Caller: Hashable, Codable, Sendable {
    package var container: ContainerName
    /// Nil if no account is signed in: then only the public database can be read (S-17).
    package var account: AccountID?
    /// The name of the account's device that asks; nil if it is not one that gets notifications (N-05).
    package var device: String?

    package init(container: ContainerName, account: AccountID?, device: String? = nil) {
        self.container = container
        self.account = account
        self.device = device
    }
}

/// Answers of single items, in the order of the request: each is a value or the item's error.
@propertyWrapper
package struct ItemResults<Value: Codable & Sendable>: Codable, Sendable {
    package var wrappedValue: [Result<Value, CloudError>]

    package init(wrappedValue: [Result<Value, CloudError>]) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        wrappedValue = try [EncodedItem<Value>](from: decoder).map(\.result)
    }

    package func encode(to encoder: any Encoder) throws {
        try wrappedValue.map(EncodedItem.init).encode(to: encoder)
    }
}

/// Whether single items succeeded, in the order of the request.
@propertyWrapper
package struct ItemVerdicts: Codable, Sendable {
    package var wrappedValue: [Result<Void, CloudError>]

    package init(wrappedValue: [Result<Void, CloudError>]) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        wrappedValue = try [EncodedItem<Done>](from: decoder).map { $0.result.map { _ in } }
    }

    package func encode(to encoder: any Encoder) throws {
        try wrappedValue.map { EncodedItem($0.map { Done() }) }.encode(to: encoder)
    }
}

/// The answer of a request that is a list of items and nothing else.
package struct ItemList<Value: Codable & Sendable>: Codable, Sendable {
    @ItemResults package var items: [Result<Value, CloudError>]

    package init(_ items: [Result<Value, CloudError>]) { self.items = items }
}

/// The answer of a request that says of each item whether it succeeded, and nothing else.
package struct VerdictList: Codable, Sendable {
    @ItemVerdicts package var items: [Result<Void, CloudError>]

    package init(_ items: [Result<Void, CloudError>]) { self.items = items }
}

private struct EncodedItem<Value: Codable & Sendable>: Codable {
    var value: Value?
    var error: CloudError?

    init(_ result: Result<Value, CloudError>) {
        switch result {
        case .success(let value): self.value = value
        case .failure(let error): self.error = error
        }
    }

    var result: Result<Value, CloudError> {
        if let value { return .success(value) }
        return .failure(error ?? CloudError(.internalError, "The server's answer for an item is empty."))
    }
}
