// Stores for growth curves: one of ours and one of SQLite's, filled with the same records.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

/// A pair of stores of a folder of their own.
final class GrowthStores {
    let folder: String
    let zone: ZoneID
    private(set) var stratus: StratusSide
    let sqlite: SQLitePeer
    private let options: LevelDBOptions
    private var madeServer: ServerSide?
    /// What was saved one by one, in ours and in SQLite.
    private var saved: [RecordName] = []
    private var savedInPeer: [RecordName] = []

    init(_ run: BenchmarkRun, _ name: String) throws {
        zone = StratusSide.zone("growing")
        folder = run.folder + "/growth-\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        options = LevelDBOptions(formatVersion: StoreFormat.number)
        stratus = try StratusSide(at: folder + "/stratus", options: options)
        sqlite = try SQLitePeer(path: folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount)
        try stratus.createZone(zone)
    }

    /// Copies of the stores of the run with its main zone, so that what is done to them is not done to those.
    init(copying run: BenchmarkRun, _ name: String) throws {
        zone = StratusSide.mainZone
        folder = run.folder + "/growth-\(name)"
        options = run.options
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try LevelDBStore.backup(
            ofStoreAt: run.folder + "/stratus", to: folder + "/stratus", options: run.options)
        // All of its log is in its file then.
        try run.sqlite.settle()
        try FileManager.default.copyItem(atPath: run.folder + "/sqlite.db", toPath: folder + "/sqlite.db")
        stratus = try StratusSide(at: folder + "/stratus", options: options)
        sqlite = try SQLitePeer(path: folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount)
    }

    /// Closes the stores and takes their files away.
    func remove() throws {
        stratus.close()
        try sqlite.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    /// Closes ours and opens it again.
    func reopen() throws {
        madeServer = nil
        stratus.close()
        stratus = try StratusSide(at: folder + "/stratus", options: options)
    }

    func server(options: CloudOptions = CloudOptions()) throws -> ServerSide {
        if let madeServer { return madeServer }
        let server = try ServerSide(stratus, options: options)
        madeServer = server
        return server
    }

    /// The records' zone as its owner names it.
    var address: ZoneAddress { ZoneAddress(zoneName: zone.name.text) }

    /// Saves records of a data set, in both stores or in ours alone.
    func load(_ data: ZoneData, _ range: Range<Int>, withPeer: Bool = true) throws {
        for batch in RecordBatches.indices(range) {
            try stratus.save(batch.map { data.record($0) }, in: zone)
            guard withPeer else { continue }
            try sqlite.save(batch.map { SQLitePeer.arguments(data.record($0), data.content(of: $0), change: $0) })
        }
        if withPeer { try sqlite.settle() }
    }

    /// Saves one record in ours.
    func save(_ item: NumberSource.Item, below parent: RecordName? = nil) throws {
        try stratus.save([Self.placed(item, below: parent)], in: zone)
        saved.append(item.record.name)
    }

    /// Saves one record in SQLite.
    func saveInPeer(_ item: NumberSource.Item, below parent: RecordName? = nil) throws {
        let record = Self.placed(item, below: parent)
        try sqlite.save([SQLitePeer.arguments(record, item.content, change: item.number)])
        savedInPeer.append(record.name)
    }

    /// Takes away what was saved one by one since it was last called, so that a size is what it is called.
    func takeAway() throws {
        for start in stride(from: 0, to: saved.count, by: RecordBatches.recordCount) {
            let names = saved[start..<min(start + RecordBatches.recordCount, saved.count)]
            let request = MutationRequest(names.map { .delete($0) }, stamp: DataClock.stamp, tagSalt: 7)
            try stratus.engine.transact { _ = try $0.apply(request, in: zone) }
        }
        try sqlite.delete(savedInPeer)
        (saved, savedInPeer) = ([], [])
    }

    private static func placed(_ item: NumberSource.Item, below parent: RecordName?) -> Record {
        Record(name: item.record.name, type: item.record.type, parent: parent, fields: item.record.fields)
    }
}
