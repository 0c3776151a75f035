// The deprecated operations on notifications and badges.

import StratusCloud
import StratusStore

/// Fetches one page of the notifications that wait for the container's device, oldest first. They keep waiting until a
/// `CKMarkNotificationsReadOperation` names them or newer ones replace them (N-05).
///
/// A notification that a listener of the device took, ``Stratus/Device/onNotification`` or
/// ``Stratus/Device/notifications``, no longer waits: use one or the other. Notifications wait from the moment the
/// server knows the device; the first of these operations registers it. A container of
/// ``Stratus/container(_:signedInAs:)`` has no device, and the operation fails with `invalidArguments`.
@available(*, deprecated, message: "Fetch changes of databases and zones, or receive notifications as they arrive.")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private struct Blocks {
        var notification: ((CKNotification) -> Void)?
        var result: ((CKServerChangeToken?, (any Error)?) -> Void)?
    }

    private var token: CKServerChangeToken?
    private var limit = 0
    private var blocks = Blocks()
    private let isMoreComing = Locked(false)

    /// Creates an operation that starts from the beginning.
    public override init() { super.init() }

    /// Creates an operation that continues after a token.
    /// - Parameter previousServerChangeToken: The newest token that the client has stored for its notifications; nil to
    ///   start from the beginning.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The newest token that the client has stored for its notifications; nil to start from the beginning.
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

    /// Called last, once, with the token for the next fetch.
    public final var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (token, limit, blocks) = locked { (self.token, self.limit, self.blocks) }
        let request = FetchNotificationChangesRequest(token: token?.bytes, limit: max(limit, 0))
        return AnswerJob { [isMoreComing] context in
            let response = try context.server.answer(request, as: context.caller)
            isMoreComing.withLock { $0 = response.isMoreComing }
            return response
        } deliver: { response in
            for notification in response.notifications {
                blocks.notification?(CKNotification.make(NotificationContent(notification)))
            }
        } conclude: { result in
            let token = result.map { CKServerChangeToken($0.token) }
            blocks.result?(try? token.get(), token.error)
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

// Marks notifications as read.

/// Marks notifications of the container's device as read: they no longer wait and are not fetched again. A notification
/// that no longer waits counts as read. The person's other devices have their own notifications, which stay.
@available(*, deprecated, message: "Fetch changes of databases and zones, or receive notifications as they arrive.")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var ids: [CKNotification.ID] = []
    private var result: (([CKNotification.ID]?, (any Error)?) -> Void)?

    /// Creates an operation without items, which succeeds at once (O-15).
    public override init() { super.init() }

    /// Creates an operation that marks these notifications.
    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    /// The identities of the notifications.
    public final var notificationIDs: [CKNotification.ID] {
        get { locked { ids } }
        set { configure(newValue) { swap(&ids, &$0) } }
    }

    /// Called last, once, with the notifications that are read.
    public final var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)? {
        get { locked { result } }
        set { configure(newValue) { swap(&result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (ids, result) = locked { (self.ids, self.result) }
        return AnswerJob { context in
            if !ids.isEmpty {
                _ = _ = try context.server.answer(MarkNotificationsReadRequest(ids: ids.map(\.id)), as: context.caller)
            }
        } conclude: { end in
            result?(end.error == nil ? ids : nil, end.error)
        }
    }

    override func dropBlocks() { replace(nil) { swap(&result, &$0) } }
}

// Sets the number on an app's icon.

/// Sets the number on the app's icon on the container's device. Later notifications count on from it (N-04).
/// `Stratus.Device.setBadge(_:)` sets the same number, which is stored with the device.
@available(*, deprecated, message: "Use Stratus.Device.setBadge(_:).")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var badge = 0
    private var result: (((any Error)?) -> Void)?

    /// Creates an operation that sets the number to zero.
    public override init() { super.init() }

    /// Creates an operation that sets a number.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    /// The number; a negative one counts as zero.
    public final var badgeValue: Int {
        get { locked { badge } }
        set { configure(newValue) { swap(&badge, &$0) } }
    }

    /// Called last, once.
    public final var modifyBadgeCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { result } }
        set { configure(newValue) { swap(&result, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (badge, result) = locked { (self.badge, self.result) }
        return AnswerJob { context in
            _ = try context.server.answer(ModifyBadgeRequest(badge: badge), as: context.caller)
        } conclude: { end in
            result?(end.error)
        }
    }

    override func dropBlocks() { replace(nil) { swap(&result, &$0) } }
}
