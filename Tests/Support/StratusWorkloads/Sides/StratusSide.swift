// Ourselves, as a host would use the engine: the default options of store and record layer.

import Foundation
import StratusLayout
package import StratusLevelDB
package import StratusModel
package import StratusRecords
package import StratusStore

/// A store of our own with its record engine, and a second engine on the same store without the ancestor cache.
package final class StratusSide: Sendable {
    package static let database = DatabaseID(
        container: "iCloud.com.example.benchmarks", owner: "_owner", scope: .private)
    package static let mainZone = zone("main")

    package let store: LevelDBStore
    package let engine: RecordEngine
    /// For reading only: it does not learn of others' writes.
    package let uncached: RecordEngine

    package init(
        at path: String, options: LevelDBOptions = LevelDBOptions(formatVersion: StoreFormat.number),
        engineOptions: RecordEngineOptions = RecordEngineOptions()
    ) throws {
        store = try LevelDBStore.open(at: path, options: options)
        engine = try RecordEngine(store: store, options: engineOptions, incarnation: Self.identity(1))
        uncached = try Self.reader(of: store, engineOptions, ancestorCacheByteCount: 0)
    }

    /// Opens a store as a host does, with one engine, and closes it.
    package static func openAndClose(
        at path: String, options: LevelDBOptions = LevelDBOptions(formatVersion: StoreFormat.number)
    ) throws {
        let store = try LevelDBStore.open(at: path, options: options)
        defer { store.close() }
        _ = try RecordEngine(store: store, incarnation: identity(1))
    }

    /// An engine on the same store with another ancestor cache. It may read while no one writes.
    package func reader(ancestorCacheByteCount: Int) throws -> RecordEngine {
        try Self.reader(of: store, RecordEngineOptions(), ancestorCacheByteCount: ancestorCacheByteCount)
    }

    private static func reader(
        of store: LevelDBStore, _ options: RecordEngineOptions, ancestorCacheByteCount: Int
    ) throws -> RecordEngine {
        var options = options
        options.ancestorCacheByteCount = ancestorCacheByteCount
        return try RecordEngine(store: store, options: options, incarnation: identity(1))
    }

    package static func zone(_ name: ZoneName) -> ZoneID { ZoneID(database: database, name: name) }

    package func createZone(_ zone: ZoneID) throws {
        let birth = ZoneBirth(
            identity: Self.identity(of: zone.name),
            incarnation: Self.identity(2), stamp: DataClock.stamp, databaseIdentity: Self.identity(3))
        try engine.transact { _ = try $0.createZone(zone, birth) }
    }

    /// One durable commit.
    @discardableResult
    package func save(_ records: [Record], in zone: ZoneID) throws -> MutationPlan {
        let request = MutationRequest(records.map { .save($0) }, stamp: DataClock.stamp, tagSalt: 7)
        return try engine.transact { try $0.apply(request, in: zone) }
    }

    /// Creates a zone and saves all its records, `RecordBatches.recordCount` a commit.
    package func load(_ data: ZoneData, into zone: ZoneID) throws {
        try createZone(zone)
        for batch in RecordBatches.indices(of: data) { try save(batch.map { data.record($0) }, in: zone) }
    }

    /// What `body` cost the store, counted.
    package func cost(_ body: () throws -> Void) rethrows -> StoreStatistics {
        let before = store.statistics
        try body()
        var after = store.statistics
        after.cost = after.cost - before.cost
        after.transactionsCommitted -= before.transactionsCommitted
        after.engineLookups -= before.engineLookups
        after.groupsCommitted -= before.groupsCommitted
        after.syncs -= before.syncs
        return after
    }

    package func close() { store.close() }

    /// The identity of a zone follows from its name, in every process.
    private static func identity(of name: ZoneName) -> UUID {
        let sum = name.text.utf8.reduce(UInt64(0)) { SeededNumbers.mixed($0 ^ UInt64($1)) }
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: sum >> UInt64($0 * 8)) }
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], 64, bytes[6], 128, bytes[7], 0, 0, 0, 0, 0,
                1
            ))
    }

    private static func identity(_ byte: UInt8) -> UUID {
        UUID(uuid: (byte, 0, 0, 0, 0, 0, 64, 0, 128, 0, 0, 0, 0, 0, 0, 1))
    }
}

/// How records are grouped into commits: 400 each.
package enum RecordBatches {
    package static let recordCount = 400

    package static func indices(of data: ZoneData) -> [Range<Int>] { indices(0..<data.count) }

    package static func indices(_ range: Range<Int>) -> [Range<Int>] {
        stride(from: range.lowerBound, to: range.upperBound, by: recordCount).map {
            $0..<min($0 + recordCount, range.upperBound)
        }
    }
}
