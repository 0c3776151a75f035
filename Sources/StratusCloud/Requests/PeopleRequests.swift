// Requests about the caller's account, about other people, and about shares by their URLs.

package import StratusModel

/// Asks how the caller's account stands.
package struct AccountStatusRequest: CloudRequest {
    package static let name = RequestName.accountStatus

    package init() {}

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) throws -> AccountStatus {
        try service.accountStatus(of: caller)
    }
}

/// Requests the name of the caller's user record. Fails with `notAuthenticated` without an account (O-17).
package struct UserNameRequest: CloudRequest {
    package static let name = RequestName.userName

    package init() {}

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) throws -> UserName {
        try service.userName(of: caller)
    }
}

/// Asks whether others may find the caller. Fails as `UserNameRequest` does.
package struct DiscoverabilityRequest: CloudRequest {
    package static let name = RequestName.discoverability

    package init() {}

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) throws -> Bool {
        try service.isDiscoverable(caller)
    }
}

/// Looks for people. Answers in order; nil for those who are not found or do not want to be.
package struct DiscoverUsersRequest: CloudRequest {
    package var lookups: [IdentityLookup]

    package static let name = RequestName.discoverUsers

    package init(_ lookups: [IdentityLookup]) { self.lookups = lookups }

    package func answer(
        by service: CloudService, as caller: Caller, in place: NoDatabase
    ) throws -> [DiscoveredIdentity?] {
        try service.discover(lookups, as: caller)
    }
}

/// Looks for people as participants of a share that they are not in yet. Answers in order.
package struct ShareParticipantsRequest: CloudRequest {
    package var lookups: [IdentityLookup]

    package static let name = RequestName.shareParticipants

    package init(_ lookups: [IdentityLookup]) { self.lookups = lookups }

    package func answer(
        by service: CloudService, as caller: Caller, in place: NoDatabase
    ) throws -> ItemList<ClientParticipant> {
        ItemList(try service.shareParticipants(for: lookups, as: caller))
    }
}

/// Creates a token for the caller and the web service that `apiToken` names.
package struct FetchWebAuthTokenRequest: CloudRequest {
    package var apiToken: String

    package static let name = RequestName.fetchWebAuthToken

    package init(apiToken: String) { self.apiToken = apiToken }

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) throws -> String {
        try service.webAuthToken(apiToken: apiToken, as: caller)
    }
}

/// Fetches shares by their URLs, as the caller may know them. Answers in order.
package struct ShareMetadataRequest: CloudRequest, Hashable {
    package var urls: [String]
    package var wantsRootRecord: Bool
    /// The fields of the root to return; nil for all of them (M-02).
    package var rootDesiredKeys: Set<String>?

    package init(urls: [String], wantsRootRecord: Bool = false, rootDesiredKeys: Set<String>? = nil) {
        self.urls = urls
        self.wantsRootRecord = wantsRootRecord
        self.rootDesiredKeys = rootDesiredKeys
    }

    package static let name = RequestName.shareMetadata

    package func answer(
        by service: CloudService, as caller: Caller, in place: NoDatabase
    ) throws -> ItemList<ClientShareMetadata> {
        ItemList(try service.shareMetadata(self, as: caller))
    }
}

/// What a person who has the URL of a share may know of it (M-01 … M-03).
package struct ClientShareMetadata: Hashable, Codable, Sendable {
    /// The URL of the request: a one-time URL is for another participant than the share's own.
    package var url: String
    /// Where the share must be accepted (M-01).
    package var container: ContainerName
    package var share: ClientRecord
    /// Nil for a share of a whole zone, and if the request does not want it.
    package var rootRecord: ClientRecord?
    package var role: ParticipantRole
    package var status: AcceptanceStatus
    package var permission: ParticipantPermission
    package var owner: ClientIdentity

    package init(
        url: String, container: ContainerName, share: ClientRecord, rootRecord: ClientRecord? = nil,
        role: ParticipantRole, status: AcceptanceStatus, permission: ParticipantPermission, owner: ClientIdentity
    ) {
        self.url = url
        self.container = container
        self.share = share
        self.rootRecord = rootRecord
        self.role = role
        self.status = status
        self.permission = permission
        self.owner = owner
    }
}

/// Accepts shares by their URLs. Answers in order.
package struct AcceptSharesRequest: CloudRequest {
    package var urls: [String]

    package static let name = RequestName.acceptShares

    package init(urls: [String]) { self.urls = urls }

    package func answer(
        by service: CloudService, as caller: Caller, in place: NoDatabase
    ) throws -> ItemList<ClientRecord> {
        ItemList(try service.acceptShares(urls, as: caller))
    }
}

/// Asks the owners of shares for access. Answers in order.
package struct RequestShareAccessRequest: CloudRequest {
    package var urls: [String]

    package static let name = RequestName.requestShareAccess

    package init(urls: [String]) { self.urls = urls }

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) throws -> VerdictList {
        VerdictList(try service.requestShareAccess(urls, as: caller))
    }
}
