// Removing a whole database, once nothing of its zones is left.

package import StratusLayout
package import StratusModel
import StratusStore

extension RecordReader {
    /// The containers that have a database, in the byte order of their names: one seek each.
    package func containers() throws -> [ContainerName] {
        var containers: [ContainerName] = []
        var range = GlobalKeys.databases
        while true {
            var found: ContainerName?
            try store.scan(range.keyRange, .forward, limit: 1) { key, _ in
                found = try GlobalKeys.readDatabaseKey(key).container
                return .stop
            }
            guard let found else { return containers }
            containers.append(found)
            range.lower = GlobalKeys.databases(of: found).upper
        }
    }

    /// Whether keys of deleted zones of a database are still being purged, or will be.
    package func isPurging(_ database: DatabaseNumber) throws -> Bool {
        var isPurging = false
        for range in [GlobalKeys.purges(in: database), GlobalKeys.releases(in: database)] where !isPurging {
            try store.scan(range.keyRange, .forward, limit: 1) { _, _ in
                isPurging = true
                return .stop
            }
        }
        return isPurging
    }
}

extension RecordTransaction {
    /// Removes at most about `limit` entries of a database that has no zones any more, and its place in the directory
    /// with the last of them. Its number is never used again.
    ///
    /// Returns whether the database is gone. Throws `invalidRequest` while it has zones or zones that are being purged.
    package func removeDatabase(_ id: DatabaseID, limit: Int) throws -> Bool {
        guard let entry = try databaseEntry(id) else { return true }
        let keys = DatabaseKeys(entry.number)
        // The header alone must not fill a batch.
        let limit = max(limit, 2)
        guard try zones(in: id, limit: 1).isEmpty, try !isPurging(entry.number) else {
            throw RecordsError(
                .invalidRequest, "A database is removed after its zones: delete them and let them be purged.",
                ["database": "\(entry.number)"])
        }
        var found: [[UInt8]] = []
        try store.scan(keys.all.keyRange, .forward, limit: limit) { key, _ in
            found.append([UInt8](copying: key))
            return .next
        }
        let isLast = found.count < limit
        // The header goes last, with the place in the directory: a database that is listed has one.
        for key in found where isLast || key != keys.header() { try delete(key) }
        if isLast { try delete(GlobalKeys.database(id)) }
        return isLast
    }
}
