// In whose callbacks a task is: a callback that waited for its own engine would wait for itself (E-04).

import StratusCloud

enum SyncCallback {
    /// The engines in whose callbacks the task is, one inside the other.
    @TaskLocal static var workers: Set<ObjectIdentifier> = []
    /// What a request may have in the store of the innermost engine that asks for a batch; nil where none asks.
    @TaskLocal static var requestLimits: RequestSize?

    /// What an engine's call fails with in a callback of its own delegate.
    static func refusal() -> CKError {
        var text: String?
        StratusMisuse.note(
            "A callback of a sync engine's delegate must not wait for a call of that engine: return first, or make the "
                + "call in a detached task.",
            in: &text)
        return CKError(CloudError(.invalidArguments, text: text ?? ""))
    }
}
