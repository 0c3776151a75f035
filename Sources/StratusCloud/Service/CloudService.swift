// The server. Each kind of request is an extension in its own file. Here are what the server gets from its host; what
// all requests share: planned faults, the event for the host, and the limits; and the host's calls about assets.

import FoundationEssentials
package import StratusModel
package import StratusRecords
import StratusStore

/// What a server gets from its host.
package struct CloudEnvironment: Sendable {
    package var clock: any CloudClock
    package var identifiers: any IdentifierSource
    package var faults: (any FaultSource)?
    /// Called after every request; must be quick.
    package var onEvent: (@Sendable (CloudEvent) -> Void)?
    /// Called for each invited person, after the commit; must be quick.
    package var onInvitation: (@Sendable (ShareInvitation) -> Void)?
    /// Called after a commit if `deliverNotifications` has something to do; must be quick.
    package var onSomethingToDeliver: (@Sendable () -> Void)?

    package init(
        clock: any CloudClock, identifiers: any IdentifierSource, faults: (any FaultSource)? = nil,
        onEvent: (@Sendable (CloudEvent) -> Void)? = nil, onInvitation: (@Sendable (ShareInvitation) -> Void)? = nil,
        onSomethingToDeliver: (@Sendable () -> Void)? = nil
    ) {
        self.clock = clock
        self.identifiers = identifiers
        self.faults = faults
        self.onEvent = onEvent
        self.onInvitation = onInvitation
        self.onSomethingToDeliver = onSomethingToDeliver
    }
}

/// The server's rules over one store, for all its accounts and containers.
///
/// Requests block their thread until their commits are durable. Never call them on the cooperative pool.
package final class CloudService: Sendable {
    package let engine: RecordEngine
    package let environment: CloudEnvironment
    package let options: CloudOptions
    package let accountDirectory: AccountDirectory
    /// The contents of assets; nil if none can be saved.
    package let assets: AssetStore?
    package let assetLedger: AssetLedger
    package let schemaKeeper: SchemaKeeper
    package let acceptanceDirectory: AcceptanceDirectory
    package let tokenKeeper = TokenKeeper()
    package let subscriptionDirectory: SubscriptionDirectory
    package let deliveryBell = DeliveryBell()
    let unknownFields: UnknownFields

    package init(
        engine: RecordEngine, environment: CloudEnvironment, options: CloudOptions = .init(), assets: AssetStore? = nil
    ) {
        self.engine = engine
        self.environment = environment
        self.options = options
        self.assets = assets
        assetLedger = AssetLedger(store: assets)
        unknownFields = UnknownFields(incarnation: engine.openedIncarnation)
        let role = engine.store.cacheRole
        accountDirectory = AccountDirectory(role: role)
        schemaKeeper = SchemaKeeper(role: role)
        acceptanceDirectory = AcceptanceDirectory(role: role)
        subscriptionDirectory = SubscriptionDirectory(byteCount: options.keptSubscriptionByteCount, role: role)
    }

    /// The journal for changes of a caller, or of the host.
    func journal(_ origin: Caller? = nil) -> CommitJournal {
        CommitJournal(
            directory: subscriptionDirectory, schemas: schemaKeeper, mode: options.schemaMode,
            metresPerUnit: options.queryDistanceUnitMetres, bell: deliveryBell, origin: origin)
    }

    /// The identities and the stamp of a new zone; drawn before the transaction.
    func makeBirth(by user: UserName) -> ZoneBirth {
        ZoneBirth(
            identity: environment.identifiers.makeUUID(), incarnation: environment.identifiers.makeUUID(),
            stamp: Stamp(date: environment.clock.now, user: user),
            databaseIdentity: environment.identifiers.makeUUID())
    }

    /// Notifies the host of pending deliveries and of unknown fields in queries. Call it when no lock or snapshot is
    /// held.
    func tellOfDeliveries() {
        for warning in unknownFields.takeWarnings() { environment.onEvent?(warning) }
        if deliveryBell.hasRung() { environment.onSomethingToDeliver?() }
    }
}

