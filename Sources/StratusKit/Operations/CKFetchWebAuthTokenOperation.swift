// Fetches a token by which a web service knows whose requests it gets.

import Foundation
import StratusCloud
import StratusStore

/// Fetches a token for a web service of the host: the service shows it to the host, which says whose it is
/// (`Stratus.account(webAuthToken:apiToken:container:notOlderThan:)`). It is opaque, good for one container and one
/// service, and not to be guessed; nobody at Apple takes it.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var service: String?
    private var blocks = Blocks()

    struct Blocks {
        var result: ((Result<String, any Error>) -> Void)?
        var oldResult: ((String?, (any Error)?) -> Void)?
    }

    /// An operation that fails with `invalidArguments`, until it has an API token.
    public override init() { super.init() }

    /// An operation for a service.
    /// - Parameter apiToken: What the service is known by.
    public convenience init(apiToken: String) {
        self.init()
        self.apiToken = apiToken
    }

    /// What the service is known by: text that host and service have agreed on.
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
        let token = Locked("")
        return PlainJob { context in
            let fetched = try context.server.answer(
                FetchWebAuthTokenRequest(apiToken: service ?? ""), as: context.caller)
            token.withLock { $0 = fetched }
        } conclude: { result in
            let fetched = result.map { token.value }
            blocks.result?(fetched.mapError { $0 })
            blocks.oldResult?(try? fetched.get(), fetched.error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
