// A store, as its host sees it: opening, settling, closing, emptying.
//
// Threads: you may call everything here from any thread. A call that reads or writes the store blocks its thread until
// the result is durable, like the file system, and has an asynchronous variant that suspends
// (`Stratus+Awaiting.swift`). Clients' operations run on the store's own threads.

public import Foundation
import StratusCloud
import StratusRecords
package import StratusStore

/// A store: the accounts and the CloudKit databases of many users in one LevelDB directory, in one PostgreSQL database,
/// or in memory.
///
/// ```swift
/// let cloud = try await Stratus.open(at: directory)
/// let alice = try await cloud.account(externalID: "user-17", createIfMissing: .init(emails: ["alice@example.com"]))
/// let container = cloud.container("iCloud.com.example.app", signedInAs: alice)
/// let database = container.privateCloudDatabase
/// ```
///
/// Each call that reads or writes the store exists twice under one name. In asynchronous code, `await` the variant that
/// suspends the task while one of the store's threads waits for the disk. Elsewhere the other variant blocks its
/// thread. If the task is cancelled before such a thread begins, the call throws `CancellationError` and does nothing.
/// A call that has begun completes and returns its result. Properties that read the store, such as
/// ``Stratus/localDevice``, only block.
///
/// Code that knows only CloudKit finds a store by `CKContainer.default()`: see ``Stratus/current``.
public final class Stratus: Sendable {
    /// The version of the library and the tool, which are released together. Stores have their own format number.
    public static let version = "0.9.0"

    /// The store's directory; nil for a store in memory or on a server.
    public let directory: URL?
    /// Where the store is, for people: the path of its directory, the address of its database without the password, or
    /// `memory`.
    public let address: String
    /// The planned errors of this store. Initially none.
    public let faults: FaultPlan

    let options: Options
    let place: HostedPlace
    let server: HostedServer
    let session: CloudSession
    let output: EventOutput
    let upkeep: UpkeepThread
    /// Shows other hosts that this one is alive. Nothing else runs on it: a host that is late counts as gone.
    let pulse: UpkeepThread
    /// Looks for what other hosts have done.
    let lookout: UpkeepThread
    let recovery: StoreRecovery
    /// The socket at which this host serves other processes, if it does.
    let toolSocket = Locked(ToolSocket())

    /// Opens the store in a directory, or creates one in memory.
    convenience init(directory: URL?, options: Options) throws {
        try self.init(place: directory.map { .directory($0) } ?? .memory, options: options)
    }

    /// A host of a store that a test has made, which the host closes.
    package convenience init(on store: any OrderedStore, options: Options) throws {
        try self.init(place: .given(store), options: options)
    }

    init(place: HostedPlace, options: Options) throws {
        guard URL(string: options.shareURLBase + "x")?.scheme != nil else {
            throw StratusError(
                .invalidArgument, "shareURLBase is not the beginning of a URL. Begin it with a scheme, such as https.",
                ["shareURLBase": options.shareURLBase])
        }
        if case .server = place, options.servesTool {
            throw StratusError(
                .invalidArgument,
                "A store on a server has no socket: set servesTool to false. Verbs reach the store by its address.")
        }
        let clock = options.clock.cloudClock
        let upkeep = UpkeepThread(intervalSeconds: options.upkeepIntervalSeconds)
        let output = EventOutput(options, clock: clock)
        let recovery = StoreRecovery(output: output, firstPauseSeconds: options.recoveryPauseSeconds)
        let faults = FaultPlan(clock: clock)
        // Weak, because the hub, which is created later, refers to the server.
        let hub = Locked(WeakObject(object: nil))
        let environment = CloudEnvironment(
            clock: clock, identifiers: options.identifiers.makeSource(), faults: faults,
            onEvent: { event in
                output.tell(event)
                if event.kind == .modifyZones { upkeep.wake() }
            },
            onInvitation: { invitation in
                if let hook = options.onInvitation, let told = Invitation(invitation) { hook(told) }
            },
            onSomethingToDeliver: { (hub.value.object as? NotificationHub)?.wake() })
        let backing = StoreBacking(
            place: place, options: options, didFailWrite: { recovery.noteFailure($0) },
            onNotice: { environment.onEvent?(CloudEvent(notice: $0)) })
        server = try HostedServer(backing: backing, environment: environment, options: options.cloudOptions)
        let longLived = try Self.longLivedStore(in: place, backing, server)
        session = CloudSession(
            server: server, clock: clock, defaultContainerIdentifier: options.defaultContainerIdentifier,
            unknownZoneDeletionSucceeds: options.unknownZoneDeletionSucceeds,
            longLivedStore: longLived, notificationSource: server,
            onDeliveryFailure: { output.tellDeliveryFailure($0) })
        hub.withLock { [session] in $0 = WeakObject(object: session.hub) }
        self.place = place
        directory = place.directory
        address = place.description
        self.faults = faults
        self.options = options
        self.output = output
        self.upkeep = upkeep
        let pulseSeconds = server.isShared ? Self.pulseSeconds : nil
        (pulse, lookout) = (UpkeepThread(intervalSeconds: pulseSeconds), UpkeepThread(intervalSeconds: pulseSeconds))
        self.recovery = recovery
        recovery.start(
            .init(server: server, upkeep: upkeep, hub: session.hub) { [weak self] in self?.serveToolAgain() })
        startUpkeep()
        startPulse()
        // On its own thread: the caller may be in the middle of a commit.
        server.whenOthersChange { [lookout] in lookout.wake() }
        // What an ended process has left undelivered.
        if !place.isMemory { session.hub.wake() }
        do { try startServingTool() } catch {
            stopThreads()
            server.close()
            throw error
        }
    }

