// What an account's standing means for its person: the status a client is told, and whether it may be used.

package import StratusModel

/// What a client is told about its account. The raw values are the client's own.
package enum AccountStatus: Int, Hashable, Codable, Sendable, CaseIterable {
    case couldNotDetermine = 0
    case available = 1
    case restricted = 2
    case noAccount = 3
    case temporarilyUnavailable = 4
}

/// Pure decisions about an account that may be missing.
package enum AccountVerdict {
    /// The status of an account; nil stands for none. Source: O-18.
    package static func status(of account: Account?) -> AccountStatus {
        switch account?.standing {
        case nil, .suspended: .noAccount
        case .good: .available
        case .restricted: .restricted
        case .needsVerification: .temporarilyUnavailable
        }
    }

    /// The account, when it may be used. Source: S-17.
    package static func require(_ account: Account?) throws(CloudError) -> Account {
        guard let account else { throw notSignedIn }
        switch account.standing {
        case .good: return account
        case .restricted:
            throw CloudError(
                .managedAccountRestricted, "The account is restricted: whoever manages it has to lift the restriction.")
        case .needsVerification:
            throw CloudError(
                .accountTemporarilyUnavailable, "The account must be verified again: ask its person to do so.")
        case .suspended:
            throw CloudError(
                .notAuthenticated, "The account was closed by the host: sign in with another, or have it restored.")
        }
    }

    /// The error where nobody is signed in, or the account is gone.
    package static var notSignedIn: CloudError {
        CloudError(.notAuthenticated, "No account is signed in: sign in, then try again.")
    }
}
