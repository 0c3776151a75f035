// The server of a store that can be emptied, opened again and closed under its clients.
//
// Invariants:
//   1. A request uses one service from its beginning to its end.
//   2. Emptying and closing wait for running requests, and hold back new ones.
//   3. After closing every request is refused, and the directory's lock is free.
//   4. Reopening after a failed write creates a new engine and service, so that nothing cached in memory outlives the
//      commit in doubt. Requests that arrive meanwhile are refused with a retry time. Asset files that clients have
//      received stay.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

/// Passes requests to the newest service of the store.
final class HostedServer: CloudServer, NotificationSource, @unchecked Sendable {
    // Unchecked because every variable is accessed only between `condition.lock` and `unlock`.
    private enum State {
        case open(CloudService)
        /// The store is being emptied or closed: requests wait.
        case changing
        case closed
        /// The store is being reopened after a failed write: requests are refused for a moment.
        case recovering(from: any Error)
        /// The store could not be recreated or reopened: until it is, requests fail with this message and reason.
        case unopened(Interruption, StaticString, any Error)
    }

    /// A store that was closed for reopening. Empty for one that could not be recreated: opening it completes an
    /// interrupted emptying or creation.
    private struct Interruption {
        var continuation: StoreBacking.Continuation?
        /// The store's own identity.
        var incarnation: UUID?
        var assets: AssetStore?
    }

    /// How long clients wait before they try again while the store is being reopened.
    private static let retrySeconds = 1.0
    /// How long running requests may continue when the store must be reopened.
    private static let requestSeconds = 5.0

    private let condition = TimedCondition()
    /// One recovery at a time.
    private let recovering = NSLock()
    private var state: State
    private var runningCount = 0
    /// Whether running requests must end now, because the store is being reopened.
    private var isAbandoningRequests = false
    private let backing: StoreBacking
    private let environment: CloudEnvironment
    private let options: CloudOptions
    private let watches = Locked<[StoreWatch]>([])
    private let onChange = Locked<(@Sendable () -> Void)?>(nil)

    init(backing: StoreBacking, environment: CloudEnvironment, options: CloudOptions) throws {
        self.backing = backing
        self.environment = environment
        self.options = options
        state = .changing
        state = .open(try makeService(backing.open()))
    }

    /// Lends the service. Waits while the store is being emptied or closed. Throws `CloudError` with
    /// `serviceUnavailable` if the store was closed, is being reopened, or could not be reopened.
    func withService<Result>(_ body: (CloudService) throws -> Result) throws -> Result {
        let service = try begin()
        defer {
            condition.withLock {
                runningCount -= 1
                if runningCount == 0 { condition.broadcast() }
            }
        }
        return try body(service)
    }

    /// Replaces the store with an empty one. `progress` gets the number of files and directories removed so far, and
    /// their total. If this throws before the first removal, the store continues unchanged.
    func reset(_ progress: WorkMeter.Listener) throws {
        guard let service = waitForEnd() else { throw refusal }
        let store = service.engine.store
        let begun = Result { try backing.beginEmptying(store) }
        // The store is unchanged, and stays open.
        if case .failure(let error) = begun, (error as? StoreError)?.code != .commitUnknown {
            finish(.open(service))
            throw error
        }
        do {
            try begun.get()
            finish(.open(try makeService(backing.reopenEmpty(store, progress))))
        } catch {
            backing.close(store)
            let message: StaticString =
                "The store could not be created again: the host has to fix the cause, then recover or reopen it."
            finish(.unopened(Interruption(), message, error))
            throw error
        }
    }

    /// The path by which the store's directory is reached while it is held; nil while it is not.
    func heldPath(of path: String) -> String? { backing.held?.isHeld == true ? backing.held?.reached(path) : nil }

    /// Why the store refuses writes; nil while it accepts them.
    var writeFailure: (any Error)? {
        switch condition.withLock({ state }) {
        case .open(let service): return backing.failure(of: service.engine.store)
        case .recovering(let error), .unopened(_, _, let error): return error
        case .closed: return Self.closedError
        case .changing: return nil
        }
    }

