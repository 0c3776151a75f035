// Looks for other people, by what is known of them.

import Foundation
import StratusCloud
import StratusModel

/// Looks for people by e-mail address, telephone number or user record. Only those are found who want to be.
@available(*, deprecated, message: "Use CKContainer.shareParticipants(for:).")
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var lookupInfos: [CKUserIdentity.LookupInfo] = []
    private var blocks = DiscoveryBlocks()

    /// An operation that looks for nobody.
    public override init() { super.init() }

    /// An operation that looks for these.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// Who to look for.
    public final var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] {
        get { locked { lookupInfos } }
        set { configure(newValue) { swap(&lookupInfos, &$0) } }
    }

    /// Called for everybody who was found.
    public final var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)? {
        get { locked { blocks.discovered } }
        set { configure(newValue) { swap(&blocks.discovered, &$0) } }
    }

    /// Called last, once.
    public final var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once.
    public final var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (lookupInfos, blocks) = locked { (self.lookupInfos, self.blocks) }
        return DiscoveryJob(lookupInfos, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(DiscoveryBlocks()) { swap(&blocks, &$0) }
    }
}

/// Looks for the people in the address book. There is none here, so nobody is found.
@available(*, deprecated, message: "There is no address book to look in.")
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var discovered: ((CKUserIdentity) -> Void)?
    private var blocks = DiscoveryBlocks()

    /// An operation that looks for everybody in the address book.
    public override init() { super.init() }

    /// Called for everybody who was found.
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
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        DiscoveryJob([], locked { blocks })
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(nil) { swap(&discovered, &$0) }
        replace(DiscoveryBlocks()) { swap(&blocks, &$0) }
    }
}

/// The blocks of both operations.
struct DiscoveryBlocks {
    var discovered: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
    var oldResult: (((any Error)?) -> Void)?
}

/// Looks for people.
final class DiscoveryJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let lookupInfos: [CKUserIdentity.LookupInfo]
    private let blocks: DiscoveryBlocks
    private var found: [DiscoveredIdentity?] = []

    init(_ lookupInfos: [CKUserIdentity.LookupInfo], _ blocks: DiscoveryBlocks) {
        self.lookupInfos = lookupInfos
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        guard !lookupInfos.isEmpty else { return }
        found = try context.server.answer(DiscoverUsersRequest(lookupInfos.map(\.lookup)), as: context.caller)
    }

    func deliver() {
        for (lookupInfo, found) in zip(lookupInfos, found) {
            guard let found else { continue }
            blocks.discovered?(CKUserIdentity(found, lookupInfo: lookupInfo), lookupInfo)
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        switch result {
        case .success: blocks.oldResult?(nil)
        case .failure(let error): blocks.oldResult?(error)
        }
    }
}
