// The people of a store: accounts, and how they stand with the host.

package import FoundationEssentials

/// The store's own name of an account: opaque, drawn once, never shown to clients.
package struct AccountID: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// How an account stands with the host. The raw values are stored; they never change.
package enum AccountStanding: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case good = 1
    /// Parental or managed restrictions: the account exists but may not be used.
    case restricted = 2
    /// The account must be verified again before it may be used (S-17).
    case needsVerification = 3
    /// The host has closed the account without deleting its data.
    case suspended = 4
}

/// The parts of a person's name.
package struct PersonName: Hashable, Codable, Sendable {
    package var prefix: String?
    package var given: String?
    package var middle: String?
    package var family: String?
    package var suffix: String?
    package var nickname: String?

    package init(
        prefix: String? = nil, given: String? = nil, middle: String? = nil, family: String? = nil,
        suffix: String? = nil, nickname: String? = nil
    ) {
        self.prefix = prefix
        self.given = given
        self.middle = middle
        self.family = family
        self.suffix = suffix
        self.nickname = nickname
    }
}

/// An account of the store: one person, in every container.
package struct Account: Hashable, Sendable {
    package let id: AccountID
    /// The host's own identifier of the person, unique in the store; nil when the host knows them by handle alone.
    package var externalID: String?
    /// The record name of the person's user record, in every container.
    package let userName: UserName
    /// Addresses that the host has verified to be the person's, in their normalised form.
    package var handles: Set<Handle>
    package var name: PersonName
    package var standing: AccountStanding
    /// Whether others may find the person by a handle.
    package var isDiscoverable: Bool
    /// The most bytes the person's private databases may hold, assets included; nil for the store's default.
    package var quotaByteCount: Int64?
    package var created: Date

    package init(
        id: AccountID, externalID: String?, userName: UserName, handles: Set<Handle> = [], name: PersonName = .init(),
        standing: AccountStanding = .good, isDiscoverable: Bool = true, quotaByteCount: Int64? = nil, created: Date
    ) {
        self.id = id
        self.externalID = externalID
        self.userName = userName
        self.handles = handles
        self.name = name
        self.standing = standing
        self.isDiscoverable = isDiscoverable
        self.quotaByteCount = quotaByteCount
        self.created = created
    }
}
