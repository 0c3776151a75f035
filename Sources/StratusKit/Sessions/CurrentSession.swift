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

    /// What is meant now, without opening anything: containers and operations remember it when they are made.
    package static func captured() -> any SessionSource { ofTask ?? ofProcess ?? CloudSession.defaultStore }
}
