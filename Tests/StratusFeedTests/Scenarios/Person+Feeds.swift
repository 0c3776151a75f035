// What people read from the feeds in scenarios: one page with the calls of `CKDatabase`, or everything that an
// operation delivers.

import Foundation
import StratusKit
import StratusSharingSupport
import Synchronization

/// A person's changes of a zone.
struct PulledRecords {
    var records: [String: CKRecord] = [:]
    /// With their types.
    var deleted: [String: String] = [:]
    var token: CKServerChangeToken
    var isMoreComing: Bool

    var names: [String] { records.keys.sorted() }
}

/// A person's changes of a database.
struct PulledZones {
    var changed: Set<CKRecordZone.ID>
    var deleted: [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason]
    var token: CKServerChangeToken
    var isMoreComing: Bool
}

extension Person {
    /// One page of a zone.
    func pull(
        _ place: Place, since token: CKServerChangeToken? = nil, limit: Int? = nil, keys: [String]? = nil
    ) async throws -> PulledRecords {
        let page = try await database(place).recordZoneChanges(
            inZoneWith: zoneID(place), since: token, desiredKeys: keys, resultsLimit: limit)
        var pulled = PulledRecords(token: page.changeToken, isMoreComing: page.moreComing)
        for (id, result) in page.modificationResultsByID { pulled.records[id.recordName] = try result.get().record }
        for deletion in page.deletions { pulled.deleted[deletion.recordID.recordName] = deletion.recordType }
        return pulled
    }

    /// One page of the private or the shared database.
    func pullZones(
        isShared: Bool = false, since token: CKServerChangeToken? = nil, limit: Int? = nil
    ) async throws -> PulledZones {
        let database = isShared ? container.sharedCloudDatabase : container.privateCloudDatabase
        let page = try await database.databaseChanges(since: token, resultsLimit: limit)
        return PulledZones(
            changed: Set(page.modifications.map(\.zoneID)),
            deleted: Dictionary(page.deletions.map { ($0.zoneID, $0.reason) }, uniquingKeysWith: { first, _ in first }),
            token: page.changeToken, isMoreComing: page.moreComing)
    }

    func pulling(_ place: Place, since token: CKServerChangeToken?) async -> Outcome {
        await Outcome.of { _ = try await pull(place, since: token) }
    }

    func pullingZones(isShared: Bool = false, since token: CKServerChangeToken?) async -> Outcome {
        await Outcome.of { _ = try await pullZones(isShared: isShared, since: token) }
    }
}

/// The calls of an operation's blocks, as words in order.
final class BlockLog: Sendable {
    private let calls = Mutex<[String]>([])
    private let tokens = Mutex<[CKServerChangeToken]>([])

    func add(_ call: String) { calls.withLock { $0.append(call) } }

    func add(_ call: String, _ token: CKServerChangeToken?) {
        add(call)
        if let token { tokens.withLock { $0.append(token) } }
    }

    var all: [String] { calls.withLock { $0 } }
    var allTokens: [CKServerChangeToken] { tokens.withLock { $0 } }

    func count(of call: String) -> Int { all.count { $0 == call } }
}

extension CKFetchRecordZoneChangesOperation {
    /// Runs the operation in a database. Every block writes its arguments: `record a`, `deleted a Item`, `token`, `zone
    /// Docs` and whether more is coming, or the error; then how the whole ended.
    func trace(in database: CKDatabase, onToken: @escaping @Sendable () -> Void = {}) async -> BlockLog {
        let log = BlockLog()
        recordWasChangedBlock = { id, result in log.add("record \(id.recordName) \(Outcome(result))") }
        recordWithIDWasDeletedBlock = { log.add("deleted \($0.recordName) \($1)") }
        recordZoneChangeTokensUpdatedBlock = { _, token, _ in
            log.add("token", token)
            onToken()
        }
        recordZoneFetchResultBlock = { id, result in
            let end = (try? result.get()).map { $0.moreComing ? "more" : "end" }
            log.add("zone \(id.zoneName) \(end ?? "\(Outcome(result))")", (try? result.get())?.serverChangeToken)
        }
        await withCheckedContinuation { continuation in
            fetchRecordZoneChangesResultBlock = { result in
                log.add("\(Outcome(result))")
                continuation.resume()
            }
            database.add(self)
        }
        return log
    }
}

extension CKFetchDatabaseChangesOperation {
    /// The same for a database: `changed Docs`, `deleted Docs`, `token`, and the end.
    func trace(in database: CKDatabase, isPurgeHandled: Bool = false) async -> BlockLog {
        let log = BlockLog()
        recordZoneWithIDChangedBlock = { log.add("changed \($0.zoneName)") }
        recordZoneWithIDWasDeletedBlock = { log.add("deleted \($0.zoneName)") }
        if isPurgeHandled {
            recordZoneWithIDWasPurgedBlock = { log.add("purged \($0.zoneName)") }
            recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { log.add("reset \($0.zoneName)") }
        }
        changeTokenUpdatedBlock = { log.add("token", $0) }
        await withCheckedContinuation { continuation in
            fetchDatabaseChangesResultBlock = { result in
                let end = (try? result.get()).map { $0.moreComing ? "more" : "end" }
                log.add(end ?? "\(Outcome(result))", (try? result.get())?.serverChangeToken)
                continuation.resume()
            }
            database.add(self)
        }
        return log
    }
}
