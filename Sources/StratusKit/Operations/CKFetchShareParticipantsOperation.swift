// Fetches people as participants of shares that they are not in yet.

import Foundation
import StratusCloud

/// Fetches people who are to be invited, by e-mail address, telephone number or user record (P-01). Whoever has no account
/// can be invited by a handle too.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Blocks {
        var participant: ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldParticipant: ((CKShare.Participant) -> Void)?
        var oldResult: (((any Error)?) -> Void)?
    }

    private var lookupInfos: [CKUserIdentity.LookupInfo]?
    private var blocks = Blocks()

    /// An operation that fetches nobody, which succeeds at once (O-15).
    public override init() { super.init() }

    /// An operation that fetches these.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// Whom to fetch. Somebody who stands twice is fetched once.
    public final var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
        get { locked { lookupInfos } }
        set { configure(newValue) { swap(&lookupInfos, &$0) } }
    }

    /// Called for everybody.
    public final var perShareParticipantResultBlock:
        (
            (
                _ lookupInfo: CKUserIdentity.LookupInfo,
                _ shareParticipantResult: Result<CKShare.Participant, any Error>
            ) -> Void
        )?
    {
        get { locked { blocks.participant } }
        set { configure(newValue) { swap(&blocks.participant, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchShareParticipantsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for everybody who was fetched, unless `perShareParticipantResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perShareParticipantResultBlock.")
    public final var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { locked { blocks.oldParticipant } }
        set { configure(newValue) { swap(&blocks.oldParticipant, &$0) } }
    }

    /// Called last, once; people who could not be fetched make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchShareParticipantsResultBlock.")
    public final var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (lookupInfos, blocks) = locked { (self.lookupInfos ?? [], self.blocks) }
        return FetchShareParticipantsJob(lookupInfos, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

/// What a `CKFetchShareParticipantsOperation` does.
final class FetchShareParticipantsJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let lookupInfos: [CKUserIdentity.LookupInfo]
    private let blocks: CKFetchShareParticipantsOperation.Blocks
    private var answers = ItemAnswers<CKUserIdentity.LookupInfo, CKShare.Participant>()

    init(_ lookupInfos: [CKUserIdentity.LookupInfo], _ blocks: CKFetchShareParticipantsOperation.Blocks) {
        self.lookupInfos = lookupInfos.withoutRepetitions()
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        guard !lookupInfos.isEmpty else { return }
        let found = try context.server.answer(
            ShareParticipantsRequest(lookupInfos.map(\.lookup)), as: context.caller)
        answers.items = zip(lookupInfos, found.items).map { lookupInfo, result in
            let participant = result.map { CKShareParticipant($0, viewer: context.caller.account) }
            return (lookupInfo, participant.mapError { context.clientError($0) })
        }
    }

    func deliver() {
        for (lookupInfo, result) in answers.items {
            if let block = blocks.participant {
                block(lookupInfo, result.mapError { $0 })
            } else if let participant = try? result.get() {
                blocks.oldParticipant?(participant)
            }
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        blocks.oldResult?(answers.error(result, "Failed to fetch some share participants"))
    }
}
