// The store of programs that set nothing up, as the client's side finds it.

import StratusCloud

extension CloudSession {
    /// The default store as it is chosen now, opened or not.
    static var defaultStore: any SessionSource { EmbeddedStore.current }
}

extension EmbeddedStore: SessionSource {
    /// The session of the default store. It never fails: where the store cannot be opened, requests are refused with the
    /// reason, and the next one who asks tries again.
    var session: CloudSession {
        do {
            return try store().session
        } catch {
            let reason = error as? StratusError
            let refusal = CloudError(
                .serviceUnavailable, text: reason?.message ?? "The default store could not be opened.",
                reason?.fields ?? [:], cause: reason?.cause ?? "\(error)")
            return CloudSession(server: RefusingServer(refusal), clock: SystemClock())
        }
    }

    var openSession: CloudSession? {
        (try? directory()).flatMap { OpenStratus.shared.openStore(in: $0) }?.session
    }
}
