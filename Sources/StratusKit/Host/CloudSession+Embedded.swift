// The store of programs that set nothing up.

import StratusCloud

extension CloudSession {
    /// The session of the embedded default store. It never fails: where the store cannot be opened, requests are refused
    /// with the reason.
    static func embedded() -> CloudSession {
        let error = CloudError(.serviceUnavailable, "no store is open: open one and make it the current one")
        return CloudSession(server: RefusingServer(error), clock: SystemClock())
    }
}
