// How clients look for other people, and what they are told.

package import StratusModel

/// A person as a client names them.
package enum IdentityLookup: Hashable, Codable, Sendable {
    case email(String)
    case phone(String)
    /// The record name of the person's user record.
    case userRecord(String)

    /// The handle, where the person is named by one.
    package var handle: Handle? {
        switch self {
        case .email(let address): .email(address)
        case .phone(let number): .phone(number)
        case .userRecord: nil
        }
    }
}

/// A person who has been found and may be.
package struct DiscoveredIdentity: Hashable, Codable, Sendable {
    package var lookup: IdentityLookup
    package var userName: UserName
    package var name: PersonName

    package init(lookup: IdentityLookup, userName: UserName, name: PersonName) {
        self.lookup = lookup
        self.userName = userName
        self.name = name
    }
}

/// A person who can be invited to a share, with an account or without.
package struct InvitableIdentity: Hashable, Sendable {
    package var lookup: IdentityLookup
    package var hasAccount: Bool
    /// Known when the person was named by it or may be discovered (P-03).
    package var userName: UserName?
    /// Known when the person may be discovered.
    package var name: PersonName?

    package init(lookup: IdentityLookup, hasAccount: Bool, userName: UserName? = nil, name: PersonName? = nil) {
        self.lookup = lookup
        self.hasAccount = hasAccount
        self.userName = userName
        self.name = name
    }
}
