// The request for shares by their URLs, and its answer.

package import StratusModel

/// Fetches shares by their URLs, as the caller may know them. Answers in order.
package struct ShareMetadataRequest: Hashable, Codable, Sendable {
    package var urls: [String]
    package var wantsRootRecord: Bool
    /// The fields of the root to return; nil for all of them (M-02).
    package var rootDesiredKeys: Set<String>?

    package init(urls: [String], wantsRootRecord: Bool = false, rootDesiredKeys: Set<String>? = nil) {
        self.urls = urls
        self.wantsRootRecord = wantsRootRecord
        self.rootDesiredKeys = rootDesiredKeys
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
}
