// The workloads' reads of the record layer, each in one reading transaction.

package import StratusModel
package import StratusRecords
import StratusStore

extension StratusSide {
    /// Fetches records by name (W2).
    package static func fetch(_ engine: RecordEngine, _ names: [RecordName], in zone: ZoneID = mainZone) throws {
        try engine.read { reader in
            let zone = try reader.existingZone(zone)
            for name in names {
                guard try zone.record(name) != nil else { throw WorkloadError("A record is missing in the store.") }
            }
        }
    }

    /// Looks up the shares of records (W3).
    package static func askShares(_ engine: RecordEngine, _ targets: [RecordName], in zone: ZoneID = mainZone) throws {
        try engine.read { reader in
            let zone = try reader.existingZone(zone)
            for target in targets { _ = try zone.shareMembership(of: target) }
        }
    }

    /// Enumerates the descendants of a record, and returns their number (W6).
    package func subtreeCount(below root: RecordName, in zone: ZoneID = mainZone) throws -> Int {
        try engine.read { reader in
            var count = 0
            try reader.existingZone(zone).visitSubtree(below: root) { child, _ in
                count += child.name.text.isEmpty ? 0 : 1
                return .next
            }
            return count
        }
    }
}