    /// Reopens the store after a failed write. Returns false, and does nothing, if none has failed.
    ///
    /// Throws the error that prevents the store from being opened. If the disk has no room for reopening, the store
    /// stays as it is and continues to answer reads; otherwise requests are refused until a later call succeeds.
    func recover() throws -> Bool {
        recovering.lock()
        defer { recovering.unlock() }
        guard let interruption = try beginRecovery() else { return false }
        do {
            let opened = try backing.open(continuing: interruption.continuation)
            finish(.open(try makeService(opened, after: interruption)))
            return true
        } catch {
            let message: StaticString =
                "The store could not be opened again after a failed write: fix the cause, then call recover()."
            finish(.unopened(interruption, message, error))
            throw error
        }
    }

    /// Closes the store if it is open and refuses writes. Returns nil if there is nothing to do.
    private func beginRecovery() throws -> Interruption? {
        condition.lock()
        defer { condition.unlock() }
        waitWhileChanging()
        switch state {
        case .closed: throw Self.closedError
        case .unopened(let interruption, _, let error):
            state = .recovering(from: error)
            return interruption
        case .changing, .recovering: return nil
        case .open(let service):
            let store = service.engine.store
            guard let failure = try failureToRecover(from: store), case .open(let current) = state, current === service
            else { return nil }
            state = .recovering(from: failure)
            let end = TimedCondition.now + Self.requestSeconds
            while runningCount > 0, condition.wait(until: end) {}
            // From here on, reads and writes of requests that still run are refused. This does not wait for them:
            // one of them may be waiting for this recovery.
            isAbandoningRequests = true
            condition.unlock()
            let continuation = backing.closeToReopen(store, readerSeconds: 0)
            condition.lock()
            return Interruption(
                continuation: continuation, incarnation: service.engine.openedIncarnation, assets: service.assets)
        }
    }

    /// Why the store refuses writes, if there is room to reopen it; nil if it accepts them. The caller holds the
    /// lock, which is released meanwhile, so that requests continue.
    private func failureToRecover(from store: any OrderedStore) throws -> StoreError? {
        condition.unlock()
        defer { condition.lock() }
        guard let failure = backing.failureToReopen(store) else { return nil }
        try backing.checkRoom(for: store)
        return failure
    }

    /// Whether a running request must end, because the store is being reopened and the request's time is over.
    var isAbandoned: Bool { condition.withLock { isAbandoningRequests } }

    /// Closes the store when the running requests have ended.
    func close() {
        if let service = waitForEnd(isClosing: true) {
            watches.withLock { $0 = [] }
            service.engine.leave()
            backing.close(service.engine.store)
            finish(.closed)
        }
        backing.close()
    }

    // MARK: Helpers

    /// The service of a store that was opened or created. With `interruption` it replaces the service of the store
    /// that was closed then.
    private func makeService(
        _ opened: (store: any OrderedStore, notices: [StoreError]), after interruption: Interruption? = nil
    ) throws -> CloudService {
        let (store, notices) = opened
        do {
            var engineOptions = backing.options.engineOptions
            // Another store at the path is refused without being migrated.
            if interruption?.incarnation != nil { engineOptions.olderFormat = .kept }
            let engine = try RecordEngine(
                store: store, options: engineOptions, incarnation: environment.identifiers.makeUUID())
            if let incarnation = interruption?.incarnation, engine.openedIncarnation != incarnation {
                throw StoreError(.unavailable, "Another store is at the path: put back the store that was open.")
            }
            try backing.adoptFormat(store)
            let assets =
                interruption?.assets
                ?? AssetStore(
                    directory: backing.assetDirectory, session: environment.identifiers.makeUUID(),
                    clock: environment.clock, byteCountLimit: options.assetByteCount,
                    copySeconds: options.assetCopySeconds, files: backing.files, engine: engine)
            let service = CloudService(engine: engine, environment: environment, options: options, assets: assets)
            try service.removeLeftovers()
            // Create the key with the store. In a copy of a store without one, tokens would be valid only for the copy.
            try service.tokenKeeper.seal(of: engine, environment.identifiers)
            try service.engine.beat()
            watch(store)
            for notice in notices { environment.onEvent?(CloudEvent(notice: notice)) }
            return service
        } catch {
            backing.close(store)
            throw error
        }
    }

    /// Shows other hosts that this one is alive. Sends the host an event if this has made all change tokens expire.
    func beat() throws {
        let isRenewed = try withService { service in
            try service.engine.beat()
            return service.engine.takeRenewal()
        }
        guard isRenewed else { return }
        environment.onEvent?(
            CloudEvent(
                notice: StoreError(
                    .serverSetting,
                    "The server may have lost commits: all change tokens are expired, and clients fetch everything again."
                )))
    }

