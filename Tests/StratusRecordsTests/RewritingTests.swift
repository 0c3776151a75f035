// Records that are written without being saved.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Rewriting a record")
struct RewritingTests {
    private static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1000), user: "alice")
    private let engine: RecordEngine
    private let zone: ZoneID

    init() throws {
        engine = try RecordEngine(store: TestStores.make(), incarnation: UUID())
        zone = ZoneID(database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "files")
        let birth = ZoneBirth(
            identity: UUID(), incarnation: UUID(), stamp: Self.stamp, databaseIdentity: UUID())
        try engine.transact { [zone] in try $0.createZone(zone, birth) }
    }

    private static func record(byteCount: Int, _ byte: UInt8) -> Record {
        Record(
            name: "r", type: "Item", fields: ["bytes": Field(.bytes([UInt8](repeating: byte, count: byteCount)))])
    }

    private func save(_ record: Record) throws {
        let request = MutationRequest([.save(record)], stamp: Self.stamp, tagSalt: 7)
        _ = try engine.transact { try $0.apply(request, in: zone) }
    }

    private func stored() throws -> StoredRecord {
        try engine.read { try #require(try $0.existingZone(zone).record("r")) }
    }

    @Test(
        "its fields change, and tag, dates, counters and feed stay the same, for every size before and after",
        arguments: [10, 150_000, 250_000], [20, 150_001, 350_000])
    func rewriting(before: Int, after: Int) throws {
        try save(Self.record(byteCount: before, 1))
        let old = try stored()
        let header = try engine.read { try $0.existingZone(zone).header() }
        let changes = try engine.read { try $0.existingZone(zone).changes(after: 0) }
        let new = StoredRecord(record: Self.record(byteCount: after, 2), system: old.system)
        try engine.transact { try $0.rewrite(new, in: zone) }
        #expect(try stored() == new)
        #expect(try engine.read { try $0.existingZone(zone).header() } == header)
        #expect(try engine.read { try $0.existingZone(zone).changes(after: 0) } == changes)
        #expect(try engine.verify().findings.isEmpty)
        // It is saved further like any other.
        try save(Self.record(byteCount: 5, 3))
        #expect(try engine.verify().findings.isEmpty)
    }

    @Test("a record that was saved since, or deleted, is not overwritten")
    func stale() throws {
        try save(Self.record(byteCount: 10, 1))
        let old = try stored()
        try save(Self.record(byteCount: 10, 2))
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try engine.transact { try $0.rewrite(old, in: zone) } }
            #expect(error?.code == .invalidRequest)
            let request = MutationRequest([.delete("r")], stamp: Self.stamp, tagSalt: 7)
            _ = try engine.transact { try $0.apply(request, in: zone) }
        }
    }
}
