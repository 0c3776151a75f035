// Who asks: the caller's account, its status, its user name, and what its data takes.

import FoundationEssentials
package import StratusModel
import StratusRecords

extension CloudService {
    /// The status of the caller's account. It never fails for lack of an account (O-18).
    ///
    /// Throws what a fault plan says, and the store's errors: a store that is closed or damaged does not know of accounts.
    package func accountStatus(of caller: Caller) throws(CloudError) -> AccountStatus {
        try reporting(.accountStatus, caller, itemCount: 1) { _ in
            guard let id = caller.account else { return .noAccount }
            return AccountVerdict.status(of: try account(id))
        }
    }

    /// The record name of the caller's user record.
    ///
    /// Throws `notAuthenticated` without an account (O-17), and as `requireAccount`.
    package func userName(of caller: Caller) throws(CloudError) -> UserName {
        try reporting(.userRecord, caller, itemCount: 1) { _ in try requireAccount(caller).userName }
    }

    /// Whether the host lets others find the caller.
    ///
    /// Throws as `userName`.
    package func isDiscoverable(_ caller: Caller) throws(CloudError) -> Bool {
        try reporting(.userRecord, caller, itemCount: 1) { _ in try requireAccount(caller).isDiscoverable }
    }

    /// The caller's account when it may be used now. Costs no look-up in the store when it has been asked for lately.
    ///
    /// Throws `notAuthenticated` when nobody is signed in or the account is gone or closed, `managedAccountRestricted`
    /// when it is restricted, `accountTemporarilyUnavailable` when it must be verified again (S-17).
    @discardableResult
    package func requireAccount(_ caller: Caller) throws(CloudError) -> Account {
        guard let id = caller.account else { throw AccountVerdict.notSignedIn }
        return try AccountVerdict.require(account(id))
    }

    /// The most bytes the private databases of an account may hold; nil for no limit (S-16).
    package func quotaLimit(of account: Account) -> Int64? { account.quotaByteCount ?? options.quotaByteCount }

    /// Whom the records of a zone are charged to, and what may be held: the zone's owner for private data, whoever writes
    /// it, the app for public data (S-16).
    func charged(
        for zone: ResolvedZone, _ caller: Account, in reader: RecordReader
    ) throws -> (owner: UserName, limit: Int64?) {
        guard let owner = zone.id.database.owner else { return (zone.assetOwner, options.publicQuotaByteCount) }
        let account =
            try owner == caller.userName ? caller : accountDirectory.account(userName: owner, in: reader)
        return (owner, account.map { quotaLimit(of: $0) } ?? options.quotaByteCount)
    }

    /// The bytes that the private databases of an owner hold.
    package func usage(of owner: UserName) throws(CloudError) -> Int64 {
        try reading { try QuotaLedger.usage(of: owner, in: $0) }
    }

    /// The bytes that the public database of a container holds.
    package func publicUsage(of container: ContainerName) throws(CloudError) -> Int64 {
        try usage(of: AssetStore.publicOwner(of: container))
    }
}

extension CloudService {
    /// Compares what is counted for an owner with what is there.
    package func verifyUsage(of owner: UserName) throws(CloudError) -> UsageReport {
        try reading { try QuotaLedger.verify(owner, in: $0) }
    }

    /// Sets an owner's counters to what is there, and says what it was before.
    @discardableResult
    package func recountUsage(of owner: UserName) throws(CloudError) -> UsageReport {
        let before = try verifyUsage(of: owner)
        try answering { try QuotaLedger.recount(owner, in: engine) }
        return before
    }
}

// Tokens by which a web service knows whose requests it gets: made for a client that says which service it is for, and
// told to the host by that service. A token is the account and the time of its making, sealed with the store's secret as
// change tokens are, for one container and one service: nothing is stored, and nobody else can make one.

extension CloudService {
    /// A token for the caller and the service that is known by `apiToken`: text that may stand in a URL.
    ///
    /// Throws `invalidArguments` without an `apiToken`, `notAuthenticated` and the like, a planned fault, and the store's
    /// failures.
    package func webAuthToken(apiToken: String, as caller: Caller) throws(CloudError) -> String {
        try reporting(.fetchWebAuthToken, caller, itemCount: 1) { _ in
            let account = try requireAccount(caller)
            guard !apiToken.isEmpty else {
                throw CloudError(.invalidArguments, "A web token is for a service: say which by its API token.")
            }
            let claim = WebClaim(apiToken: apiToken, account: account.id, made: environment.clock.now)
            let bytes = try tokenKeeper.seal(of: engine, environment.identifiers)
                .sealed(claim.content, .web, for: Self.binding(caller.container))
            return Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
    }

    /// Whose token this is: nil for what was not made here for just this container and service, for one that is older than
    /// so many seconds, and where the account is gone or not in good standing.
    package func account(
        ofWebAuthToken token: String, apiToken: String, container: ContainerName, maximumAgeSeconds: Double
    ) throws(CloudError) -> Account? {
        try answering {
            let text = token.replacing("-", with: "+").replacing("_", with: "/")
            let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            guard let data = Data(base64Encoded: text + padding) else { return nil }
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            guard let content = seal.opened([UInt8](data), .web, for: Self.binding(container)),
                let claim = try? WebClaim(content), claim.apiToken.utf8.elementsEqual(apiToken.utf8),
                environment.clock.now.timeIntervalSince(claim.made) <= maximumAgeSeconds
            else { return nil }
            let known = try self.account(claim.account)
            return AccountVerdict.status(of: known) == .available ? known : nil
        }
    }

    /// A web token is of no database.
    private static func binding(_ container: ContainerName) -> TokenBinding {
        TokenBinding(user: nil, container: container, database: .private)
    }
}

/// What a web token says.
private struct WebClaim {
    private static let version: UInt8 = 1

    var apiToken: String
    var account: AccountID
    var made: Date

    init(apiToken: String, account: AccountID, made: Date) {
        self.apiToken = apiToken
        self.account = account
        self.made = made
    }

    var content: [UInt8] {
        var writer = CursorWriter()
        writer.append(byte: Self.version)
        writer.append(apiToken)
        writer.append(account.text)
        writer.append(made.timeIntervalSinceReferenceDate)
        return writer.bytes
    }

    /// Throws `CursorReader.Failure` for what is none.
    init(_ content: [UInt8]) throws(CursorReader.Failure) {
        var reader = CursorReader(content)
        guard try reader.readByte() == Self.version else { throw CursorReader.Failure() }
        apiToken = try reader.readText()
        account = AccountID(try reader.readText())
        made = Date(timeIntervalSinceReferenceDate: try reader.readDouble())
        try reader.expectEnd()
    }
}
