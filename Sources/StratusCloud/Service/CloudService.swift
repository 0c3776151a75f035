// The server. Each kind of request is an extension in its own file. Here are what the server gets from its host; what
// all requests share: planned faults, the event for the host, and the limits; and the host's calls about assets.

package import StratusModel
package import StratusRecords

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
    package let accountDirectory = AccountDirectory()
    /// The contents of assets; nil if none can be saved.
    package let assets: AssetStore?
    package let assetLedger: AssetLedger
    package let schemaKeeper = SchemaKeeper()
    package let acceptanceDirectory = AcceptanceDirectory()
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
        subscriptionDirectory = SubscriptionDirectory(byteCount: options.keptSubscriptionByteCount)
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
