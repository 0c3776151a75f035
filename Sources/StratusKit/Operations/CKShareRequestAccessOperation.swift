// Asks the owners of shares for access.

public import Foundation
import StratusCloud

/// Asks for access to shares by their URLs (P-20). That it succeeds says only that the owners can see the request (P-22).
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Blocks {
        var request: ((URL, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
    }

    private var urls: [URL]?
    private var blocks = Blocks()

    /// An operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// An operation that asks for access to these.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The URLs. One that stands twice is asked for once.
    public final var shareURLs: [URL]? {
        get { locked { urls } }
        set { configure(newValue) { swap(&urls, &$0) } }
    }

    /// Called for every URL.
    public final var perShareAccessRequestResultBlock:
        ((_ shareURL: URL, _ shareRequestAccessResult: Result<Void, any Error>) -> Void)?
    {
        get { locked { blocks.request } }
        set { configure(newValue) { swap(&blocks.request, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var shareAccessRequestResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (urls, blocks) = locked { (self.urls ?? [], self.blocks) }
        return ShareRequestAccessJob(urls, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

/// What a `CKShareRequestAccessOperation` does.
final class ShareRequestAccessJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let urls: [URL]
    private let blocks: CKShareRequestAccessOperation.Blocks
    private var answers: [(url: URL, result: Result<Void, CKError>)] = []

    init(_ urls: [URL], _ blocks: CKShareRequestAccessOperation.Blocks) {
        self.urls = urls.withoutRepetitions()
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        guard !urls.isEmpty else { return }
        let answered = try context.server.answer(
            RequestShareAccessRequest(urls: urls.map(\.absoluteString)), as: context.caller)
        answers = zip(urls, answered.items).map { ($0, $1.mapError { context.clientError($0) }) }
    }

    func deliver() {
        for (url, result) in answers { blocks.request?(url, result.mapError { $0 }) }
    }

    func conclude(_ result: Result<Void, CKError>) { blocks.result?(result.mapError { $0 }) }
}
