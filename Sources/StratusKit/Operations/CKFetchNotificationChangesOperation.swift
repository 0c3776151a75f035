// Fetches what waits for a device: the way of before apps took notifications as they came.

import Foundation
import StratusCloud
import StratusStore

/// Fetches the notifications that wait for the device on which the container acts, one page of them, the oldest first.
/// They go on waiting until a `CKMarkNotificationsReadOperation` names them, or something newer takes their place (N-05).
///
/// What a listener of the device takes, ``Stratus/Device/onNotification`` or ``Stratus/Device/notifications``, is not
/// there any more: an app uses one or the other. Notifications wait from when the device is known, which the first of
/// these operations makes it; a container that ``Stratus/container(_:signedInAs:)`` has given is of no device, and the
/// operation fails with `invalidArguments`.
@available(*, deprecated, message: "Fetch changes of databases and zones, or take notifications as they come.")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var token: CKServerChangeToken?
    private var limit = 0
    private var blocks = NotificationChangesBlocks()
    private let isMoreComing = Locked(false)

    /// An operation that begins anew.
    public override init() { super.init() }

    /// An operation that goes on.
    /// - Parameter previousServerChangeToken: How far the client has followed its notifications; nil to begin anew.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// How far the client has followed its notifications; nil to begin anew.
    public final var previousServerChangeToken: CKServerChangeToken? {
        get { locked { token } }
        set { configure(newValue) { swap(&token, &$0) } }
    }

    /// Notifications in the page; 0 lets the server decide (T-14).
    public final var resultsLimit: Int {
        get { locked { limit } }
        set { configure(newValue) { swap(&limit, &$0) } }
    }

    /// Whether there is another page; known when the completion block is called.
    public final var moreComing: Bool { isMoreComing.value }

    /// Called for every notification.
    public final var notificationChangedBlock: ((CKNotification) -> Void)? {
        get { locked { blocks.notification } }
        set { configure(newValue) { swap(&blocks.notification, &$0) } }
    }

    /// Called last, once, with the token to begin with the next time.
    public final var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (token, limit, blocks) = locked { (self.token, self.limit, self.blocks) }
        return NotificationChangesJob(token, limit: limit, blocks, isMoreComing)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(NotificationChangesBlocks()) { swap(&blocks, &$0) }
    }
}

/// The blocks of a `CKFetchNotificationChangesOperation`.
struct NotificationChangesBlocks {
    var notification: ((CKNotification) -> Void)?
    var result: ((CKServerChangeToken?, (any Error)?) -> Void)?
}

/// What a `CKFetchNotificationChangesOperation` does.
final class NotificationChangesJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let request: FetchNotificationChangesRequest
    private let blocks: NotificationChangesBlocks
    private let isMoreComing: Locked<Bool>
    private var response: FetchNotificationChangesResponse?

    init(
        _ token: CKServerChangeToken?, limit: Int, _ blocks: NotificationChangesBlocks, _ isMoreComing: Locked<Bool>
    ) {
        request = FetchNotificationChangesRequest(token: token?.bytes, limit: max(limit, 0))
        self.blocks = blocks
        self.isMoreComing = isMoreComing
    }

    func send(_ context: RequestContext) throws {
        let response = try context.server.answer(request, as: context.caller)
        isMoreComing.withLock { $0 = response.isMoreComing }
        self.response = response
    }

    func deliver() {
        for told in response?.notifications ?? [] {
            blocks.notification?(CKNotification.make(NotificationContent(told)))
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        if case .success = result, let response {
            blocks.result?(CKServerChangeToken(response.token), nil)
        } else {
            blocks.result?(nil, result.error ?? CKError.unanswered())
        }
    }
}