extension CloudService {
    /// Checks for a planned fault, runs `body`, checks for a fault that loses the answer (S-21), and sends the host's
    /// event.
    func reporting<Result>(
        _ kind: RequestKind, _ caller: Caller, itemCount: Int,
        _ body: (inout CloudEvent) throws -> Result
    ) throws(CloudError) -> Result {
        let start = environment.clock.uptimeSeconds
        var event = CloudEvent(kind: kind, caller: caller, itemCount: itemCount)
        defer {
            event.durationSeconds = environment.clock.uptimeSeconds - start
            environment.onEvent?(event)
            tellOfDeliveries()
        }
        do {
            if let fault = environment.faults?.error(at: .request(kind, caller)) { throw fault }
            let result = try body(&event)
            if let fault = environment.faults?.error(at: .response(kind, caller)) { throw fault }
            return result
        } catch {
            let error = CloudError(answering: error)
            event.error = error
            throw error
        }
    }
}

extension CloudEvent {
    /// Counts the failed items of an answer.
    mutating func count<Value>(_ results: [Result<Value, CloudError>]) {
        for case .failure(let error) in results {
            failedItemCount += 1
            if error.code == .serverRecordChanged { conflictCount += 1 }
        }
    }
}

extension CloudService {
    /// The limits of one request (L-01).
    package func requestLimits() -> RequestSize { RequestSize(options) }

    /// Whether a file is too large for an asset (L-04); false for a file that cannot be read.
    package func isTooLarge(fileAt path: String) -> Bool {
        guard let assets else { return false }
        do throws(CloudError) {
            _ = try assets.byteCount(ofFile: path)
            return false
        } catch {
            return error.code == .limitExceeded
        }
    }
}

// MARK: Assets

extension CloudService {
    /// Notes that no client's object refers to these copies any longer. They are removed after a wait, and `unseen`,
    /// whose paths no client knows, without a wait. Returns at once.
    package func releaseCopies(_ paths: [String], unseen: [String] = []) {
        assets?.releasedCopies.add(paths, unseen: unseen)
    }

    /// The owner of a database's assets: its owner, or the app for a public one.
    package static func assetOwner(of database: DatabaseID) -> UserName {
        database.owner ?? AssetLedger.publicOwner(of: database.container)
    }

    /// Removes contents that lost their last record, or never got one, in this session, and step by step those that
    /// earlier sessions left. Call it repeatedly in the background.
    ///
    /// Returns how many were removed. Throws like `AssetCollector.collect`.
    @discardableResult
    package func collectAssets(shouldContinue: () -> Bool = { true }) throws -> Int {
        guard let assets else { return 0 }
        return try AssetCollector(engine: engine, store: assets).collect(shouldContinue: shouldContinue)
    }

    /// The problems of the assets: files against ledger, ledger against records. Has the first
    /// `VerifierReport.maximumCount` findings of each kind.
    package func verifyAssets(readsContents: Bool = true) throws -> [AssetFinding] {
        guard let assets else { return [] }
        let verifier = AssetVerifier(engine: engine, store: assets)
        let files = try verifier.verify(readsContents: readsContents)
        return try verifier.verifyCounts(addingTo: files) { Self.assetOwner(of: $0) }.findings
    }
}

extension ResolvedZone {
    /// The owner of the zone's records and assets.
    var assetOwner: UserName { CloudService.assetOwner(of: id.database) }
}

// The caller of a request: the account, its status, user name and quota; and web tokens, by which a web service knows
// the account of a request.

extension CloudService {
    /// The status of the caller's account. It never fails because an account is missing (O-18).
    ///
    /// Throws a planned fault, and the store's errors: a closed or damaged store cannot look up accounts.
    package func accountStatus(of caller: Caller) throws(CloudError) -> AccountStatus {
        try reporting(.accountStatus, caller, itemCount: 1) { _ in
            guard let id = caller.account else { return .noAccount }
            return AccountVerdict.status(of: try account(id))
        }
    }

    /// The record name of the caller's user record.
    ///
    /// Throws `notAuthenticated` without an account (O-17), and like `requireAccount`.
    package func userName(of caller: Caller) throws(CloudError) -> UserName {
        try reporting(.userRecord, caller, itemCount: 1) { _ in try requireAccount(caller).userName }
    }

