// A store that cannot catch up with its own work, because a damaged table has stopped its compactions.

import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite struct WritePressureTests {
    private static let zone = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "notes")
    private static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1_000), user: "alice")

    private static func options(writeBufferByteCount: Int) -> LevelDBOptions {
        var options = LevelDBOptions()
        options.compression = .none
        options.syncsCommits = false
        options.writeBufferByteCount = writeBufferByteCount
        return options
    }

    private static func save(_ byteCount: Int, in engine: RecordEngine) throws {
        let content = Field(.bytes([UInt8](repeating: 7, count: byteCount)))
        // A commit is read again completely, so it takes several to fill several tables.
        for first in stride(from: 0, to: 400, by: 20) {
            let records = (first..<first + 20).map {
                Record(name: RecordName("\($0)"), type: "T", fields: ["content": content])
            }
            let request = MutationRequest(records.map { .save($0) }, stamp: stamp, tagSalt: 7)
            try engine.transact { try $0.apply(request, in: zone) }
        }
    }

    /// A store with a damaged table that overlaps a log of many tables' worth, and in it a deleted zone.
    private static func damage(_ path: String) throws {
        for byteCount in [200, 3_000] {
            var options = options(writeBufferByteCount: 16 << 20)
            options.testHooks.leavesLog = true
            let store = try LevelDBStore.open(at: path, options: options)
            defer { store.close() }
            let engine = try RecordEngine(store: store, incarnation: UUID())
            let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
            try engine.transact { try $0.createZone(zone, birth) }
            try save(byteCount, in: engine)
            if byteCount > 1_000 { try engine.transact { _ = try $0.deleteZone(zone) } }
        }
        let table = try #require(try files(in: path, suffix: ".ldb").first)
        let url = URL(fileURLWithPath: "\(path)/\(table)")
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: url)
    }

    @Test("a store whose compactions have stopped says so from the opening on, and a purge ends with the cause")
    func stoppedCompaction() async throws {
        let (before, after, error) = try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let path = directory.path(of: "store")
            try Self.damage(path)
            // Reading the log again makes level-0 tables at once; the compaction that should merge them meets the
            // damage.
            let store = try LevelDBStore.open(at: path, options: Self.options(writeBufferByteCount: 64 << 10))
            defer { store.close() }
            var options = RecordEngineOptions()
            options.limits.purgeBatchCount = 10
            options.limits.purgePauseCount = 3
            let engine = try RecordEngine(store: store, options: options, incarnation: UUID())
            let before = store.isUnderWritePressure
            var error: StoreError?
            do {
                _ = try engine.purgeDeletedZones(pause: {}, shouldContinue: { $0.pauses < 100_000 })
            } catch let thrown as StoreError { error = thrown }
            return (before, store.isUnderWritePressure, error)
        }
        #expect(before)
        #expect(after)
        let cause = try #require(error)
        // A scan meets the damage, or a commit what the compaction met.
        #expect(cause.code == .corruption || cause.fields["reason"] == "corruption", "\(cause)")
    }
}
