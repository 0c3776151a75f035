// The current store: the one that code uses which knows only CloudKit.

public import Foundation
import StratusCloud
import StratusStore

extension Stratus {
    @TaskLocal private static var ofTask: Stratus?
    private static let ofProcess = Locked<Stratus?>(nil)

    /// The store that `CKContainer.default()`, `CKContainer(identifier:)` and operations without a container use: the
    /// task's store, otherwise the process's, otherwise the default store.
    ///
    /// - Throws: ``StratusError`` if the default store is needed and cannot be opened; `noStore` if the host has
    ///   switched it off.
    public static var current: Stratus {
        get throws { try ofTask ?? ofProcess.value ?? EmbeddedStore.current.store() }
    }

    /// The store of the process, for tasks without a store of their own. If nil, which is the initial value, they use
    /// the default store.
    public static var processWide: Stratus? {
        get { ofProcess.value }
        set {
            ofProcess.withLock { $0 = newValue }
            CurrentSession.ofProcess = newValue?.session
        }
    }

    /// Runs `body` with this store as the current one, for this task and its child tasks.
    ///
    /// Containers and operations keep the store that was current when they were created, including the default store.
    ///
    /// - Throws: What `body` throws.
    public func asCurrent<Result>(_ body: () throws -> Result) rethrows -> Result {
        try Stratus.$ofTask.withValue(self) {
            try CurrentSession.$ofTask.withValue(session) { try body() }
        }
    }

    /// Runs `body` with this store as the current one, for this task and its child tasks.
    ///
    /// Containers and operations keep the store that was current when they were created, including the default store.
    ///
    /// - Throws: What `body` throws.
    public func asCurrent<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Stratus.$ofTask.withValue(self) {
            try await CurrentSession.$ofTask.withValue(session) { try await body() }
        }
    }

    /// The store for tasks and processes without one.
    public enum DefaultStore: Hashable, Sendable {
        /// A store in the user's data directory: `stratus/default` in `$XDG_DATA_HOME`, or in `~/.local/share`.
        case inUserDataDirectory
        /// A store in a directory that the host chooses.
        case at(URL)
        /// No store: clients' requests fail with `serviceUnavailable`.
        case off
    }

    /// The default store. It is opened when it is first needed. Existing containers and operations keep the earlier
    /// choice.
    ///
    /// It has one account, which is signed in when the store is opened.
    public static var defaultStore: DefaultStore {
        get { EmbeddedStore.current.choice }
        set { EmbeddedStore.choose(newValue) }
    }
}

// The default store, for programs that configure nothing: opened when first needed, with one account.
//
// Invariant: objects created for one choice of the host keep it, even if the host chooses again.

/// Opens the default store that the host has chosen.
final class EmbeddedStore: SessionSource {
    private static let chosen = Locked(EmbeddedStore(.inUserDataDirectory))

    /// The currently chosen default store.
    static var current: EmbeddedStore { chosen.value }

    /// Changes `current`.
    static func choose(_ choice: Stratus.DefaultStore) {
        chosen.withLock { if $0.choice != choice { $0 = EmbeddedStore(choice) } }
    }

    /// The host's identifier of the only account.
    static let externalID = "default"

    let choice: Stratus.DefaultStore
    let defaultContainer = Locked(WeakObject(object: nil))

    private init(_ choice: Stratus.DefaultStore) { self.choice = choice }

    /// The default store, with its account signed in. Opens it again if it was closed.
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

    /// The directory of the store.
    func directory() throws -> URL {
        switch choice {
        case .off:
            throw StratusError(
                .noStore,
                """
                There is no store, and the default one is switched off: set Stratus.processWide, or use asCurrent, \
                before containers and operations are created.
                """)
        case .at(let url): return url
        case .inUserDataDirectory: return try Self.directory(environment: ProcessInfo.processInfo.environment)
        }
    }

    /// The user's data directory by the XDG Base Directory specification, which ignores a relative path.
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

    /// The session of the default store. It never fails: if the store cannot be opened, it refuses requests with the
    /// reason, and the next access tries again.
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

// The default store as a source of sessions.

extension CloudSession {
    /// The currently chosen default store, open or not.
    static var defaultStore: any SessionSource { EmbeddedStore.current }
}

// The open stores of this process, by place: opening a path or a database twice gives one store.
//
// Directories are compared by their identity on disk, not by spelling, so links and relative paths do not open a store
// twice; databases by their servers and names, not by user or password. While a place is being opened or closed, other
// callers wait.

final class OpenStratus: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    static let shared = OpenStratus()

    private let condition = TimedCondition()
    private var stores: [HostedPlace.Identity: Stratus] = [:]
    /// The places whose stores are being opened or closed.
    private var busy: Set<HostedPlace.Identity> = []

    /// The open store of that directory, or the result of `make`.
    func open(_ directory: URL, _ make: (URL) throws -> Stratus) throws -> Stratus {
        let url = URL(fileURLWithPath: Self.canonicalPath(directory), isDirectory: true)
        return try open(.directory(url)) { try make(url) }
    }

    /// The open store of that place, or the result of `make`. The path of a directory must be canonical.
    func open(_ place: HostedPlace, _ make: () throws -> Stratus) throws -> Stratus {
        guard let identity = place.identity else { return try StratusError.wrapping(make) }
        if let open = claim(identity) { return open }
        do {
            let store = try StratusError.wrapping(make)
            finish(identity, store)
            return store
        } catch {
            finish(identity, nil)
            throw error
        }
    }

    /// The open store of that directory. Neither opens one nor waits.
    func openStore(in directory: URL) -> Stratus? {
        let place = HostedPlace.Identity.path(Self.canonicalPath(directory))
        return condition.withLock { busy.contains(place) ? nil : stores[place] }
    }

    /// Closes a store with `body` and removes it from the list. Callers that want its place wait. `body` is also
    /// called for a store that is not listed, because opening it failed.
    func close(_ store: Stratus, _ body: () -> Void) {
        let place = store.place.identity
        let isMine = place.map { beginClosing(store, $0) } ?? false
        body()
        if isMine, let place { finish(place, nil) }
    }

    /// Whether the caller has to close the store. Waits while another caller closes it.
    private func beginClosing(_ store: Stratus, _ place: HostedPlace.Identity) -> Bool {
        condition.withLock {
            while busy.contains(place), stores[place] === store { condition.wait() }
            guard stores[place] === store else { return false }
            busy.insert(place)
            return true
        }
    }

    private func claim(_ place: HostedPlace.Identity) -> Stratus? {
        condition.withLock {
            while busy.contains(place) { condition.wait() }
            if stores[place] == nil { busy.insert(place) }
            return stores[place]
        }
    }

    private func finish(_ place: HostedPlace.Identity, _ store: Stratus?) {
        condition.change {
            stores[place] = store
            busy.remove(place)
        }
    }

    /// The path without links, even if its last part does not exist.
    static func canonicalPath(_ directory: URL) -> String {
        let url = directory.standardizedFileURL.resolvingSymlinksInPath()
        if FileManager.default.fileExists(atPath: url.path) { return url.path }
        let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
        return folder.appendingPathComponent(url.lastPathComponent).path
    }
}
