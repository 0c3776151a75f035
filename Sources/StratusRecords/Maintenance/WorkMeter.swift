// How far long work has come: counted by whoever does it, foretold from what zones count and from their keys.

package import StratusLayout
package import StratusModel
import StratusStore

/// Adds up what long work has done, and tells of it.
package final class WorkMeter {
    /// Is told how much is done, and of how much.
    package typealias Listener = (_ done: Int, _ total: Int) -> Void

    private let tell: Listener
    private var total: Int
    package private(set) var done = 0

    package init(total: Int, _ tell: @escaping Listener) {
        self.total = total
        self.tell = tell
        tell(0, total)
    }

    /// Tells that more was done.
    package func add(_ count: Int = 1) {
        done += count
        tell(done, total)
    }

    /// Takes in work that has turned out to be necessary.
    package func expect(_ count: Int) { total += count }
}

extension RecordReader {
    /// How many zones there are, and live records, as zones count them; in all databases, or in those that are wanted.
    ///
    /// A zone whose header is damaged counts no records: whoever reads it tells.
    package func zoneAndRecordCount(
        where isWanted: (DatabaseID) -> Bool = { _ in true }
    ) throws -> (zones: Int, records: Int) {
        var (zones, records) = (0, 0)
        for database in try databases() where isWanted(database.id) {
            for listing in try self.zones(in: database.id) {
                zones += 1
                do {
                    let zone = try existingZone(ZoneID(database: database.id, name: listing.name))
                    records += Int(clamping: try zone.header().recordCount)
                } catch let error as LayoutError where error.isCorruption {
                    continue
                } catch let error as RecordsError where error.code == .corruption {
                    continue
                }
            }
        }
        return (zones, records)
    }

    /// How many entries lie in a range. It goes over all of them.
    package func entryCount(in range: LayoutRange) throws -> Int {
        var count = 0
        try store.scan(range.keyRange) { _, _ in
            count += 1
            return .next
        }
        return count
    }
}
