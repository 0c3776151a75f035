// Sets the number on an app's icon.

import Foundation
import StratusCloud

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
            _ = try context.server.answer(ModifyBadgeRequest(badge: badge), as: context.caller)
        } conclude: { result in
            blocks.result?(result.error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
