// Operations on shares by their URLs: fetching metadata, accepting, and requesting access.

public import Foundation
import StratusCloud
import StratusModel

/// Fetches the metadata of shares by their URLs, in any container (M-01). Add the operation to a container.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var urls: [URL]?
    private var wantsRoot = false
    private var rootKeys: [CKRecord.FieldKey]?
    private var blocks = ItemBlocks<URL, CKShare.Metadata>()

    /// Creates an operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// Creates an operation that fetches the metadata of these shares.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    // MARK: Inputs

    /// The URLs. A duplicate is requested once.
    public final var shareURLs: [URL]? {
        get { locked { urls } }
        set { configure(newValue) { swap(&urls, &$0) } }
    }

    /// Whether to include the roots of hierarchies, which can be read before acceptance (M-02).
    public final var shouldFetchRootRecord: Bool {
        get { locked { wantsRoot } }
        set { configure(newValue) { swap(&wantsRoot, &$0) } }
    }

    /// The fields of the roots to fetch: nil for all, an empty list for the system fields alone (M-02).
    public final var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
        get { locked { rootKeys } }
        set { configure(newValue) { swap(&rootKeys, &$0) } }
    }

    // MARK: Blocks

    /// Called for every URL.
    public final var perShareMetadataResultBlock:
        ((_ shareURL: URL, _ shareMetadataResult: Result<CKShare.Metadata, any Error>) -> Void)?
    {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchShareMetadataResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every URL, unless `perShareMetadataResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perShareMetadataResultBlock.")
    public final var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { locked { blocks.oldItem } }
        set { configure(newValue) { swap(&blocks.oldItem, &$0) } }
    }

    /// Called last, once. If any URLs failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use fetchShareMetadataResultBlock.")
    public final var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldEnd } }
        set { configure(newValue) { swap(&blocks.oldEnd, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (urls, wantsRoot, rootKeys, blocks) = locked {
            ((self.urls ?? []).withoutRepetitions(), self.wantsRoot, self.rootKeys, self.blocks)
        }
        return ItemsJob(blocks, itemCount: urls.count, failure: "Failed to fetch some share metadata") {
            context, answers in
            let request = ShareMetadataRequest(
                urls: urls.map(\.absoluteString), wantsRootRecord: wantsRoot,
                rootDesiredKeys: rootKeys.map { Set($0) })
            let found = try context.server.answer(request, as: context.caller)
            answers.items = context.results(urls, found.items) { context.metadata($0) }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

// Accepts shares.

/// Accepts shares whose metadata was fetched. Add the operation to the container that the metadata names (M-01).
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var metadatas: [CKShare.Metadata]?
    private var blocks = ItemBlocks<CKShare.Metadata, CKShare>()

    /// Creates an operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// Creates an operation that accepts these shares.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    /// The shares to accept. A duplicate is accepted once; accepting a share again changes nothing (M-06).
    public final var shareMetadatas: [CKShare.Metadata]? {
        get { locked { metadatas } }
        set { configure(newValue) { swap(&metadatas, &$0) } }
    }

    /// Called for every share, with the share as the user now sees it (M-06).
    public final var perShareResultBlock:
        ((_ shareMetadata: CKShare.Metadata, _ acceptedShareResult: Result<CKShare, any Error>) -> Void)?
    {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var acceptSharesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every share, unless `perShareResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perShareResultBlock.")
    public final var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
        get { locked { blocks.oldItem } }
        set { configure(newValue) { swap(&blocks.oldItem, &$0) } }
    }

    /// Called last, once. If any shares failed, the error is `partialFailure`, by their URLs.
    @available(*, deprecated, message: "Use acceptSharesResultBlock.")
    public final var acceptSharesCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldEnd } }
        set { configure(newValue) { swap(&blocks.oldEnd, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (metadatas, blocks) = locked { ((self.metadatas ?? []).withoutRepetitions(), self.blocks) }
        return ItemsJob(
            blocks, itemCount: metadatas.count, failure: "Failed to accept some shares", errorKey: { $0.itemURL }
        ) { context, answers in
            let found = try context.server.answer(
                AcceptSharesRequest(urls: metadatas.map(\.facts.url)), as: context.caller)
            answers.items = context.results(metadatas, found.items) { context.share($0) }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

extension CKShareMetadata {
    /// The key of the share's error: its URL.
    fileprivate var itemURL: URL { share.url ?? URL(string: facts.url) ?? URL(fileURLWithPath: "/") }
}

extension RequestContext {
    /// Where a record of a shared hierarchy or zone belongs, regardless of the operation's database.
    private func sharedOrigin(_ answer: ClientRecord, in container: ContainerName) -> RecordOrigin {
        let isOwn = answer.address.zone.ownerName == CKCurrentUserDefaultName
        return RecordOrigin(container: container, database: isOwn ? .private : .shared, account: caller.account)
    }

    /// A share that was accepted.
    func share(_ answer: ClientRecord) -> CKShare {
        CKShare(share: answer, origin: sharedOrigin(answer, in: caller.container))
    }

    /// The metadata of a share. The files of a root's assets are copied on demand from the share's container.
    func metadata(_ answer: ClientShareMetadata) -> CKShareMetadata {
        let origin = sharedOrigin(answer.share, in: answer.container)
        let root = answer.rootRecord.map { record in
            let there = Caller(container: answer.container, account: caller.account)
            return CKRecord.from(
                record, origin: origin, download: HandedOutCopies(server, as: there, in: origin.database))
        }
        return CKShareMetadata(answer, share: CKShare(share: answer.share, origin: origin), root: root)
    }
}

// Requests for access.

/// Requests access to shares by their URLs (P-20). Success means only that the owners can see the request (P-22).
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var urls: [URL]?
    private var blocks = ItemBlocks<URL, Void>()

    /// Creates an operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// Creates an operation that requests access to these shares.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The URLs. A duplicate is requested once.
    public final var shareURLs: [URL]? {
        get { locked { urls } }
        set { configure(newValue) { swap(&urls, &$0) } }
    }

    /// Called for every URL.
    public final var perShareAccessRequestResultBlock:
        ((_ shareURL: URL, _ shareRequestAccessResult: Result<Void, any Error>) -> Void)?
    {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var shareAccessRequestResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (urls, blocks) = locked { ((self.urls ?? []).withoutRepetitions(), self.blocks) }
        return ItemsJob(blocks, itemCount: urls.count, failure: "Failed to request access to some shares") {
            context, answers in
            let answered = try context.server.answer(
                RequestShareAccessRequest(urls: urls.map(\.absoluteString)), as: context.caller)
            answers.items = context.results(urls, answered.items) { _ in }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
