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

// The store of programs that set nothing up: opened when it is first needed, with one account.
//
// Invariant: what was made over one choice of the host's stays with it, also when the host chooses anew.

/// Opens the default store, as the host has chosen it.
final class EmbeddedStore: Sendable {
    private static let chosen = Locked(EmbeddedStore(.inUserDataDirectory))

    /// The default store as it is chosen now.
    static var current: EmbeddedStore { chosen.value }

    /// Chooses what `current` is from now on.
    static func choose(_ choice: Stratus.DefaultStore) {
        chosen.withLock { if $0.choice != choice { $0 = EmbeddedStore(choice) } }
    }

    /// The host's identifier of the one account.
    static let externalID = "default"

    let choice: Stratus.DefaultStore
    let sharedObjects = SharedObjects()

    private init(_ choice: Stratus.DefaultStore) { self.choice = choice }

    /// The default store, with its account signed in. A store that was closed is opened again.
    func store() throws -> Stratus {
        try OpenStratus.shared.open(directory()) { directory in
            try FileManager.default.createDirectory(
                at: directory.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let store = try Stratus(directory: directory, options: Stratus.Options())
            do {
                try store.signIn(try store.account(externalID: Self.externalID, createIfMissing: .init()))
            } catch {
                store.close()
                throw error
            }
            return store
        }
    }

    /// Where the store lies.
    func directory() throws -> URL {
        switch choice {
        case .off:
            throw StratusError(
                .noStore,
                """
                There is no store, and the default one is switched off: set Stratus.processWide, or use asCurrent, \
                before containers and operations are made.
                """)
        case .at(let url): return url
        case .inUserDataDirectory: return try Self.directory(environment: ProcessInfo.processInfo.environment)
        }
    }

    /// The user's data directory as the XDG Base Directory specification has it: a relative path counts as none.
    static func directory(environment: [String: String]) throws -> URL {
        var base: URL
        if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            base = URL(fileURLWithPath: path, isDirectory: true)
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            base = URL(fileURLWithPath: home, isDirectory: true).appendingPathComponent(".local/share")
        } else {
            throw StratusError(
                .noStore, "The user has no home directory for the default store: set XDG_DATA_HOME, or open a store.")
        }
        base.appendPathComponent("stratus/default", isDirectory: true)
        return base
    }
}

// The store of programs that set nothing up, as the client's side finds it.

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

// The stores that are open in this process, by directory: a path opened twice is one store.
//
// Directories are compared by what they are on disk and not by how they are spelt, so links and relative paths do not
// open a store twice. While a directory is being opened or closed, others who want it wait.

final class OpenStratus: @unchecked Sendable {
    // Because the dictionary is touched only between `condition.lock` and `unlock`.
    static let shared = OpenStratus()

    private enum Entry {
        /// Being opened: others wait.
        case opening
        case open(Stratus)
        /// Being closed: others wait, who want the directory as well as who close the same store.
        case closing(Stratus)
    }

    private let condition = NSCondition()
    private var entries: [String: Entry] = [:]

    /// The open store of that directory, or the one that `make` opens there.
    func open(_ directory: URL, _ make: (URL) throws -> Stratus) throws -> Stratus {
        let path = Self.canonicalPath(directory)
        if let open = claim(path) { return open }
        do {
            let url = URL(fileURLWithPath: path, isDirectory: true)
            let store = try StratusError.wrapping { try make(url) }
            set(path, .open(store))
            return store
        } catch {
            set(path, nil)
            throw error
        }
    }

    /// The open store of that directory; nothing is opened or waited for.
    func openStore(in directory: URL) -> Stratus? {
        condition.lock()
        defer { condition.unlock() }
        guard case .open(let store)? = entries[Self.canonicalPath(directory)] else { return nil }
        return store
    }

    /// Closes a store by `body`, and forgets it. Who wants its directory meanwhile waits. `body` is called although the
    /// store is none of those that are open: one that could not be opened to the end.
    func close(_ store: Stratus, _ body: () -> Void) {
        let path = store.directory?.path
        let isMine = path.map { beginClosing(store, $0) } ?? false
        body()
        if isMine, let path { set(path, nil) }
    }

    /// Whether the caller is the one that closes the store; returns when another who does is done.
    private func beginClosing(_ store: Stratus, _ path: String) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while case .closing(let closed)? = entries[path], closed === store { condition.wait() }
        guard case .open(let open)? = entries[path], open === store else { return false }
        entries[path] = .closing(store)
        return true
    }

    private func claim(_ path: String) -> Stratus? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            switch entries[path] {
            case nil:
                entries[path] = .opening
                return nil
            case .opening?, .closing?:
                condition.wait()
            case .open(let store)?:
                return store
            }
        }
    }

    private func set(_ path: String, _ entry: Entry?) {
        condition.lock()
        entries[path] = entry
        condition.broadcast()
        condition.unlock()
    }

    /// The path without links, also where its last part does not exist yet.
    static func canonicalPath(_ directory: URL) -> String {
        let url = directory.standardizedFileURL.resolvingSymlinksInPath()
        if FileManager.default.fileExists(atPath: url.path) { return url.path }
        let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
        return folder.appendingPathComponent(url.lastPathComponent).path
    }
}
