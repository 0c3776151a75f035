// What a host sets for an account, the limits on that, and what an account's standing means for its user.

package import StratusModel

/// An account to create. The host verifies the handles.
package struct AccountDraft: Hashable, Codable, Sendable {
    /// The host's own identifier of the user, unique in the store.
    package var externalID: String?
    package var handles: Set<Handle>
    package var name: PersonName
    package var standing: AccountStanding
    /// Whether others may find the user by a handle.
    package var isDiscoverable: Bool
    /// Bytes that the user's private databases may hold; nil for the store's default.
    package var quotaByteCount: Int64?

    package init(
        externalID: String? = nil, handles: Set<Handle> = [], name: PersonName = .init(),
        standing: AccountStanding = .good, isDiscoverable: Bool = true, quotaByteCount: Int64? = nil
    ) {
        self.externalID = externalID
        self.handles = handles
        self.name = name
        self.standing = standing
        self.isDiscoverable = isDiscoverable
        self.quotaByteCount = quotaByteCount
    }
}

/// Some accounts in the order of their identifiers.
package struct AccountPage: Hashable, Sendable {
    package var accounts: [StoredAccount]
    /// Where the next page begins; nil after the last one.
    package var next: AccountID?
}

/// The limits on an account.
package enum AccountLimits {
    /// Handles of one account.
    package static let handleCount = 100
    /// UTF-8 bytes of the host's own identifier.
    package static let externalIDByteCount = 512
    /// UTF-8 bytes of one part of a name.
    package static let namePartByteCount = 1_024
    /// Accounts of one page.
    package static let pageCount = 1_000

    /// Throws `invalidArguments` if an account exceeds a limit.
    static func check(_ account: StoredAccount) throws(CloudError) {
        if let count = account.externalID?.utf8.count, !(1...externalIDByteCount).contains(count) {
            throw CloudError(
                .invalidArguments, "The external identifier is empty or too long. Use another one.",
                ["byteCount": "\(count)", "limit": "\(externalIDByteCount)"])
        }
        guard account.handles.count <= handleCount else {
            throw CloudError(
                .invalidArguments, "The account has too many handles. Remove some.",
                ["count": "\(account.handles.count)", "limit": "\(handleCount)"])
        }
        let name = account.name
        let parts = [name.prefix, name.given, name.middle, name.family, name.suffix, name.nickname]
        for case let part? in parts where part.utf8.count > namePartByteCount {
            throw CloudError(
                .invalidArguments, "A part of the name is too long. Shorten it.",
                ["byteCount": "\(part.utf8.count)", "limit": "\(namePartByteCount)"])
        }
        if let quota = account.quotaByteCount, quota < 0 {
            throw CloudError(
                .invalidArguments, "A quota cannot be negative. Use nil for the store's default.",
                ["quota": "\(quota)"])
        }
    }

    /// The handles in their normalised form. Throws `invalidArguments` for a malformed one.
    static func normalized(_ handles: Set<Handle>) throws(CloudError) -> Set<Handle> {
        Set(try handles.map { handle throws(CloudError) in try normalized(handle) })
    }

    /// The handle in its normalised form. Throws `invalidArguments` for a malformed one.
    static func normalized(_ handle: Handle) throws(CloudError) -> Handle {
        guard let normalized = handle.normalized else {
            throw CloudError(
                .invalidArguments,
                "The handle is malformed. Use an e-mail address with one @ and an ASCII domain, or a telephone number.",
                ["handle": handle.text])
        }
        return normalized
    }
}

/// The status of an account for a client. The raw values are the client's own.
package enum AccountStatus: Int, Hashable, Codable, Sendable, CaseIterable {
    case couldNotDetermine = 0
    case available = 1
    case restricted = 2
    case noAccount = 3
    case temporarilyUnavailable = 4
}