    /// The longest time for which this host misses what another one has done, if it is not woken.
    private static let pulseSeconds = 3.0

    /// Where long-lived operations are stored: with the contents of assets.
    private static func longLivedStore(
        in place: HostedPlace, _ backing: StoreBacking, _ server: HostedServer
    ) throws -> any LongLivedStore {
        if try server.withService({ $0.engine.store.contents != nil }) {
            return StoredOperations(
                lend: { body in
                    try server.withService { service in
                        if let forms = OperationForms(service.engine) { try body(forms) }
                    }
                }, takeDirectory: MemoryDirectories.take, giveBack: MemoryDirectories.giveBack)
        }
        guard let directory = place.directory else {
            return MemoryLongLivedStore(takeDirectory: MemoryDirectories.take, giveBack: MemoryDirectories.giveBack)
        }
        return OperationFiles(directory: directory.appendingPathComponent("operations").path, files: backing.files)
    }

    deinit {
        // Containers may outlive this object. Their requests continue, the upkeep does not.
        stopThreads()
        stopServingTool(forGood: true)
    }

    // MARK: Opening

    /// Opens the store in a directory, or creates one there.
    ///
    /// If the directory is already open in this process, you get the same instance, and its options stay. A store stays
    /// open until `close()`, even if nothing refers to it.
    ///
    /// A store of an older version is migrated to the current format in one transaction; older versions cannot open it
    /// afterwards. Make a backup first if you may have to go back.
    ///
    /// - Parameters:
    ///   - directory: The store's directory. It is created if it does not exist; its parent must exist.
    ///   - options: The store's options.
    /// - Returns: The store.
    /// - Throws: ``StratusError`` with `held` naming the process that has the store open, `notAStore` naming what is
    ///   there instead, `newerFormat`, `notPermitted`, `diskFull`, or `corruption` naming the files that may be
    ///   damaged. Opening never repairs anything.
    public static func open(at directory: URL, options: Options = Options()) throws -> Stratus {
        try OpenStratus.shared.open(directory) { try Stratus(directory: $0, options: options) }
    }

    /// Opens the store at an address, or creates one there: the path of a directory, or the address of a PostgreSQL
    /// database, which begins with `postgresql://`. So you can move a service to a server by changing one setting.
    ///
    /// ```swift
    /// let cloud = try await Stratus.open(at: "postgresql://stratus@db.example.com/stratus?sslmode=verify-full")
    /// ```
    ///
    /// A path is opened like a file URL. An address of a database is a connection URI of libpq, with all its settings;
    /// put the password into a file that `PGPASSFILE` names. `stratus_schema=name` in it chooses a schema of the
    /// database. Any number of hosts can share the database. If a verb of the tool has it for itself, opening waits
    /// for that verb (``Stratus/Options/leaseWaitSeconds``). The contents of assets and long-lived operations are in
    /// the database. If the database is open in this process by any address, you get the same instance.
    ///
    /// - Parameters:
    ///   - address: The path of a directory, or the address of a database.
    ///   - options: The store's options.
    /// - Returns: The store.
    /// - Throws: ``StratusError`` as for a directory; with `held` naming what has the database for itself; with
    ///   `unavailable` if PostgreSQL's client library is not installed, or no server answers; with `invalidArgument`
    ///   for a wrong address, a connection pooler, or ``Stratus/Options/servesTool``. No error contains the password.
    public static func open(at address: String, options: Options = Options()) throws -> Stratus {
        let place = try StratusError.wrapping { try HostedPlace(named: address) }
        if let directory = place.directory { return try open(at: directory, options: options) }
        return try OpenStratus.shared.open(place) { try Stratus(place: place, options: options) }
    }

