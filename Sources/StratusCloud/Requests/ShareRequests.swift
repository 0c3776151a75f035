// What a client can ask about shares by their URLs, and what it is answered.

package import StratusModel

/// Shares to be told of, by their URLs.
package struct ShareMetadataRequest: Hashable, Codable, Sendable {
    package var urls: [String]
    package var wantsRootRecord: Bool
    /// The fields of the root to hand out; nil for all of them (M-02).
    package var rootDesiredKeys: Set<String>?

    package init(urls: [String], wantsRootRecord: Bool = false, rootDesiredKeys: Set<String>? = nil) {
        self.urls = urls
        self.wantsRootRecord = wantsRootRecord
        self.rootDesiredKeys = rootDesiredKeys
    }
}

/// A share as somebody is told of it who has its URL (M-01 … M-03).
package struct ClientShareMetadata: Hashable, Codable, Sendable {
    /// The URL that was asked for: a one-time URL stands for another participant than the share's own.
    package var url: String
    /// Where the share has to be accepted (M-01).
    package var container: ContainerName
    package var share: ClientRecord
    /// Nil for a share of a whole zone, and where it was not asked for.
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
