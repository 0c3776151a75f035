// The server of a store that can be emptied and closed under its clients.
//
// Invariants:
//   1. A request uses one service from its beginning to its end.
//   2. Emptying and closing wait for the requests that run, and hold back those that come.
//   3. After closing every request is refused, and the directory's lock is free.

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
        /// The store could not be made anew: requests are refused with the reason.
        case failed(any Error)
    }

    private let condition = NSCondition()
    private var state: State
    private var runningCount = 0
    private let backing: StoreBacking
    private let environment: CloudEnvironment
    private let options: CloudOptions

    init(backing: StoreBacking, environment: CloudEnvironment, options: CloudOptions) throws {
        self.backing = backing
        self.environment = environment
        self.options = options
        state = .open(try Self.makeService(backing, environment, options))
    }

    /// Lends the service. Throws `CloudError` with `serviceUnavailable` when the store was closed.
    func withService<Result>(_ body: (CloudService) throws -> Result) throws -> Result {
        let service = try begin()
        defer { end() }
        return try body(service)
    }

    /// Replaces the store by an empty one. The files of the one before are left to `removeSetAside`.
    func reset() throws {
        guard let service = waitForEnd() else { throw Self.closedError }
        service.engine.store.close()
        do {
            try backing.setAside()
            finish(.open(try Self.makeService(backing, environment, options)))
        } catch {
            finish(.failed(error))
            throw error
        }
    }

    /// Removes the files of stores that were replaced. `progress` is told how many files and directories were removed, and of
    /// how many.
    func removeSetAside(_ progress: @escaping WorkMeter.Listener) throws { try backing.removeSetAside(progress) }

    /// Closes the store when the requests that run have ended.
    func close() {
        guard let service = waitForEnd() else { return }
        service.engine.store.close()
        backing.close()
        finish(.closed)
    }

    // MARK: Helpers

    private static func makeService(
        _ backing: StoreBacking, _ environment: CloudEnvironment, _ options: CloudOptions
    ) throws -> CloudService {
        let store = try backing.open()
        do {
            let engine = try RecordEngine(
                store: store, options: backing.memory.engineOptions, incarnation: environment.identifiers.makeUUID())
            let assets = AssetStore(
                directory: backing.assetDirectory, session: environment.identifiers.makeUUID(),
                clock: environment.clock, byteCountLimit: options.assetByteCount,
                copySeconds: options.assetCopySeconds)
            let service = CloudService(engine: engine, environment: environment, options: options, assets: assets)
            try service.removeLeftovers()
            // With the store: in a copy of a store that has none, a reader's tokens would be that copy's alone.
            try service.tokenKeeper.seal(of: engine, environment.identifiers)
            return service
        } catch {
            store.close()
            throw error
        }
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
                    .serviceUnavailable, "The store could not be made anew: mend the cause and open it again.",
                    cause: "\(error)")
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
    private func waitForEnd() -> CloudService? {
        condition.lock()
        defer { condition.unlock() }
        while case .changing = state { condition.wait() }
        guard case .open(let service) = state else { return nil }
        state = .changing
        while runningCount > 0 { condition.wait() }
        return service
    }

    private func finish(_ next: State) {
        condition.lock()
        state = next
        condition.broadcast()
        condition.unlock()
    }
}

extension HostedServer: CloudServer {
    func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyRecordsResponse {
        try withService { try $0.modifyRecords(request, as: caller, in: database) }
    }

    func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchRecordsResponse {
        try withService { try $0.fetchRecords(request, as: caller, in: database) }
    }

    func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyZonesResponse {
        try withService { try $0.modifyZones(request, as: caller, in: database) }
    }

    func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(ZoneAddress, Result<ClientZone, CloudError>)] {
        try withService { try $0.fetchZones(request, as: caller, in: database) }
    }

    func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchDatabaseChangesResponse {
        try withService { try $0.fetchDatabaseChanges(request, as: caller, in: database) }
    }

    func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchZoneChangesResponse {
        try withService { try $0.fetchZoneChanges(request, as: caller, in: database) }
    }

    func query(_ request: QueryRequest, as caller: Caller, in database: DatabaseSelector) throws -> QueryResponse {
        try withService { try $0.query(request, as: caller, in: database) }
    }

    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifySubscriptionsResponse {
        try withService { try $0.modifySubscriptions(request, as: caller, in: database) }
    }

    func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(String, Result<ClientSubscription, CloudError>)] {
        try withService { try $0.fetchSubscriptions(request, as: caller, in: database) }
    }

    func fetchNotificationChanges(
        _ request: FetchNotificationChangesRequest, as caller: Caller
    ) throws -> FetchNotificationChangesResponse {
        try withService { try $0.fetchNotificationChanges(request, as: caller) }
    }

    func markNotificationsRead(_ ids: [UUID], as caller: Caller) throws {
        try withService { try $0.markNotificationsRead(ids, as: caller) }
    }

    func modifyBadge(_ badge: Int, as caller: Caller) throws {
        try withService { try $0.modifyBadge(badge, as: caller) }
    }

    func webAuthToken(apiToken: String, as caller: Caller) throws -> String {
        try withService { try $0.webAuthToken(apiToken: apiToken, as: caller) }
    }

    func requestLimits() throws -> RequestSize { try withService { $0.requestLimits() } }

    func checkItemCount(_ count: Int) throws { try withService { try $0.checkItemCount(count) } }

    func isTooLarge(fileAt path: String) throws -> Bool { try withService { $0.isTooLarge(fileAt: path) } }

    func accountStatus(of caller: Caller) throws -> AccountStatus {
        try withService { try $0.accountStatus(of: caller) }
    }

    func userName(of caller: Caller) throws -> UserName {
        try withService { try $0.userName(of: caller) }
    }

    func isDiscoverable(_ caller: Caller) throws -> Bool {
        try withService { try $0.isDiscoverable(caller) }
    }

    func discover(_ lookups: [IdentityLookup], as caller: Caller) throws -> [DiscoveredIdentity?] {
        try withService { try $0.discover(lookups, as: caller) }
    }

    func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws -> [Result<ClientParticipant, CloudError>] {
        try withService { try $0.shareParticipants(for: lookups, as: caller) }
    }

    func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws -> [Result<ClientShareMetadata, CloudError>] {
        try withService { try $0.shareMetadata(request, as: caller) }
    }

    func acceptShares(_ urls: [String], as caller: Caller) throws -> [Result<ClientRecord, CloudError>] {
        try withService { try $0.acceptShares(urls, as: caller) }
    }

    func requestShareAccess(_ urls: [String], as caller: Caller) throws -> [Result<Void, CloudError>] {
        try withService { try $0.requestShareAccess(urls, as: caller) }
    }

    func copyAsset(
        _ asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        in database: DatabaseSelector
    ) throws -> String {
        try withService { try $0.copyAsset(asset, in: field, of: record, as: caller, in: database) }
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

    func releaseCopies(_ paths: [String], unseen: [String]) {
        condition.lock()
        defer { condition.unlock() }
        // A store that is emptied or closed removes its copies itself, now or when it is opened.
        if case .open(let service) = state { service.releaseCopies(paths, unseen: unseen) }
    }
}
