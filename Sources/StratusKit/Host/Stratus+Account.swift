// An account as a host sees it: a value, made when it was asked for.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// How an account stands with the host.
    public enum Standing: Hashable, Sendable {
        /// The account may be used.
        case good
        /// Parental or managed restrictions: `CKAccountStatus.restricted`.
        case restricted
        /// The account must be verified again: `CKAccountStatus.temporarilyUnavailable`, and requests fail with
        /// `accountTemporarilyUnavailable`.
        case needsVerification
        /// The host has closed the account without deleting its data: `CKAccountStatus.noAccount`, and requests fail
        /// with `notAuthenticated`. Shares keep the person's place.
        case suspended
    }

    /// One person's account, in every container of a store, as it was when it was asked for.
    ///
    /// Later changes do not show in it; `Stratus.account(id:)` gives the newest.
    public struct Account: Hashable, Identifiable, Sendable {
        /// The store's own, opaque name of the account.
        public let id: String
        /// The host's own identifier of the person; nil where the host knows them by handle alone.
        public let externalID: String?
        /// The record name of the person's user record, in every container: what clients get to know of the account.
        public let userRecordName: String
        /// The verified e-mail addresses, in lower case.
        public let emails: Set<String>
        /// The verified telephone numbers, digits with a leading `+` where it was given.
        public let phoneNumbers: Set<String>
        /// The person's name, as others see it.
        public let name: PersonNameComponents
        /// How the account stands.
        public let standing: Standing
        /// Whether others may find the person by a handle.
        public let isDiscoverable: Bool
        /// The most bytes the person's private databases may hold, assets included; nil for the store's default.
        public let quotaByteCount: Int64?
        /// When the account was made.
        public let creationDate: Date

        var accountID: AccountID { AccountID(id) }

        init(_ account: StratusModel.Account) {
            id = account.id.text
            externalID = account.externalID
            userRecordName = account.userName.text
            emails = Set(
                account.handles.compactMap { handle in
                    if case .email(let address) = handle { address } else { nil }
                })
            phoneNumbers = Set(
                account.handles.compactMap { handle in
                    if case .phone(let number) = handle { number } else { nil }
                })
            name = PersonNameComponents(account.name)
            standing = Standing(account.standing)
            isDiscoverable = account.isDiscoverable
            quotaByteCount = account.quotaByteCount
            creationDate = account.created
        }
    }

    /// An account that is to be made.
    public struct NewAccount: Hashable, Sendable {
        /// E-mail addresses that the host has verified to be the person's.
        public var emails: Set<String>
        /// Telephone numbers that the host has verified to be the person's.
        public var phoneNumbers: Set<String>
        /// The person's name, as others see it.
        public var name: PersonNameComponents
        /// How the account stands.
        public var standing: Standing
        /// Whether others may find the person by a handle.
        public var isDiscoverable: Bool
        /// The most bytes the person's private databases may hold; nil for the store's default.
        public var quotaByteCount: Int64?

        /// An account with these properties.
        public init(
            emails: Set<String> = [], phoneNumbers: Set<String> = [],
            name: PersonNameComponents = PersonNameComponents(), standing: Standing = .good,
            isDiscoverable: Bool = true, quotaByteCount: Int64? = nil
        ) {
            self.emails = emails
            self.phoneNumbers = phoneNumbers
            self.name = name
            self.standing = standing
            self.isDiscoverable = isDiscoverable
            self.quotaByteCount = quotaByteCount
        }

        func draft(externalID: String?) -> AccountDraft {
            AccountDraft(
                externalID: externalID, handles: .init(emails: emails, phoneNumbers: phoneNumbers),
                name: PersonName(name), standing: AccountStanding(standing), isDiscoverable: isDiscoverable,
                quotaByteCount: quotaByteCount)
        }
    }
}

// MARK: Words of the floors below

extension Set<Handle> {
    init(emails: Set<String>, phoneNumbers: Set<String>) {
        self = Set(emails.map { .email($0) } + phoneNumbers.map { .phone($0) })
    }
}

extension Stratus.Standing {
    init(_ standing: AccountStanding) {
        switch standing {
        case .good: self = .good
        case .restricted: self = .restricted
        case .needsVerification: self = .needsVerification
        case .suspended: self = .suspended
        }
    }
}

extension AccountStanding {
    init(_ standing: Stratus.Standing) {
        switch standing {
        case .good: self = .good
        case .restricted: self = .restricted
        case .needsVerification: self = .needsVerification
        case .suspended: self = .suspended
        }
    }
}
