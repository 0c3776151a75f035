// Operations on identities: participants to invite, people to discover, and tokens for web services.

import StratusCloud

/// Fetches people to invite, by e-mail address, telephone number or user record (P-01). People without an account can
/// be invited by a handle too.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var lookupInfos: [CKUserIdentity.LookupInfo]?
    private var blocks = ItemBlocks<CKUserIdentity.LookupInfo, CKShare.Participant>()

    /// Creates an operation without people, which succeeds at once (O-15).
    public override init() { super.init() }

    /// Creates an operation that fetches these items.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// The people to fetch. A duplicate is fetched once.
    public final var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
        get { locked { lookupInfos } }
        set { configure(newValue) { swap(&lookupInfos, &$0) } }
    }

    /// Called for every person.
    public final var perShareParticipantResultBlock:
        (
            (
                _ lookupInfo: CKUserIdentity.LookupInfo,
                _ shareParticipantResult: Result<CKShare.Participant, any Error>
            ) -> Void
        )?
    {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchShareParticipantsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every person fetched, unless `perShareParticipantResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perShareParticipantResultBlock.")
    public final var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { locked { blocks.oldSuccess } }
        set { configure(newValue) { swap(&blocks.oldSuccess, &$0) } }
    }

    /// Called last, once. If people could not be fetched, the error is `partialFailure`.
    @available(*, deprecated, message: "Use fetchShareParticipantsResultBlock.")
    public final var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldEnd } }
        set { configure(newValue) { swap(&blocks.oldEnd, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (lookupInfos, blocks) = locked { ((self.lookupInfos ?? []).withoutRepetitions(), self.blocks) }
        return ItemsJob(blocks, itemCount: lookupInfos.count, failure: "Failed to fetch some share participants") {
            context, answers in
            let found = try context.server.answer(
                ShareParticipantsRequest(lookupInfos.map(\.lookup)), as: context.caller)
            answers.items = context.results(lookupInfos, found.items) {
                CKShareParticipant($0, viewer: context.caller.account)
            }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

// Discovery of other people.

/// Searches for people by e-mail address, telephone number or user record. It finds only people who can be discovered.
@available(*, deprecated, message: "Use CKContainer.shareParticipants(for:).")
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var lookupInfos: [CKUserIdentity.LookupInfo] = []
    private var discovered: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    private var blocks = ItemBlocks<CKUserIdentity.LookupInfo, CKUserIdentity>()

    /// Creates an operation without people.
    public override init() { super.init() }

    /// Creates an operation that searches for these people.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// The people to search for.
    public final var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] {
        get { locked { lookupInfos } }
        set { configure(newValue) { swap(&lookupInfos, &$0) } }
    }

    /// Called for every person found.
    public final var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)? {
        get { locked { discovered } }
        set { configure(newValue) { swap(&discovered, &$0) } }
    }

    /// Called last, once.
    public final var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once.
    public final var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldEnd } }
        set { configure(newValue) { swap(&blocks.oldEnd, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        var (lookupInfos, discovered, blocks) = locked { (self.lookupInfos, self.discovered, self.blocks) }
        blocks.item = { lookupInfo, result in if let found = try? result.get() { discovered?(found, lookupInfo) } }
        return ItemsJob(blocks, itemCount: lookupInfos.count, failure: "Failed to discover some users") {
            context, answers in
            let found = try context.server.answer(DiscoverUsersRequest(lookupInfos.map(\.lookup)), as: context.caller)
            answers.items = zip(lookupInfos, found).compactMap { lookupInfo, found in
                found.map { (lookupInfo, .success(CKUserIdentity($0, lookupInfo: lookupInfo))) }
            }
        }
    }

    override func dropBlocks() {
        replace(nil) { swap(&discovered, &$0) }
        replace(.init()) { swap(&blocks, &$0) }
    }
}

/// Searches for the people in the address book. There is no address book here, so the operation finds no one.
@available(*, deprecated, message: "There is no address book to search.")
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var discovered: ((CKUserIdentity) -> Void)?
    private var blocks = ItemBlocks<CKUserIdentity.LookupInfo, CKUserIdentity>()

    /// Creates an operation that searches for all people in the address book.
    public override init() { super.init() }

    /// Called for every person found.
    public final var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)? {
        get { locked { discovered } }
        set { configure(newValue) { swap(&discovered, &$0) } }
    }

    /// Called last, once.
    public final var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once.
    public final var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldEnd } }
        set { configure(newValue) { swap(&blocks.oldEnd, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        ItemsJob(locked { blocks }, itemCount: 0, failure: "Failed to discover some users") { _, _ in }
    }

    override func dropBlocks() {
        replace(nil) { swap(&discovered, &$0) }
        replace(.init()) { swap(&blocks, &$0) }
    }
}

// Tokens for web services.

/// Fetches a token for a web service of the host. The service passes it to the host, which finds its account
/// (`Stratus.account(webAuthToken:apiToken:container:notOlderThan:)`). The token is opaque, cannot be guessed, and is
/// valid for one container and one service. Apple's services do not accept it.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var service: String?
    private var blocks = Blocks()

    struct Blocks {
        var result: ((Result<String, any Error>) -> Void)?
        var oldResult: ((String?, (any Error)?) -> Void)?
    }

    /// Creates an operation that fails with `invalidArguments` unless you set an API token.
    public override init() { super.init() }

    /// Creates an operation for a service.
    /// - Parameter apiToken: The name of the service.
    public convenience init(apiToken: String) {
        self.init()
        self.apiToken = apiToken
    }

    /// The name of the service: text that host and service have agreed on.
    public final var apiToken: String? {
        get { locked { service } }
        set { configure(newValue) { swap(&service, &$0) } }
    }

    /// Called last, once, with the token.
    public final var fetchWebAuthTokenResultBlock: ((_ operationResult: Result<String, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with the token.
    @available(*, deprecated, message: "Use fetchWebAuthTokenResultBlock.")
    public final var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (service, blocks) = locked { (self.service, self.blocks) }
        return AnswerJob { context in
            try context.server.answer(FetchWebAuthTokenRequest(apiToken: service ?? ""), as: context.caller)
        } conclude: { token in
            blocks.result?(token.mapError { $0 })
            blocks.oldResult?(try? token.get(), token.error)
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
