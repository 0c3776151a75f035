// A client as an app would write it: it asks a database what changed, fetches those zones, applies the changes, and
// keeps nothing between two runs but values and archived tokens.

import Foundation
import StratusKit
import StratusSharingSupport
import Synchronization

/// An app's data of one database.
struct SyncClient: Sendable {
    /// A zone and its known state.
    struct Zone: Sendable {
        var token: Data?
        var records: [String: String] = [:]
    }

    /// Something that the feeds said, in order.
    fileprivate enum Call: Sendable {
        case changed(CKRecord.ID, Result<CKRecord, any Error>)
        case deleted(CKRecord.ID)
        case token(CKRecordZone.ID, CKServerChangeToken?)
        case end(CKRecordZone.ID, Result<CKServerChangeToken, any Error>)
    }

    private let database: CKDatabase
    private let town: Town
    private let user: Int
    private let pageLimit: Int
    private var token: Data?
    private(set) var zones: [CKRecordZone.ID: Zone] = [:]
    /// Zones that the database reported and that were not fetched yet.
    private var changed: Set<CKRecordZone.ID> = []
    /// How often a token had expired.
    private(set) var expiryCount = 0

    init(_ user: Int, of town: Town, isShared: Bool, pageLimit: Int) {
        let container = town.people[user].container
        database = isShared ? container.sharedCloudDatabase : container.privateCloudDatabase
        self.town = town
        self.user = user
        self.pageLimit = pageLimit
    }

    // MARK: Zones

    /// Asks the database.
    mutating func fetchDatabase() async throws {
        do { try await fetchDatabase(since: try Self.token(token)) } catch let error as CKError
            where error.code == .changeTokenExpired
        {
            expiryCount += 1
            // What a complete fetch does not contain is gone.
            token = nil
            let known = Set(zones.keys)
            changed = []
            try await fetchDatabase(since: nil)
            for id in known.subtracting(changed) { zones[id] = nil }
        }
    }

    private mutating func fetchDatabase(since previous: CKServerChangeToken?) async throws {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: previous)
        operation.resultsLimit = pageLimit
        let calls = Mutex<[(CKRecordZone.ID, isGone: Bool)]>([])
        operation.recordZoneWithIDChangedBlock = { id in calls.withLock { $0.append((id, false)) } }
        operation.recordZoneWithIDWasDeletedBlock = { id in calls.withLock { $0.append((id, true)) } }
        let end: CKServerChangeToken = try await withCheckedThrowingContinuation { continuation in
            operation.fetchDatabaseChangesResultBlock = { continuation.resume(with: $0.map(\.serverChangeToken)) }
            database.add(operation)
        }
        for (id, isGone) in calls.withLock({ $0 }) {
            if isGone {
                changed.remove(id)
                zones[id] = nil
            } else {
                changed.insert(id)
            }
        }
        token = try Self.data(end)
    }

    // MARK: Records

    /// Fetches the zones that changed.
    mutating func fetchZones() async throws {
        // Twice, for those whose tokens had expired.
        for _ in 0..<2 where !changed.isEmpty { try await fetchChangedZones() }
    }

    private mutating func fetchChangedZones() async throws {
        var configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration] = [:]
        for id in changed {
            let previous = try Self.token(zones[id]?.token)
            configurations[id] = .init(previousServerChangeToken: previous, resultsLimit: pageLimit)
        }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: Array(changed), configurationsByRecordZoneID: configurations)
        let calls = Mutex<[Call]>([])
        operation.recordWasChangedBlock = { id, result in calls.withLock { $0.append(.changed(id, result)) } }
        operation.recordWithIDWasDeletedBlock = { id, _ in calls.withLock { $0.append(.deleted(id)) } }
        operation.recordZoneChangeTokensUpdatedBlock = { id, token, _ in calls.withLock { $0.append(.token(id, token)) }
        }
        operation.recordZoneFetchResultBlock = { id, result in
            calls.withLock { $0.append(.end(id, result.map(\.serverChangeToken))) }
        }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        for call in calls.withLock({ $0 }) { try apply(call) }
    }

    private mutating func apply(_ call: Call) throws {
        switch call {
        case .changed(let id, let result):
            zones[id.zoneID, default: Zone()].records[id.recordName] = town.view(of: try result.get(), to: user)
        case .deleted(let id): zones[id.zoneID]?.records[id.recordName] = nil
        case .token(let id, let token): zones[id, default: Zone()].token = try token.map { try Self.data($0) }
        case .end(let id, .success(let token)):
            zones[id, default: Zone()].token = try Self.data(token)
            changed.remove(id)
        case .end(let id, .failure(let error as CKError)) where error.code == .changeTokenExpired:
            expiryCount += 1
            zones[id] = nil
        case .end(let id, .failure(let error as CKError)) where error.code == .zoneNotFound:
            // The database will report it.
            zones[id] = nil
            changed.remove(id)
        case .end(_, .failure(let error)): throw error
        }
    }

    // MARK: Tokens

    private static func data(_ token: CKServerChangeToken) throws -> Data {
        try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    }

    private static func token(_ data: Data?) throws -> CKServerChangeToken? {
        try data.flatMap { try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: $0) }
    }
}
