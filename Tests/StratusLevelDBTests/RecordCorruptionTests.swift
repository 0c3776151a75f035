// Damage below the record layer: a reader there gets the keyspace and the key, in words.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@testable import StratusLevelDB

@Suite struct RecordCorruptionTests {
    private static let zone = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "sample")
    private static let names = (0..<500).map { RecordName("record \($0)") }

    /// A store of some hundred records, with one byte flipped in the middle of its table.
    private static func makeDamagedStore(in directory: TemporaryDirectory) throws -> (path: String, table: String) {
        let path = directory.path(of: "store")
        let store = try LevelDBStore.open(at: path)
        let engine = try RecordEngine(store: store, incarnation: UUID())
        let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1000), user: "alice")
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
        let saves = names.map { RecordMutation.save(Record(name: $0, type: "Item")) }
        try engine.transact { transaction in
            try transaction.createZone(zone, birth)
            try transaction.apply(MutationRequest(saves, stamp: stamp, tagSalt: 7), in: zone)
        }
        try store.compact(KeyRange(from: [], upTo: [0xFF]))
        store.close()
        let table = try #require(try files(in: path, suffix: ".ldb").last)
        let url = URL(fileURLWithPath: "\(path)/\(table)")
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: url)
        return (path, table)
    }

    private static func damage(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test("points, scans and full checks name the keyspace and the keys around the damage")
    func descriptions() throws {
        let directory = try TemporaryDirectory()
        let (path, table) = try Self.makeDamagedStore(in: directory)
        let store = try LevelDBStore.open(at: path)
        defer { store.close() }
        let engine = try RecordEngine(store: store, incarnation: UUID())
        let report = try store.verifyChecksums()
        let stretch = try #require(report.damages.first).describingKeys
        let lower = try #require(stretch.fields["lowerKeyDescription"])
        let upper = try #require(stretch.fields["upperKeyDescription"])
        #expect(lower.hasPrefix("after db 1 / zone 1 / "), "\(lower), \(upper)")
        #expect(upper.hasPrefix("db 1 / zone 1 / "), "\(lower), \(upper)")

        // Some keys between the two cannot be read, each for itself.
        var points = 0
        for key in try Self.keys(of: engine) {
            guard let error = Self.damage({ try engine.read { _ = try $0.store.value(forKey: key) } }) else { continue }
            points += 1
            #expect(error.code == .corruption)
            #expect(error.fields["candidateFiles"] == table)
            let description = try #require(error.fields["keyDescription"])
            #expect(description.hasPrefix("db 1 / zone 1 / "), "\(description)")
            #expect(!description.contains("…"), "\(description)")
        }
        #expect(points > 0)

        let scan = try #require(
            Self.damage {
                try engine.read { reader in
                    try reader.store.scan(try reader.existingZone(Self.zone).keys.all) { _, _ in .next }
                }
            })
        #expect(scan.code == .corruption)
        #expect(scan.fields["candidateFiles"] == table)
        #expect(scan.fields["lowerKeyDescription"] == "db 1 / zone 1 / …")
        #expect(scan.fields["upperKeyDescription"] == "db 1 / zone 2 / …")
    }

    /// The keys that the records of the sample have, and that belong to no other.
    private static func keys(of engine: RecordEngine) throws -> [[UInt8]] {
        let keys = try engine.read { try $0.existingZone(zone).keys }
        return names.flatMap { [keys.record($0), keys.parent(of: $0), keys.type("Item", name: $0)] }
    }
}
