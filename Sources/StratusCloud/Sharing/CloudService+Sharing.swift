// What clients ask about shares by their URLs, and about people whom they want to invite.

extension CloudService {
    /// People as participants of a share that they are not in yet (P-01), in the order of `lookups`. Each has an
    /// identifier of their own; nothing is written.
    ///
    /// Throws as `resolveInvited`.
    package func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [Result<ClientParticipant, CloudError>] {
        throw Self.sharingUnavailable
    }

    /// Shares by their URLs, as the caller may know them, in the order of the request (M-01 … M-05).
    ///
    /// Throws, for the request as a whole: `notAuthenticated` and the like, `limitExceeded` (L-01), a planned fault, and
    /// the store's failures.
    package func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws(CloudError) -> [Result<ClientShareMetadata, CloudError>] {
        throw Self.sharingUnavailable
    }

    /// Accepts shares by their URLs for the caller, each in a commit of its own; answered with the share as the caller
    /// sees it then (M-06).
    ///
    /// Throws as `shareMetadata`.
    package func acceptShares(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<ClientRecord, CloudError>] {
        throw Self.sharingUnavailable
    }

    /// Asks the owners of shares for access (P-20, P-22).
    ///
    /// Throws as `shareMetadata`.
    package func requestShareAccess(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<Void, CloudError>] {
        throw Self.sharingUnavailable
    }

    private static var sharingUnavailable: CloudError {
        CloudError(.serverRejectedRequest, "Shares are not available in this version of the server.")
    }
}
