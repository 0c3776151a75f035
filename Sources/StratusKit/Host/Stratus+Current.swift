// Which store code means that only knows CloudKit.

public import Foundation
import StratusCloud
import StratusStore

extension Stratus {
    @TaskLocal private static var ofTask: Stratus?
    private static let ofProcess = Locked<Stratus?>(nil)

    /// The store that `CKContainer.default()`, `CKContainer(identifier:)` and operations without a container use: that
    /// of the task, else that of the process, else the default store.
    ///
    /// - Throws: ``StratusError`` where the default store is needed and could not be opened, `noStore` where the host
    ///   has switched it off.
    public static var current: Stratus {
        get throws { try ofTask ?? ofProcess.value ?? EmbeddedStore.current.store() }
    }

    /// The store of the process: what is used where the task has none of its own. Nil, as it is at first, leaves it to
    /// the default store.
    public static var processWide: Stratus? {
        get { ofProcess.value }
        set {
            ofProcess.withLock { $0 = newValue }
            CurrentSession.ofProcess = newValue?.session
        }
    }

    /// Runs `body` with this store as the current one, for this task and those it makes.
    ///
    /// Containers and operations remember the store that was current when they were made, the default store included.
    ///
    /// - Throws: What `body` throws.
    public func asCurrent<Result>(_ body: () throws -> Result) rethrows -> Result {
        try Stratus.$ofTask.withValue(self) {
            try CurrentSession.$ofTask.withValue(session) { try body() }
        }
    }

    /// Runs `body` with this store as the current one, for this task and those it makes.
    ///
    /// Containers and operations remember the store that was current when they were made, the default store included.
    ///
    /// - Throws: What `body` throws.
    public func asCurrent<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Stratus.$ofTask.withValue(self) {
            try await CurrentSession.$ofTask.withValue(session) { try await body() }
        }
    }

    /// Which store is used where neither the task nor the process has one.
    public enum DefaultStore: Hashable, Sendable {
        /// One in the user's data directory: `stratus/default` in `$XDG_DATA_HOME`, or in `~/.local/share`.
        case inUserDataDirectory
        /// One in a directory of the host's choice.
        case at(URL)
        /// None: clients' requests fail with `serviceUnavailable`.
        case off
    }

    /// The default store. It is opened when it is first needed. Containers and operations that were made before this is
    /// set keep to what was set then.
    ///
    /// It has one account, which is signed in when the store is opened.
    public static var defaultStore: DefaultStore {
        get { EmbeddedStore.current.choice }
        set { EmbeddedStore.choose(newValue) }
    }
}