    /// The caller's account, if it may be used now. Needs no look-up in the store if the cache has it.
    ///
    /// Throws `notAuthenticated` if no account is signed in or it was deleted or closed, `managedAccountRestricted` if
    /// it is restricted, `accountTemporarilyUnavailable` if it must be verified again (S-17).
    @discardableResult
    package func requireAccount(_ caller: Caller) throws(CloudError) -> StoredAccount {
        guard let id = caller.account else { return try AccountVerdict.require(nil) }
        return try AccountVerdict.require(account(id))
    }

    /// The caller's account before a request, which requires it again in its snapshot or transaction. Only the second
    /// one decides; so where caches guess, a guess that lets the request go on is enough. Use no more of it than the
    /// names, which never change.
    @discardableResult
    func claimedAccount(of caller: Caller) throws(CloudError) -> StoredAccount {
        if let id = caller.account, let guess = accountDirectory.cache.guess(for: id), guess.standing == .good {
            return guess
        }
        return try requireAccount(caller)
    }

    /// The account, or nil if there is none. Needs no look-up if the cache has it.
    package func account(_ id: AccountID) throws(CloudError) -> StoredAccount? {
        if let known = accountDirectory.cache.newest(for: id) { return known }
        return try reading { try accountDirectory.account(id, in: $0) }
    }

    /// Bytes that the private databases of an account may hold; nil for no limit (S-16).
    package func quotaLimit(of account: StoredAccount) -> Int64? { account.quotaByteCount ?? options.quotaByteCount }

    /// The owner who is charged for the records of a zone, and their limit: the zone's owner for private data by any
    /// writer, the app for public data (S-16).
    func charged(
        for zone: ResolvedZone, _ caller: StoredAccount, in reader: RecordReader
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
        try usage(of: AssetLedger.publicOwner(of: container))
    }
}

extension CloudService {
    /// Compares an owner's counters with what their zones hold.
    package func verifyUsage(of owner: UserName) throws(CloudError) -> UsageReport {
        try reading { try QuotaLedger.verify(owner, in: $0) }
    }
}

// MARK: Web tokens

extension CloudService {
    /// A token for the caller and the service with this `apiToken`, as text that is valid in a URL. The client passes
    /// it to the service, and the service to the host.
    ///
    /// A token is the account and the time, sealed like a change token for one container and one service. It is
    /// not stored, and nothing else can create one.
    ///
    /// Throws `invalidArguments` without an `apiToken`, `notAuthenticated` and similar errors, a planned fault, and the
    /// store's failures.
    package func webAuthToken(apiToken: String, as caller: Caller) throws(CloudError) -> String {
        try reporting(.fetchWebAuthToken, caller, itemCount: 1) { _ in
            let account = try requireAccount(caller)
            guard !apiToken.isEmpty else {
                throw CloudError(.invalidArguments, "A web token needs the API token of its service.")
            }
            let claim = WebClaim(apiToken: apiToken, account: account.id, made: environment.clock.now)
            let bytes = try tokenKeeper.seal(of: engine, environment.identifiers)
                .sealed(claim.content, .web, for: Self.binding(caller.container))
            return Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
    }

    /// The account of a token; nil if it is not from this store for this container and service, if it is older than
    /// `maximumAgeSeconds`, or if the account was deleted or may not be used.
    package func account(
        ofWebAuthToken token: String, apiToken: String, container: ContainerName, maximumAgeSeconds: Double
    ) throws(CloudError) -> StoredAccount? {
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

    /// The database does not matter for web tokens.
    private static func binding(_ container: ContainerName) -> TokenBinding {
        TokenBinding(user: nil, container: container, database: .private)
    }
}

/// The content of a web token.
private struct WebClaim {
    private static let version: UInt8 = 1

    var apiToken: String
    var account: AccountID
    var made: Date

    var content: [UInt8] {
        var writer = CursorWriter()
        writer.append(byte: Self.version)
        writer.append(apiToken)
        writer.append(account.text)
        writer.append(made.timeIntervalSinceReferenceDate)
        return writer.bytes
    }
}

extension WebClaim {
    /// Throws `CursorReader.Failure` for other bytes.
    init(_ content: [UInt8]) throws {
        var reader = CursorReader(content)
        guard try reader.readByte() == Self.version else { throw CursorReader.Failure() }
        apiToken = try reader.readText()
        account = AccountID(try reader.readText())
        made = Date(timeIntervalSinceReferenceDate: try reader.readDouble())
        try reader.expectEnd()
    }
}
