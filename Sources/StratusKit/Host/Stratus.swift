// A store as its host sees it: opened, filled with accounts, signed in, watched, closed.
//
// Threads: you may call everything here from any thread. What reads or writes the store blocks its thread until it is
// durable, as the file system does, and has a variant for asynchronous code that suspends (`Stratus+Awaiting.swift`).
// Clients' operations run on the store's own threads.

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
/// Calls that read or write the store exist twice under one name. In asynchronous code `await` the one that suspends the task
/// while a thread of the store's own waits for the disk; elsewhere the other one blocks its thread. If the task is cancelled
/// before such a thread begins, the call throws `CancellationError` and does nothing. A call that has begun is carried out and
/// returns its result. Properties that read the store, such as ``Stratus/localDevice``, have no such variant and block.
///
/// Code that only knows CloudKit finds a store by `CKContainer.default()`: see ``Stratus/current``.
public final class Stratus: Sendable {
    /// The version of the library and the tool, which are released together. Stores have a format number of their own.
    public static let version = "0.9.0"

    /// The store's directory; nil for a store in memory.
    public let directory: URL?
    /// The errors this store is to answer with: none, until a test plans some.
    public let faults: FaultPlan

    let options: Options
    let server: HostedServer
    let session: CloudSession
    let output: EventOutput
    let upkeep: UpkeepThread
    let recovery: StoreRecovery
    /// The socket at which this host is asked by other processes, while it serves one.
    let toolSocket = Locked(ToolSocket())
    private let forgetOperations: @Sendable () -> Void

    init(directory: URL?, options: Options) throws {
        guard URL(string: options.shareURLBase + "x")?.scheme != nil else {
            throw StratusError(
                .invalidArgument, "What the URLs of shares begin with is no URL: begin with a scheme, such as https.",
                ["shareURLBase": options.shareURLBase])
        }
        let clock = options.clock.cloudClock
        let upkeep = UpkeepThread(intervalSeconds: options.upkeepIntervalSeconds)
        let output = EventOutput(
            hook: options.onEvent, logger: options.logger, metricsFactory: options.metricsFactory,
            feed: EventFeed(), clock: clock, secretBase: options.shareURLBase)
        let recovery = StoreRecovery(output: output, firstPauseSeconds: options.recoveryPauseSeconds)
        let faults = FaultPlan(clock: clock)
        let bell = NotificationBell()
        let environment = CloudEnvironment(
            clock: clock, identifiers: options.identifiers.makeSource(), faults: faults,
            onEvent: { event in
                output.tell(event)
                if event.kind == .modifyZones { upkeep.wake() }
            },
            onInvitation: { invitation in
                if let hook = options.onInvitation, let told = Invitation(invitation) { hook(told) }
            },
            onSomethingToDeliver: { bell.ring() })
        let backing = StoreBacking(directory: directory, memory: options.memory)
        server = try HostedServer(
            backing: backing, environment: environment, options: options.cloudOptions,
            didFailWrite: { recovery.noteFailure($0) })
        let longLived: any LongLivedStore
        (longLived, forgetOperations) = Self.makeLongLivedStore(directory, backing.files)
        session = CloudSession(
            server: server, clock: clock, defaultContainerIdentifier: options.defaultContainerIdentifier,
            unknownZoneDeletionSucceeds: options.unknownZoneDeletionSucceeds,
            longLivedStore: longLived, notificationSource: server,
            onDeliveryFailure: { output.tellDeliveryFailure($0) })
        bell.attach(session.hub)
        self.directory = directory
        self.faults = faults
        self.options = options
        self.output = output
        self.upkeep = upkeep
        self.recovery = recovery
        startRecovery()
        startUpkeep()
        // What an end of the process has left behind.
        if directory != nil { session.hub.wake() }
        do { try startServingTool() } catch {
            upkeep.stop()
            recovery.stop()
            server.close()
            throw error
        }
    }

    private static func makeLongLivedStore(
        _ directory: URL?, _ files: any AssetFiles
    ) -> (store: any LongLivedStore, forget: @Sendable () -> Void) {
        if let directory {
            let operations = OperationFiles(
                directory: directory.appendingPathComponent("operations").path, files: files)
            return (operations, { operations.forget() })
        }
        let memory = MemoryLongLivedStore(
            takeDirectory: { MemoryDirectories.take() }, giveBack: { MemoryDirectories.giveBack($0) })
        return (memory, { for entry in memory.entries() { memory.remove(entry.id) } })
    }

    deinit {
        // Containers may outlive this object: their requests go on, the upkeep does not.
        upkeep.stop()
        recovery.stop()
        stopServingTool(forGood: true)
    }
}

// MARK: Opening

