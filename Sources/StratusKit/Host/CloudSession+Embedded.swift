// The store of programs that set nothing up, as the client's side finds it.

import StratusCloud

extension CloudSession {
    /// The session of the default store. It never fails: where the store cannot be opened, requests are refused with the
    /// reason, and the next one who asks tries again.
    static func embedded() -> CloudSession {
        do {
            return try EmbeddedStore.shared.store().session
        } catch {
            let reason = error as? StratusError
            let refusal = CloudError(
                .serviceUnavailable, text: reason?.message ?? "The default store could not be opened.",
                reason?.fields ?? [:], cause: reason?.cause ?? "\(error)")
            return CloudSession(server: RefusingServer(refusal), clock: SystemClock())
        }
    }
}
