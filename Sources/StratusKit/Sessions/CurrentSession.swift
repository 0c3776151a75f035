// Which store is meant where none is named: a task's own, else the process's, else the embedded default store.

import StratusStore

/// The store that `CKContainer.default()`, `CKContainer(identifier:)` and operations without a container use.
package enum CurrentSession {
    /// A task's own session: tests and hosts that serve many users set it.
    @TaskLocal package static var ofTask: CloudSession?

    private static let ofProcessStorage = Locked<CloudSession?>(nil)

    /// The session of the process.
    package static var ofProcess: CloudSession? {
        get { ofProcessStorage.value }
        set { ofProcessStorage.withLock { $0 = newValue } }
    }

    /// What is set now, without opening anything: operations remember it when they are made.
    package static func captured() -> CloudSession? { ofTask ?? ofProcess }

    /// The session to use now, for something that was made when `captured` was set; opens the embedded store if it must.
    package static func resolved(_ captured: CloudSession?) -> CloudSession {
        captured ?? self.captured() ?? CloudSession.embedded()
    }
}