extension Stratus {
    /// Opens the store in a directory, or makes a new one there.
    ///
    /// A directory that is open in this process already is not opened twice: the same instance is returned, and its
    /// options stay as they are. A store stays open until `close()`, whoever refers to it.
    ///
    /// A store that an older version wrote is migrated to the format of this one, in one transaction; older versions cannot
    /// open it any more. Make a backup first if you may have to go back.
    ///
    /// - Parameters:
    ///   - directory: Where the store lies. It is made where it does not exist; its folder must exist.
    ///   - options: How the store is to be.
    /// - Returns: The store.
    /// - Throws: ``StratusError`` with `held` naming the process that has the store open, `notAStore` naming what lies
    ///   there instead, `newerFormat`, `notPermitted`, `diskFull`, or `corruption` naming the files it may lie in.
    ///   Nothing is ever repaired here.
    public static func open(at directory: URL, options: Options = Options()) throws -> Stratus {
        try OpenStratus.shared.open(directory) { try Stratus(directory: $0, options: options) }
    }

    /// Makes an empty store in memory, which is gone when nobody refers to it any more.
    ///
    /// - Parameter options: How the store is to be.
    /// - Returns: The store.
    /// - Throws: ``StratusError`` where there is no room for the files of assets.
    public static func inMemory(options: Options = Options()) throws -> Stratus {
        try StratusError.wrapping { try Stratus(directory: nil, options: options) }
    }
}

// MARK: Ending and beginning again

extension Stratus {
    /// Returns when every operation that was added and can run has called its last block, and every notification was
    /// delivered to whoever listens: handlers have returned, and tasks that waited for one have been given it. Sync
    /// engines have done what they can; one that pauses before its next attempt is not waited for.
    ///
    /// What is added meanwhile is waited for too. An operation is not waited for while it depends on one that was neither
    /// added nor started, since nobody may ever start that one; operations in queues of your own count from their start.
    /// It must not be called from a block of an operation, nor from a callback of a sync engine's delegate.
    public func settle() async {
        await session.activity.untilIdle()
    }

    /// Returns when every operation that was added and can run has called its last block, and every notification was
    /// delivered to whoever listens: handlers have returned, and tasks that waited for one have been given it.
    ///
    /// It blocks its thread: asynchronous code uses the variant that suspends. It must not be called from a block of an
    /// operation. What depends on an operation that was neither added nor started is not waited for.
    @available(*, noasync, message: "It blocks its thread: await the asynchronous variant.")
    public func settle() {
        session.activity.waitUntilIdle()
    }

    /// Finishes every request that was accepted, refuses later ones with `serviceUnavailable`, stops the upkeep, and
    /// closes the store: when this returns the directory is free for others. Closing again does nothing.
    ///
    /// An operation that was added and cannot run, because it depends on one that nobody has added or started, is
    /// cancelled when everything else has ended: it fails with `operationCancelled`.
    ///
    /// It blocks its thread until the last block of every operation was called, so it must not be called from one.
    public func close() {
        OpenStratus.shared.close(self) {
            session.close()
            session.activity.waitUntilOver()
            upkeep.stop()
            recovery.stop()
            session.hub.close()
            // The upkeep may have had something delivered meanwhile.
            session.activity.waitUntilOver()
            stopServingTool(forGood: true)
            server.close()
            // What a store in memory has kept goes with it.
            if directory == nil { forgetOperations() }
        }
    }

    /// Empties the store: accounts, devices, records, assets, planned faults and the signed-in account are gone. For tests.
    ///
    /// Requests under way are finished first, later ones wait. Change tokens, records and accounts from before are
    /// refused afterwards, as those of another store. Clocks, seeds and options stay as they are.
    ///
    /// The store is emptied whole or not at all: where the process ends meanwhile, the next process that opens the store
    /// finishes that, and nothing of it ever lies under another name.
    ///
    /// - Throws: ``StratusError`` where the store was closed, where its directory could not be written, and it is as it was,
    ///   and where it could not be made again, which the next opening tries again.
    public func reset() throws {
        try reset { _, _ in }
    }

    /// The same, and tells how many files and directories were removed, and of how many.
    package func reset(progress: (_ done: Int, _ total: Int) -> Void) throws {
        faults.removeAll()
        let tookNoWrites = server.writeFailure != nil
        // Whoever reads through it would be waited for, and the directory is made anew.
        stopServingTool()
        do {
            try upkeep.pausing {
                try StratusError.wrapping { try server.reset(progress) }
                forgetOperations()
            }
        } catch {
            // It may be as it was.
            try? startServingTool()
            throw error
        }
        if tookNoWrites { recovery.tellRecovered() }
        try startServingTool()
        session.hub.forget { _ in true }
        session.signIn(nil)
    }
}
