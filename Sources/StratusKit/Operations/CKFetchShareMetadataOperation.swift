// Fetches what the server tells of shares by their URLs.

public import Foundation
import StratusCloud
import StratusModel

/// Fetches the metadata of shares by their URLs, in any container (M-01). It is added to a container.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Inputs {
        var shareURLs: [URL]?
        var shouldFetchRootRecord = false
        var rootRecordDesiredKeys: [CKRecord.FieldKey]?
    }

    struct Blocks {
        var metadata: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldMetadata: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
        var oldResult: (((any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// An operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// An operation that fetches the metadata of these.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    // MARK: Inputs

    /// The URLs. One that stands twice is asked for once.
    public final var shareURLs: [URL]? {
        get { locked { inputs.shareURLs } }
        set { configure(newValue) { swap(&inputs.shareURLs, &$0) } }
    }

    /// Whether the roots of hierarchies come along, which can be read before acceptance (M-02).
    public final var shouldFetchRootRecord: Bool {
        get { locked { inputs.shouldFetchRootRecord } }
        set { configure(newValue) { swap(&inputs.shouldFetchRootRecord, &$0) } }
    }

    /// The fields of the roots to fetch: nil for all, none for system fields alone (M-02).
    public final var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
        get { locked { inputs.rootRecordDesiredKeys } }
        set { configure(newValue) { swap(&inputs.rootRecordDesiredKeys, &$0) } }
    }

    // MARK: Blocks

    /// Called for every URL.
    public final var perShareMetadataResultBlock:
        ((_ shareURL: URL, _ shareMetadataResult: Result<CKShare.Metadata, any Error>) -> Void)?
    {
        get { locked { blocks.metadata } }
        set { configure(newValue) { swap(&blocks.metadata, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchShareMetadataResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every URL, unless `perShareMetadataResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perShareMetadataResultBlock.")
    public final var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { locked { blocks.oldMetadata } }
        set { configure(newValue) { swap(&blocks.oldMetadata, &$0) } }
    }

    /// Called last, once; URLs that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchShareMetadataResultBlock.")
    public final var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return FetchShareMetadataJob(inputs, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

/// What a `CKFetchShareMetadataOperation` does.
final class FetchShareMetadataJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let urls: [URL]
    private let inputs: CKFetchShareMetadataOperation.Inputs
    private let blocks: CKFetchShareMetadataOperation.Blocks
    private var answers = ItemAnswers<URL, CKShare.Metadata>()

    init(_ inputs: CKFetchShareMetadataOperation.Inputs, _ blocks: CKFetchShareMetadataOperation.Blocks) {
        urls = (inputs.shareURLs ?? []).withoutRepetitions()
        self.inputs = inputs
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        guard !urls.isEmpty else { return }
        let request = ShareMetadataRequest(
            urls: urls.map(\.absoluteString), wantsRootRecord: inputs.shouldFetchRootRecord,
            rootDesiredKeys: inputs.rootRecordDesiredKeys.map { Set($0) })
        let found = try context.server.answer(request, as: context.caller)
        answers.items = zip(urls, found.items).map { url, result in
            (url, result.map { context.metadata($0) }.mapError { context.clientError($0) })
        }
    }

    func deliver() {
        for (url, result) in answers.items {
            if let block = blocks.metadata {
                block(url, result.mapError { $0 })
            } else {
                blocks.oldMetadata?(url, try? result.get(), result.error)
            }
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        blocks.oldResult?(answers.error(result, "Failed to fetch some share metadata"))
    }
}
