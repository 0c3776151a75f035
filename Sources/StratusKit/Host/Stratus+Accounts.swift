// The accounts of a store: finding, creating, changing, signing in, deleting.
//
// The host is the authority on people: it verifies handles before it adds them.

public import Foundation
package import StratusCloud
import StratusModel

// MARK: Finding

extension Stratus {
    /// The account with the host's identifier of a person. Creates it if there is none. Two callers at the same time
    /// get the same account.
    ///
    /// - Parameters:
    ///   - externalID: The host's identifier of the person, unique in the store.
    ///   - account: The properties of a new account. An existing account stays as it is.
    /// - Returns: The account.
    /// - Throws: ``StratusError`` with `invalidArgument` for a malformed handle, and with `alreadyTaken` if a handle
    ///   belongs to another account.
    public func account(externalID: String, createIfMissing account: NewAccount) throws -> Account {
        try asking { Account(try $0.account(externalID: externalID, createIfMissing: account.draft(externalID: nil))) }
    }

    /// The account with the host's identifier of a person, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func account(externalID: String) throws -> Account? {
        try asking { try $0.account(externalID: externalID).map(Account.init) }
    }

    /// The account with the store's identifier, ``Account/id``, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func account(id: String) throws -> Account? {
        try asking { try $0.account(AccountID(id)).map(Account.init) }
    }

    /// The account that owns a verified e-mail address in any spelling, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func account(email: String) throws -> Account? {
        try asking { try $0.account(handle: .email(email)).map(Account.init) }
    }

    /// The account that owns a verified telephone number in any spelling, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func account(phoneNumber: String) throws -> Account? {
        try asking { try $0.account(handle: .phone(phoneNumber)).map(Account.init) }
    }

    /// The account whose user record has this name, or nil.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func account(userRecordName: String) throws -> Account? {
        try asking { try $0.account(userName: UserName(userRecordName)).map(Account.init) }
    }

    /// All accounts, in no particular order.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func accounts() throws -> [Account] {
        try asking { service in
            var accounts: [Account] = []
            var last: AccountID?
            repeat {
                let page = try service.accounts(after: last)
                accounts += page.accounts.map(Account.init)
                last = page.next
            } while last != nil
            return accounts
        }
    }

    /// The size of the account's private databases in bytes, including assets. The quota limits it (S-16).
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func usageByteCount(of account: Account) throws -> Int64 {
        try asking { try $0.usage(of: UserName(account.userRecordName)) }
    }

    /// The size of a container's public database in bytes, including assets. `publicQuotaByteCount` limits it. Public
    /// data belongs to the app, no matter who saved it (S-16).
    ///
    /// - Parameter identifier: The container.
    /// - Returns: The number of bytes; zero for a container without public records.
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func publicUsageByteCount(ofContainer identifier: String) throws -> Int64 {
        try asking { try $0.publicUsage(of: ContainerName(identifier)) }
    }

    // MARK: Making and changing

    /// Creates an account.
    ///
    /// - Parameters:
    ///   - account: Its properties.
    ///   - externalID: The host's identifier of the person; nil if the host knows them only by handle.
    /// - Returns: The account.
    /// - Throws: ``StratusError`` with `alreadyTaken` if the identifier or a handle belongs to another account, and
    ///   with `invalidArgument` for a malformed handle. Then nothing is created.
    public func createAccount(_ account: NewAccount, externalID: String? = nil) throws -> Account {
        try asking { Account(try $0.createAccount(account.draft(externalID: externalID))) }
    }

    /// Replaces all handles of an account. Verify them first.
    ///
    /// - Returns: The account after the change.
    /// - Throws: ``StratusError`` with `alreadyTaken`, `invalidArgument`, and `unknownAccount`. Then nothing is
    ///   changed.
    @discardableResult
    public func setHandles(
        emails: Set<String>, phoneNumbers: Set<String> = [], of account: Account
    ) throws -> Account {
        try asking {
            Account(
                try $0.changeAccount(account.accountID) {
                    $0.handles = .init(emails: emails, phoneNumbers: phoneNumbers)
                })
        }
    }

    /// Changes the name by which others know the person.
    ///
    /// - Returns: The account after the change.
    /// - Throws: ``StratusError`` with `unknownAccount`.
    @discardableResult
    public func setName(_ name: PersonNameComponents, of account: Account) throws -> Account {
        try asking { Account(try $0.changeAccount(account.accountID) { $0.name = PersonName(name) }) }
    }

    /// Suspends, restricts or restores an account. Posts `CKAccountChanged` for each container of the account.
    /// It applies from a client's next request.
    ///
    /// - Returns: The account after the change.
    /// - Throws: ``StratusError`` with `unknownAccount`.
    @discardableResult
    public func setStanding(_ standing: Standing, of account: Account) throws -> Account {
        let changed = try asking {
            Account(try $0.setStanding(AccountStanding(standing), of: account.accountID))
        }
        session.postAccountChange(of: [account.accountID])
        return changed
    }

    /// Changes whether others may find the person by a handle.
    ///
    /// - Returns: The account after the change.
    /// - Throws: ``StratusError`` with `unknownAccount`.
    @discardableResult
    public func setDiscoverable(_ isDiscoverable: Bool, of account: Account) throws -> Account {
        try asking { Account(try $0.changeAccount(account.accountID) { $0.isDiscoverable = isDiscoverable }) }
    }

    /// Changes how many bytes the person's private databases may hold; nil for the store's default. Existing data
    /// stays.
    ///
    /// - Returns: The account after the change.
    /// - Throws: ``StratusError`` with `unknownAccount`.
    @discardableResult
    public func setQuota(byteCount: Int64?, of account: Account) throws -> Account {
        try asking { Account(try $0.changeAccount(account.accountID) { $0.quotaByteCount = byteCount }) }
    }

    /// Deletes an account and **everything it owns in every container**, permanently. When this returns, none of it can
    /// be reached, and its long-lived operations are removed with the files they upload. Other data is removed from the
    /// disk in the background. If this throws, call it again to continue; the upkeep continues too.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`.
    public func deleteAccountWithAllData(_ account: Account) throws {
        try deleteAccountWithAllData(account, progress: nil)
    }

    /// The same, reporting how much was processed.
    package func deleteAccountWithAllData(_ account: Account, progress: FreeingProgress.Listener?) throws {
        let id = account.accountID
        try asking { try $0.deleteAccount(id, progress: progress) }
        session.hub.forget { $0.account == id }
        if session.account == id { session.signIn(nil, after: id) } else { session.postAccountChange(of: [id]) }
        upkeep.wake()
        try StratusError.wrapping { try session.longLived.forget(account.accountID) }
    }

    func asking<Result>(_ body: (CloudService) throws -> Result) throws -> Result {
        try StratusError.wrapping { try server.withService(body) }
    }

    // MARK: Signing in

    /// Signs an account in for all containers that were not created for a particular account, as a person signs in to
    /// iCloud on a device. Posts `CKAccountChanged` for each of these containers.
    ///
    /// - Throws: ``StratusError`` with `unknownAccount`.
    public func signIn(_ account: Account) throws {
        session.signIn(try existing(account.accountID).accountID)
    }

    func existing(_ id: AccountID) throws -> Account {
        guard let account = try account(id: id.text) else {
            throw StratusError(
                .unknownAccount, "The store has no such account. Create it, or fetch it again.", ["id": id.text])
        }
        return account
    }

    /// Signs out the current account. Posts `CKAccountChanged` as signing in does.
    public func signOut() { session.signIn(nil) }

    /// The current properties of the signed-in account; nil if there is none.
    public var signedInAccount: Account? {
        get throws {
            guard let id = session.account else { return nil }
            return try account(id: id.text)
        }
    }

    /// The standing of an account with the host.
    public enum Standing: Hashable, Sendable {
        /// The account may be used.
        case good
        /// Parental or managed restrictions: `CKAccountStatus.restricted`.
        case restricted
        /// The account must be verified again: `CKAccountStatus.temporarilyUnavailable`. Requests fail with
        /// `accountTemporarilyUnavailable`.
        case needsVerification
        /// The host has closed the account without deleting its data: `CKAccountStatus.noAccount`. Requests fail with
        /// `notAuthenticated`. The person stays in shares.
        case suspended

        init(_ standing: AccountStanding) {
            switch standing {
            case .good: self = .good
            case .restricted: self = .restricted
            case .needsVerification: self = .needsVerification
            case .suspended: self = .suspended
            }
        }
    }

    /// A person's account in every container of a store, as of the time of the call.
    ///
    /// It does not change later. `Stratus.account(id:)` returns the current properties.
    public struct Account: Hashable, Identifiable, Sendable {
        /// The store's own opaque identifier of the account.
        public let id: String
        /// The host's identifier of the person; nil if the host knows them only by handle.
        public let externalID: String?
        /// The record name of the person's user record in every container. Clients know the account by it.
        public let userRecordName: String
        /// The verified e-mail addresses, in lower case.
        public let emails: Set<String>
        /// The verified telephone numbers: digits, with a leading `+` if it was given.
        public let phoneNumbers: Set<String>
        /// The person's name, as others see it.
        public let name: PersonNameComponents
        /// The standing of the account.
        public let standing: Standing
        /// Whether others may find the person by a handle.
        public let isDiscoverable: Bool
        /// The most bytes that the person's private databases may hold, including assets; nil for the store's default.
        public let quotaByteCount: Int64?
        /// When the account was created.
        public let creationDate: Date

        var accountID: AccountID { AccountID(id) }

        init(_ account: StoredAccount) {
            id = account.id.text
            externalID = account.externalID
            userRecordName = account.userName.text
            emails = Set(account.handles.compactMap(\.email))
            phoneNumbers = Set(account.handles.compactMap(\.phoneNumber))
            name = PersonNameComponents(account.name)
            standing = Standing(account.standing)
            isDiscoverable = account.isDiscoverable
            quotaByteCount = account.quotaByteCount
            creationDate = account.created
        }
    }

    /// The properties of an account to create.
    public struct NewAccount: Hashable, Sendable {
        /// E-mail addresses that the host has verified.
        public var emails: Set<String>
        /// Telephone numbers that the host has verified.
        public var phoneNumbers: Set<String>
        /// The person's name, as others see it.
        public var name: PersonNameComponents
        /// The standing of the account.
        public var standing: Standing
        /// Whether others may find the person by a handle.
        public var isDiscoverable: Bool
        /// The most bytes that the person's private databases may hold; nil for the store's default.
        public var quotaByteCount: Int64?

        /// Creates a value with these properties.
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

extension Handle {
    var email: String? { if case .email(let address) = self { address } else { nil } }
    var phoneNumber: String? { if case .phone(let number) = self { number } else { nil } }
}

extension Set<Handle> {
    init(emails: Set<String>, phoneNumbers: Set<String>) {
        self = Set(emails.map { .email($0) } + phoneNumbers.map { .phone($0) })
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