    /// Creates an empty store in memory. It is removed when nothing refers to it.
    ///
    /// - Parameter options: The store's options.
    /// - Returns: The store.
    /// - Throws: ``StratusError`` if there is no room for the files of assets.
    public static func inMemory(options: Options = Options()) throws -> Stratus {
        try StratusError.wrapping { try Stratus(directory: nil, options: options) }
    }

    // MARK: Ending and beginning again

    /// Waits until every added operation that can run has called its last block, and every notification was delivered
    /// to its listener: handlers have returned, and waiting tasks have got theirs. Sync engines have done what they
    /// can; an engine that pauses before its next attempt is not waited for.
    ///
    /// Operations added meanwhile are waited for too. An operation is not waited for while it depends on one that was
    /// neither added nor started, because that one may never start. Operations in your own queues count from their
    /// start. Do not call this from a block of an operation or a callback of a sync engine's delegate.
    public func settle() async {
        await session.activity.untilIdle()
    }

    /// Waits until every added operation that can run has called its last block, and every notification was delivered
    /// to its listener: handlers have returned, and waiting tasks have got theirs.
    ///
    /// It blocks its thread; in asynchronous code use the variant that suspends. Do not call it from a block of an
    /// operation. An operation that depends on one that was neither added nor started is not waited for.
    @available(*, noasync, message: "It blocks its thread: await the asynchronous variant.")
    public func settle() {
        session.activity.waitUntilIdle()
    }

    /// Finishes every accepted request, refuses later ones with `serviceUnavailable`, stops the upkeep, and closes the
    /// store. When this returns, other processes can open the directory or the database. Closing again does nothing.
    ///
    /// An added operation that cannot run, because it depends on one that was neither added nor started, is cancelled
    /// after everything else: it fails with `operationCancelled`.
    ///
    /// A store in a directory writes what is in memory, up to two write buffers (``Options/writeBufferByteCount``), so
    /// that the next opening is fast.
    ///
    /// This blocks its thread until the last block of every operation has returned, so do not call it from one.
    public func close() {
        OpenStratus.shared.close(self) {
            session.close()
            session.activity.waitUntilOver()
            stopThreads()
            session.hub.close()
            // The upkeep may have delivered notifications meanwhile.
            session.activity.waitUntilOver()
            stopServingTool(forGood: true)
            server.close()
            // A store in memory loses its operations too.
            if place.isMemory { session.longLived.forgetAll() }
        }
    }

    /// Empties the store: deletes accounts, devices, records, assets and planned faults, and signs out. For tests.
    ///
    /// Current requests are finished first, later ones wait. A store on a server that other hosts share is not emptied:
    /// the error is `held`. Earlier change tokens, records and accounts are refused afterwards, like those of another
    /// store. Clocks, seeds and options stay.
    ///
    /// The store is emptied completely or not at all. If the process ends meanwhile, the next process that opens the
    /// store finishes it. The data never exists under another name. A database is emptied in one transaction.
    ///
    /// - Throws: ``StratusError`` if the store was closed, with `held` if other hosts share it, if its directory could
    ///   not be written (the store is then unchanged), and if it could not be created again (the next opening tries
    ///   again).
    public func reset() throws {
        try reset { _, _ in }
    }

    /// The same, reporting how many files and directories were removed, and the total.
    package func reset(progress: (_ done: Int, _ total: Int) -> Void) throws {
        faults.removeAll()
        let tookNoWrites = server.writeFailure != nil
        // Emptying would wait for its readers, and creates the directory again.
        stopServingTool()
        do {
            try upkeep.pausing {
                try StratusError.wrapping { try server.reset(progress) }
                session.longLived.forgetAll()
            }
        } catch {
            // The store may be unchanged.
            try? startServingTool()
            throw error
        }
        if tookNoWrites { recovery.tellRecovered() }
        try startServingTool()
        session.hub.forget { _ in true }
        session.signIn(nil)
    }
}
