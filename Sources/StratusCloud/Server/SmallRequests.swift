// Requests with few parts: about the caller's account, other people, shares by their URLs, files of assets, and limits.

package import FoundationEssentials
package import StratusModel

/// Copies the content of an asset from another process, which cannot know how long the copy is used: the copy ages from
/// the beginning. Answers its path.
package struct CopyAssetRequest: CloudRequest {
    package var wanted: HeldAsset

    package static let name = RequestName.copyAsset

    package init(_ wanted: HeldAsset) { self.wanted = wanted }

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> String {
        let path = try context.service.copyAsset(wanted, as: context.caller, in: context.place)
        context.service.releaseCopies([path], unseen: [])
        return path
    }
}

/// Copies the contents of several assets, as `CopyAssetRequest` does one.
package struct CopyAssetsRequest: CloudRequest {
    package var wanted: [HeldAsset]

    package static let name = RequestName.copyAssets

    package init(_ wanted: [HeldAsset]) { self.wanted = wanted }

    package func answer(in context: AnswerContext<DatabaseSelector>) throws -> ItemList<String> {
        let paths = try context.service.copyAssets(wanted, as: context.caller, in: context.place, under: nil) { true }
        context.service.releaseCopies(paths.compactMap { try? $0.get() }, unseen: [])
        return ItemList(paths)
    }
}

/// Asks whether a file is larger than an asset may be (L-04). Answers false if the file cannot be read.
package struct CheckFileSizeRequest: CloudRequest {
    package var path: String

    package static let name = RequestName.checkFileSize

    package init(path: String) { self.path = path }

    package func answer(in context: AnswerContext<NoDatabase>) -> Bool {
        context.service.isTooLarge(fileAt: path)
    }
}

/// Asks what one request may hold (L-01).
package struct RequestLimitsRequest: CloudRequest {
    package static let name = RequestName.requestLimits

    package init() {}

    package func answer(in context: AnswerContext<NoDatabase>) -> RequestSize {
        context.service.requestLimits()
    }
}

/// Marks notifications of the caller's device as read.
package struct MarkNotificationsReadRequest: CloudRequest {
    package var ids: [UUID]

    package static let name = RequestName.markNotificationsRead

    package init(ids: [UUID]) { self.ids = ids }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> Done {
        try context.service.markNotificationsRead(ids, as: context.caller)
        return Done()
    }
}

/// Sets the number on the icon of the app on the caller's device.
package struct ModifyBadgeRequest: CloudRequest {
    package var badge: Int

    package static let name = RequestName.modifyBadge

    package init(badge: Int) { self.badge = badge }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> Done {
        try context.service.modifyBadge(badge, as: context.caller)
        return Done()
    }
}

/// Asks how the caller's account stands.
package struct AccountStatusRequest: CloudRequest {
    package static let name = RequestName.accountStatus

    package init() {}

    package func answer(in context: AnswerContext<NoDatabase>) throws -> AccountStatus {
        try context.service.accountStatus(of: context.caller)
    }
}

/// Requests the name of the caller's user record. Fails with `notAuthenticated` without an account (O-17).
package struct UserNameRequest: CloudRequest {
    package static let name = RequestName.userName

    package init() {}

    package func answer(in context: AnswerContext<NoDatabase>) throws -> UserName {
        try context.service.userName(of: context.caller)
    }
}

/// Asks whether others may find the caller. Fails as `UserNameRequest` does.
package struct DiscoverabilityRequest: CloudRequest {
    package static let name = RequestName.discoverability

    package init() {}

    package func answer(in context: AnswerContext<NoDatabase>) throws -> Bool {
        try context.service.reporting(.userRecord, context.caller, itemCount: 1) { _ in
            try context.service.requireAccount(context.caller).isDiscoverable
        }
    }
}

/// Looks for people. Answers in order; nil for those who are not found or do not want to be.
package struct DiscoverUsersRequest: CloudRequest {
    package var lookups: [IdentityLookup]

    package static let name = RequestName.discoverUsers

    package init(_ lookups: [IdentityLookup]) { self.lookups = lookups }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> [DiscoveredIdentity?] {
        try context.service.discover(lookups, as: context.caller)
    }
}

/// Looks for people as participants of a share that they are not in yet. Answers in order.
package struct ShareParticipantsRequest: CloudRequest {
    package var lookups: [IdentityLookup]

    package static let name = RequestName.shareParticipants

    package init(_ lookups: [IdentityLookup]) { self.lookups = lookups }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> ItemList<ClientParticipant> {
        ItemList(try context.service.shareParticipants(for: lookups, as: context.caller))
    }
}

/// Creates a token for the caller and the web service that `apiToken` names.
package struct FetchWebAuthTokenRequest: CloudRequest {
    package var apiToken: String

    package static let name = RequestName.fetchWebAuthToken

    package init(apiToken: String) { self.apiToken = apiToken }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> String {
        try context.service.webAuthToken(apiToken: apiToken, as: context.caller)
    }
}

/// Accepts shares by their URLs. Answers in order.
package struct AcceptSharesRequest: CloudRequest {
    package var urls: [String]

    package static let name = RequestName.acceptShares

    package init(urls: [String]) { self.urls = urls }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> ItemList<ClientRecord> {
        ItemList(try context.service.acceptShares(urls, as: context.caller))
    }
}

/// Asks the owners of shares for access. Answers in order.
package struct RequestShareAccessRequest: CloudRequest {
    package var urls: [String]

    package static let name = RequestName.requestShareAccess

    package init(urls: [String]) { self.urls = urls }

    package func answer(in context: AnswerContext<NoDatabase>) throws -> ItemList<Done> {
        ItemList(try context.service.requestShareAccess(urls, as: context.caller))
    }
}
