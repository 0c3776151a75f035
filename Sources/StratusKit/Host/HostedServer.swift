// The server of a store that can be emptied, opened again and closed under its clients.
//
// Invariants:
//   1. A request uses one service from its beginning to its end.
//   2. Emptying and closing wait for the requests that run, and hold back those that come.
//   3. After closing every request is refused, and the directory's lock is free.
//   4.  Opening again after a failed write gives a new engine and service, so that nothing that was kept in memory
//      outlives the commit in doubt. Requests that come meanwhile are refused with a time to try again. Files of assets
//      that clients were given stay.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

/// Requests go to the newest service of the store.
final class HostedServer: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    private enum State {
        case open(CloudService)
        /// Somebody empties or closes the store: requests wait.
        case changing
        case closed
        /// The store could not be created again: requests are refused with the reason.
        case failed(any Error)
        /// The store is opened again after a failed write: requests are refused for a moment.
        case recovering(from: any Error)
        /// It could not be opened again: requests are refused with the reason until it can.
        case unrecovered(Interruption, any Error)
    }

    /// A store that was closed to be opened again.
    private struct Interruption {
        let continuation: StoreBacking.Continuation?
        /// The store's own identity.
        let incarnation: UUID?
        let assets: AssetStore?
    }

    /// What clients wait before they try again while the store is opened again.
    private static let retrySeconds = 1.0
    /// How long the requests that run may go on when the store is to be opened again.
    private static let requestSeconds = 5.0

    private let condition = TimedCondition()
    /// One recovery at a time.
    private let recovering = NSLock()
    private var state: State
    private var runningCount = 0
    /// Whether the requests that run have had their time, because the store is opened again.
    private var isAbandoningRequests = false
    private let backing: StoreBacking
    private let environment: CloudEnvironment
    private let options: CloudOptions
    private let didFailWrite: @Sendable (StoreError) -> Void

    /// `didFailWrite` is called when a write has failed: it must be short and must not call the server.
    init(
        backing: StoreBacking, environment: CloudEnvironment, options: CloudOptions,
        didFailWrite: @escaping @Sendable (StoreError) -> Void = { _ in }
    ) throws {
        self.backing = backing
        self.environment = environment
        self.options = options
        self.didFailWrite = didFailWrite
        state = .changing
        state = .open(try makeService(backing.open(didFailWrite: didFailWrite)))
    }

    /// Lends the service. Throws `CloudError` with `serviceUnavailable` when the store was closed.
    func withService<Result>(_ body: (CloudService) throws -> Result) throws -> Result {
        let service = try begin()
        defer { end() }
        return try body(service)
    }

    /// Replaces the store by an empty one. `progress` hears how many files and directories were removed, and of how
    /// many. Where this throws before the first is, the store goes on as it was.
    func reset(_ progress: WorkMeter.Listener) throws {
        guard let service = waitForEnd() else { throw refusal }
        let store = service.engine.store
        do {
            try backing.beginEmptying(store)
        } catch {
            guard !StoreBacking.isUnchanged(after: error) else {
                finish(.open(service))
                throw error
            }
            backing.close(store)
            finish(.failed(error))
            throw error
        }
        backing.close(store)
        do {
            finish(.open(try makeService(backing.reopenEmpty(didFailWrite: didFailWrite, progress))))
        } catch {
            finish(.failed(error))
            throw error
        }
    }

    /// How the store's directory is reached while it is held; nil while it is not.
    func heldPath(of path: String) -> String? { backing.held?.isHeld == true ? backing.held?.reached(path) : nil }

    /// Why the store takes no writes; nil while it does.
    var writeFailure: (any Error)? {
        condition.lock()
        let state = state
        condition.unlock()
        switch state {
        case .open(let service): return backing.failure(of: service.engine.store)
        case .failed(let error), .recovering(let error), .unrecovered(_, let error): return error
        case .closed: return Self.closedError
        case .changing: return nil
        }
    }

    /// Opens the store again after a failed write. Returns false, and does nothing, where none has failed.
    ///
    /// Throws what keeps the store from being opened. Where the disk has no room for it the store is left as it was,
    /// and goes on to answer reads; otherwise requests are refused until this is called again and succeeds.
    func recover() throws -> Bool {
        recovering.lock()
        defer { recovering.unlock() }
        guard let interruption = try beginRecovery() else { return false }
        do {
            let opened = try backing.open(continuing: interruption.continuation, didFailWrite: didFailWrite)
            finish(.open(try makeService(opened, after: interruption)))
            return true
        } catch {
            finish(.unrecovered(interruption, error))
            throw error
        }
    }

    /// Closes the store, if it is there and takes no writes. Returns nil where there is nothing to do.
    private func beginRecovery() throws -> Interruption? {
        condition.lock()
        defer { condition.unlock() }
        waitWhileChanging()
        switch state {
        case .closed: throw Self.closedError
        case .failed(let error):
            // What was being emptied, or created again, is finished by opening it.
            state = .recovering(from: error)
            return Interruption(continuation: nil, incarnation: nil, assets: nil)
        case .unrecovered(let interruption, let error):
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
            // From here on reads and writes of those that still run are refused. It does not wait for them: one of
            // them may be waiting for this recovery.
            isAbandoningRequests = true
            condition.unlock()
            let continuation = backing.closeToReopen(store, readerSeconds: 0)
            condition.lock()
            return Interruption(
                continuation: continuation, incarnation: service.engine.openedIncarnation, assets: service.assets)
        }
    }

    /// Why the store takes no writes, if there is room to open it again; nil if it takes them. The caller holds the
    /// lock. It is released meanwhile, so that requests continue.
    private func failureToRecover(from store: any OrderedStore) throws -> StoreError? {
        condition.unlock()
        defer { condition.lock() }
        guard let failure = backing.failure(of: store) else { return nil }
        try backing.checkRoom(for: store)
        return failure
    }

    /// Whether a request that runs on is to end, because the store is opened again and its time is over.
    var isAbandoned: Bool {
        condition.lock()
        defer { condition.unlock() }
        return isAbandoningRequests
    }

    /// Closes the store when the requests that run have ended.
    func close() {
        if let service = waitForEnd(isClosing: true) {
            backing.close(service.engine.store)
            finish(.closed)
        }
        backing.close()
    }

    // MARK: Helpers

    /// The service of what was opened, or created; with `interruption` in the place of the store that was closed then.
    private func makeService(
        _ opened: (store: any OrderedStore, notices: [StoreError]), after interruption: Interruption? = nil
    ) throws -> CloudService {
        let (store, notices) = opened
        do {
            var engineOptions = backing.memory.engineOptions
            // Another store is looked at before it is refused, and not migrated.
            if interruption?.incarnation != nil { engineOptions.olderFormat = .kept }
            let engine = try RecordEngine(
                store: store, options: engineOptions, incarnation: environment.identifiers.makeUUID())
            if let incarnation = interruption?.incarnation, engine.openedIncarnation != incarnation {
                throw StoreError(.unavailable, "Another store is at the path: put the one back that was open.")
            }
            try backing.adoptFormat(store)
            let assets =
                interruption?.assets
                ?? AssetStore(
                    directory: backing.assetDirectory, session: environment.identifiers.makeUUID(),
                    clock: environment.clock, byteCountLimit: options.assetByteCount,
                    copySeconds: options.assetCopySeconds, files: backing.files)
            let service = CloudService(engine: engine, environment: environment, options: options, assets: assets)
            try service.removeLeftovers()
            // With the store: in a copy of a store that has none, a reader's tokens would be that copy's alone.
            try service.tokenKeeper.seal(of: engine, environment.identifiers)
            for notice in notices { environment.onEvent?(CloudEvent(opening: notice)) }
            return service
        } catch {
            backing.close(store)
            throw error
        }
    }

    /// Why there is no service to be asked.
    private var refusal: CloudError {
        guard let failure = writeFailure, (failure as? CloudError)?.code != Self.closedError.code else {
            return Self.closedError
        }
        return CloudError(
            .serviceUnavailable, "The store is not open since a write has failed: fix the cause, then call recover().",
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
            case .failed(let error):
                throw CloudError(
                    .serviceUnavailable,
                    "The store could not be created again: the host has to fix the cause, then recover or reopen it.",
                    cause: "\(error)", retryAfterSeconds: Self.retrySeconds)
            case .recovering:
                throw CloudError(
                    .serviceUnavailable, "The store is being opened again after a failed write: try again.",
                    retryAfterSeconds: Self.retrySeconds)
            case .unrecovered(_, let error):
                throw CloudError(
                    .serviceUnavailable,
                    "The store could not be opened again after a failed write: the host has to look into the cause.",
                    cause: "\(error)", retryAfterSeconds: Self.retrySeconds)
            }
        }
    }

    private func end() {
        condition.lock()
        runningCount -= 1
        if runningCount == 0 { condition.broadcast() }
        condition.unlock()
    }

    /// Holds back requests and waits for those that run; nil when the store is closed.
    private func waitForEnd(isClosing: Bool = false) -> CloudService? {
        condition.lock()
        defer { condition.unlock() }
        waitWhileChanging()
        // One that could not be opened or created again has nothing open.
        switch state {
        case .unrecovered where isClosing, .failed where isClosing: state = .closed
        default: break
        }
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
            case .open, .closed, .failed, .unrecovered: return
            }
        }
    }

    private func finish(_ next: State) {
        condition.lock()
        state = next
        isAbandoningRequests = false
        condition.broadcast()
        condition.unlock()
    }
}

extension CloudEvent {
    /// The event for a notice from opening the store.
    fileprivate init(opening notice: StoreError) {
        // The client that had saved what is dropped never got an answer.
        let code: CloudError.Code = notice.code == .commitDropped ? .serverResponseLost : .internalError
        self.init(
            kind: .openStore, caller: Caller(container: "", account: nil),
            error: CloudError(code, text: notice.message, notice.fields, cause: notice.cause))
    }
}

extension HostedServer: CloudServer {
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
        condition.lock()
        defer { condition.unlock() }
        // A store that is emptied or closed removes its copies itself, now or when it is opened.
        if case .open(let service) = state { service.releaseCopies(paths, unseen: unseen) }
    }
}
