// Databases and zones by name, the feed of each database, and the index verifier.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension HistoryRunner {
    func checkDirectory(_ reader: RecordReader, _ state: OracleStore) throws {
        let databases = try reader.databases()
        try expectEqual(Set(databases.map(\.id)), Set(state.counters.keys), "the databases")
        for (id, entry) in databases {
            let zones = try reader.zones(in: id)
            let wanted = state.zones.filter { $0.key.database == id }.sorted { $0.key.name < $1.key.name }
            try expectEqual(zones.map(\.name), wanted.map(\.key.name), "the zones of a database")
            try expectEqual(
                zones.map(\.entry.identity), wanted.map { HistoryContent.identity($0.value.birth) },
                "the identities of the zones")
            try checkFeed(reader, of: id, DatabaseKeys(entry.number), state)
        }
    }

    private func checkFeed(
        _ reader: RecordReader, of id: DatabaseID, _ keys: DatabaseKeys, _ state: OracleStore
    ) throws {
        var found: [(counter: UInt64, entry: DatabaseChangeEntry)] = []
        try reader.store.scan(keys.keyspace(.changes)) { key, value in
            found.append((try keys.readChangeKey(key), try DatabaseChangeEntry(decoding: value)))
            return .next
        }
        let wanted = state.feed(of: id)
        try expectEqual(found.map(\.counter), wanted.map(\.counter), "the counters of a database's feed")
        try expectEqual(
            found.map(\.entry),
            wanted.map { change in
                DatabaseChangeEntry(
                    zone: change.zone, identity: HistoryContent.identity(change.birth),
                    kind: change.isDeleted ? .deleted : .saved)
            }, "a database's feed")
    }

    /// Nothing missing, dangling or miscounted.
    func verifyIndexes() throws {
        let report = try engine.verify()
        guard report.isClean else { throw HistoryFailure("the verifier says \(report.summary): \(report.findings)") }
        let recordCount = oracle.zones.values.reduce(0) { $0 + $1.live.count }
        try expectEqual(report.recordsChecked, recordCount, "how many records the verifier has seen")
    }
}
