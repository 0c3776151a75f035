// Marks notifications as read, so that they do not wait any more.

import Foundation
import StratusCloud

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
            if !ids.isEmpty {
                _ = _ = _ = try context.server.answer(MarkNotificationsReadRequest(ids: ids.map(\.id)), as: context.caller)
            }
        } conclude: { result in
            blocks.result?(result.error == nil ? ids : nil, result.error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
