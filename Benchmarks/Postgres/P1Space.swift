// P1: what the loaded records take on the server, beside the same entries in LevelDB's files and beside tables.

import Foundation
import StratusStore
import StratusWorkloads

enum PostgresSpace: PostgresWorkload {
    static let name = "P1"
    static let title = "space on PostgreSQL"

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        let session = try SQLSession(url: bench.serverURL, schema: bench.storeSchema)
        let sql = "SELECT pg_total_relation_size('stratus_entries')::int8"
        let own = Double(try session.rows(SQLStatement(name: "size", sql: sql)).integer(0, 0))
        let entries = try count(bench.postgres.store)
        let other = try count(bench.levelDB.store)
        let files = Double(ProcessFiles.byteCount(at: run.folder + "/beside-postgres"))
        run.add(
            Figure(
                name, "nothing compacted or vacuumed by hand", own / Double(entries.count), "bytes/entry",
                against: "LevelDB", files / Double(other.count), ratio: .ourShareOfTheirs, .none))
        run.add(
            Figure(
                name, "nothing compacted or vacuumed by hand", own / Double(entries.count), "bytes/entry",
                against: "keys and values alone", Double(entries.byteCount) / Double(entries.count),
                ratio: .ourShareOfTheirs, .none))
        run.add(
            Figure(
                name, "nothing compacted or vacuumed by hand", own / Double(bench.data.count), "bytes/record",
                against: "SQL tables", Double(try bench.tables.byteCount()) / Double(bench.data.count),
                ratio: .ourShareOfTheirs, .none))
    }

    private static func count(_ store: any OrderedStore) throws -> (count: Int, byteCount: Int) {
        try store.read(.wholeStore) { reader in
            var found = (count: 0, byteCount: 0)
            try reader.scan(.everything, .forward, limit: .max) { key, value in
                found.count += 1
                found.byteCount += key.count + value.count
                return .next
            }
            return found
        }
    }
}
