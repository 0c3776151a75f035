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
        let response = try context.server.fetchNotificationChanges(request, as: context.caller)
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

// Marks notifications as read, so that they do not wait any more.

/// Marks notifications of the device on which the container acts as read: they are not fetched again, and nobody takes
/// them. One that does not wait any more counts as read. The person's other devices have notifications of their own, which
/// stay.
@available(*, deprecated, message: "Fetch changes of databases and zones, or take notifications as they come.")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    struct Blocks {
        var result: (([CKNotification.ID]?, (any Error)?) -> Void)?
    }

    private var ids: [CKNotification.ID] = []
    private var blocks = Blocks()

    /// An operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// An operation that marks these.
    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    /// The identities of the notifications.
    public final var notificationIDs: [CKNotification.ID] {
        get { locked { ids } }
        set { configure(newValue) { swap(&ids, &$0) } }
    }

    /// Called last, once, with what is read.
    public final var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (ids, blocks) = locked { (self.ids, self.blocks) }
        return PlainJob { context in
            if !ids.isEmpty { try context.server.markNotificationsRead(ids.map(\.id), as: context.caller) }
        } conclude: { result in
            blocks.result?(result.error == nil ? ids : nil, result.error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

// Sets the number on an app's icon.

/// Sets the number on the app's icon on the device on which the container acts, from which notifications count on (N-04):
/// the same number as `Stratus.Device.setBadge(_:)` sets. It is kept with the device.
@available(*, deprecated, message: "Use Stratus.Device.setBadge(_:).")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    struct Blocks {
        var result: (((any Error)?) -> Void)?
    }

    private var badge = 0
    private var blocks = Blocks()

    /// An operation that sets zero.
    public override init() { super.init() }

    /// An operation that sets a number.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    /// The number; what is below zero is zero.
    public final var badgeValue: Int {
        get { locked { badge } }
        set { configure(newValue) { swap(&badge, &$0) } }
    }

    /// Called last, once.
    public final var modifyBadgeCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (badge, blocks) = locked { (self.badge, self.blocks) }
        return PlainJob { context in
            try context.server.modifyBadge(badge, as: context.caller)
        } conclude: { result in
            blocks.result?(result.error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
