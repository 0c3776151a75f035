// A store, as its host sees it: opening, settling, closing, emptying.
//
// Threads: you may call everything here from any thread. A call that reads or writes the store blocks its thread until
// the result is durable, like the file system, and has an asynchronous variant that suspends
// (`Stratus+Awaiting.swift`). Clients' operations run on the store's own threads.

public import Foundation
import StratusCloud
import StratusStore

/// A store: the accounts and the CloudKit databases of many users in one LevelDB directory, or in memory.
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

    /// The store's directory; nil for a store in memory.
    public let directory: URL?
    /// The planned errors of this store. Initially none.
    public let faults: FaultPlan

    let options: Options
    let server: HostedServer
    let session: CloudSession
    let output: EventOutput
    let upkeep: UpkeepThread
    let recovery: StoreRecovery
    /// The socket at which this host serves other processes, if it does.
    let toolSocket = Locked(ToolSocket())

    init(directory: URL?, options: Options) throws {
        guard URL(string: options.shareURLBase + "x")?.scheme != nil else {
            throw StratusError(
                .invalidArgument, "shareURLBase is not the beginning of a URL. Begin it with a scheme, such as https.",
                ["shareURLBase": options.shareURLBase])
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
            directory: directory, options: options, didFailWrite: { recovery.noteFailure($0) })
        server = try HostedServer(backing: backing, environment: environment, options: options.cloudOptions)
        let longLived: any LongLivedStore =
            if let directory {
                OperationFiles(directory: directory.appendingPathComponent("operations").path, files: backing.files)
            } else {
                MemoryLongLivedStore(takeDirectory: MemoryDirectories.take, giveBack: MemoryDirectories.giveBack)
            }
        session = CloudSession(
            server: server, clock: clock, defaultContainerIdentifier: options.defaultContainerIdentifier,
            unknownZoneDeletionSucceeds: options.unknownZoneDeletionSucceeds,
            longLivedStore: longLived, notificationSource: server,
            onDeliveryFailure: { output.tellDeliveryFailure($0) })
        hub.withLock { [session] in $0 = WeakObject(object: session.hub) }
        self.directory = directory
        self.faults = faults
        self.options = options
        self.output = output
        self.upkeep = upkeep
        self.recovery = recovery
        recovery.start(
            .init(server: server, upkeep: upkeep, hub: session.hub) { [weak self] in self?.serveToolAgain() })
        startUpkeep()
        // What an ended process has left undelivered.
        if directory != nil { session.hub.wake() }
        do { try startServingTool() } catch {
            upkeep.stop()
            recovery.stop()
            server.close()
            throw error
        }
    }

    deinit {
        // Containers may outlive this object. Their requests continue, the upkeep does not.
        upkeep.stop()
        recovery.stop()
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
    /// store. When this returns, other processes can open the directory. Closing again does nothing.
    ///
    /// An added operation that cannot run, because it depends on one that was neither added nor started, is cancelled
    /// after everything else: it fails with `operationCancelled`.
    ///
    /// This blocks its thread until the last block of every operation has returned, so do not call it from one.
    public func close() {
        OpenStratus.shared.close(self) {
            session.close()
            session.activity.waitUntilOver()
            upkeep.stop()
            recovery.stop()
            session.hub.close()
            // The upkeep may have delivered notifications meanwhile.
            session.activity.waitUntilOver()
            stopServingTool(forGood: true)
            server.close()
            // A store in memory loses its operations too.
            if directory == nil { session.longLived.forgetAll() }
        }
    }

    /// Empties the store: deletes accounts, devices, records, assets and planned faults, and signs out. For tests.
    ///
    /// Current requests are finished first, later ones wait. Earlier change tokens, records and accounts are refused
    /// afterwards, like those of another store. Clocks, seeds and options stay.
    ///
    /// The store is emptied completely or not at all. If the process ends meanwhile, the next process that opens the
    /// store finishes it. The data never exists under another name.
    ///
    /// - Throws: ``StratusError`` if the store was closed; if its directory could not be written, and the store is
    ///   unchanged; and if it could not be created again, which the next opening tries again.
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