    /// Sets the action to call when another host may have changed what sessions wait for. It must be quick.
    func whenOthersChange(_ action: @escaping @Sendable () -> Void) { onChange.withLock { $0 = action } }

    /// Wakes the sessions for what other hosts write.
    private func watch(_ store: any OrderedStore) {
        guard store.isShared else { return }
        let new = CloudService.announcedRanges.map { range in
            store.watchOthers(range) { [onChange] in onChange.value?() }
        }
        watches.withLock { $0 = new }
    }

    /// Why no service can answer.
    private var refusal: CloudError {
        guard let failure = writeFailure, (failure as? CloudError)?.code != Self.closedError.code else {
            return Self.closedError
        }
        return CloudError(
            .serviceUnavailable, "The store is closed because a write has failed: fix the cause, then call recover().",
            cause: "\(failure)")
    }

    private static var closedError: CloudError {
        CloudError(.serviceUnavailable, "The store was closed: open it again.")
    }

    private func begin() throws -> CloudService {
        condition.lock()
        defer { condition.unlock() }
        while true {
            switch state {
            case .open(let service):
                runningCount += 1
                return service
            case .changing:
                condition.wait()
            case .closed:
                throw Self.closedError
            case .recovering:
                throw CloudError(
                    .serviceUnavailable, "The store is being opened again after a failed write: try again.",
                    retryAfterSeconds: Self.retrySeconds)
            case .unopened(_, let message, let error):
                var answer = CloudError(
                    .serviceUnavailable, message, cause: "\(error)", retryAfterSeconds: Self.retrySeconds)
                if (error as? StoreError)?.code == .corruption { answer.isDamage = true }
                throw answer
            }
        }
    }

    /// Holds back new requests and waits for running ones. Returns nil if the store is not open.
    private func waitForEnd(isClosing: Bool = false) -> CloudService? {
        condition.lock()
        defer { condition.unlock() }
        waitWhileChanging()
        // A store that could not be reopened or recreated has nothing to close.
        if isClosing, case .unopened = state { state = .closed }
        guard case .open(let service) = state else { return nil }
        state = .changing
        while runningCount > 0 { condition.wait() }
        return service
    }

    /// The caller holds the lock.
    private func waitWhileChanging() {
        while true {
            switch state {
            case .changing, .recovering: condition.wait()
            case .open, .closed, .unopened: return
            }
        }
    }

    private func finish(_ next: State) {
        condition.change {
            state = next
            isAbandoningRequests = false
        }
    }

    func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer {
        try withService { try $0.answer(request, as: caller, in: place) }
    }

    func holdAssets() throws -> AssetHold? { try withService { $0.holdAssets() } }

    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] {
        try withService {
            try $0.copyAssets(wanted, as: caller, in: database, under: hold, shouldContinue: shouldContinue)
        }
    }

    func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String {
        try withService { try $0.copyAsset(wanted, as: caller, in: database) }
    }

    func releaseCopies(_ paths: [String], unseen: [String]) {
        // A store that is being emptied or closed removes its copies itself, now or when it is opened.
        condition.withLock { if case .open(let service) = state { service.releaseCopies(paths, unseen: unseen) } }
    }

    func deliverNotifications() throws -> Set<DeviceAddress> { try withService { try $0.deliverNotifications() } }

    func takeNotifications(for device: DeviceAddress, limit: Int) throws -> [ClientNotification] {
        try withService { try $0.takeNotifications(for: device, limit: limit) }
    }

    func news(of devices: Set<DeviceAddress>) throws -> [DeviceAddress: DeviceNews]? {
        try withService { try $0.news(of: devices) }
    }

    /// Whether other processes may write the store.
    var isShared: Bool { (try? withService { $0.engine.store.isShared }) ?? false }

    func registerDevice(_ device: DeviceAddress) throws { try withService { try $0.registerDevice(device) } }
}

extension CloudEvent {
    /// What the host should know of its store, although nothing has failed.
    init(notice: StoreError) {
        // The client that sent a dropped commit never got an answer.
        let code: CloudError.Code = notice.code == .commitDropped ? .serverResponseLost : .internalError
        self.init(
            kind: .openStore, caller: Caller(container: "", account: nil),
            error: CloudError(code, text: notice.message, notice.fields, cause: notice.cause))
    }
}
