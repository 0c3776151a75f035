// What a host can watch: one event for every request, with what it cost, and one for every content of an asset that could
// not be handed out, with its file.

/// A request that has been answered.
package struct CloudEvent: Sendable {
    package var kind: RequestKind
    package var caller: Caller
    package var itemCount: Int
    package var failedItemCount: Int
    /// Items refused because the server's record was newer.
    package var conflictCount: Int
    package var commitCount: Int
    package var durationSeconds: Double
    /// The error of the request as a whole.
    package var error: CloudError?

    package init(
        kind: RequestKind, caller: Caller, itemCount: Int = 0, failedItemCount: Int = 0, conflictCount: Int = 0,
        commitCount: Int = 0, durationSeconds: Double = 0, error: CloudError? = nil
    ) {
        self.kind = kind
        self.caller = caller
        self.itemCount = itemCount
        self.failedItemCount = failedItemCount
        self.conflictCount = conflictCount
        self.commitCount = commitCount
        self.durationSeconds = durationSeconds
        self.error = error
    }
}
