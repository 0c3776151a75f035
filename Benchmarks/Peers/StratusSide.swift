// Ourselves, as a host would use the engine: the default options of store and record layer.

import Foundation
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore

/// A store of our own with its record engine, and a second engine on the same store without the ancestor cache.
final class StratusSide: Sendable {
    static let database = DatabaseID(container: "iCloud.com.example.benchmarks", owner: "_owner", scope: .private)
    static let mainZone = zone("main")

    let store: LevelDBStore
    let engine: RecordEngine
    /// Reads only: what others write it must not be told.
    let uncached: RecordEngine

    init(at path: String, options: LevelDBOptions = LevelDBOptions()) throws {
        store = try LevelDBStore.open(at: path, options: options)
        engine = try RecordEngine(store: store, incarnation: Self.identity(1))
        var withoutCache = RecordEngineOptions()
        withoutCache.ancestorCacheByteCount = 0
        uncached = try RecordEngine(store: store, options: withoutCache, incarnation: Self.identity(1))
    }

    static func zone(_ name: ZoneName) -> ZoneID { ZoneID(database: database, name: name) }

    func createZone(_ zone: ZoneID) throws {
        let birth = ZoneBirth(
            identity: Self.identity(UInt8(truncatingIfNeeded: zone.name.text.hashValue)),
            incarnation: Self.identity(2), stamp: DataClock.stamp, databaseIdentity: Self.identity(3))
        try engine.transact { _ = try $0.createZone(zone, birth) }
    }

    /// One durable commit.
    @discardableResult
    func save(_ records: [Record], in zone: ZoneID) throws -> MutationPlan {
        let request = MutationRequest(records.map { .save($0) }, stamp: DataClock.stamp, tagSalt: 7)
        return try engine.transact { try $0.apply(request, in: zone) }
    }

    /// Creates a zone and saves all its records, `RecordBatches.recordCount` a commit.
    func load(_ data: ZoneData, into zone: ZoneID) throws {
        try createZone(zone)
        for batch in RecordBatches.indices(of: data) { try save(batch.map { data.record($0) }, in: zone) }
    }

    /// What `body` cost the store, counted.
    func cost(_ body: () throws -> Void) rethrows -> StoreStatistics {
        let before = store.statistics
        try body()
        var after = store.statistics
        after.cost = after.cost - before.cost
        after.transactionsCommitted -= before.transactionsCommitted
        after.groupsCommitted -= before.groupsCommitted
        after.syncs -= before.syncs
        return after
    }

    func close() { store.close() }

    private static func identity(_ byte: UInt8) -> UUID {
        UUID(uuid: (byte, 0, 0, 0, 0, 0, 64, 0, 128, 0, 0, 0, 0, 0, 0, 1))
    }
}

/// How records are grouped into commits: 400 each.
enum RecordBatches {
    static let recordCount = 400

    static func indices(of data: ZoneData) -> [Range<Int>] { indices(0..<data.count) }

    static func indices(_ range: Range<Int>) -> [Range<Int>] {
        stride(from: range.lowerBound, to: range.upperBound, by: recordCount).map {
            $0..<min($0 + recordCount, range.upperBound)
        }
    }
}
