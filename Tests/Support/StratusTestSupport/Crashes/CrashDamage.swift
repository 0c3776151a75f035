// Damage that a crash must never cause, to show that the checks after a crash find it.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// Half a commit: one of the entries that it wrote together is not there.
package enum CrashDamage: CaseIterable, Sendable {
    /// A record is gone, and its index entries exist.
    case lostRecord
    /// An index entry is gone, and its record exists.
    case lostIndexEntry

    /// Damages the zone of the first writer that has a record other than its marker.
    ///
    /// Returns false if there is none.
    package func strike(_ engine: RecordEngine) throws -> Bool {
        for writer in 0..<CrashWorkload.writerCount {
            guard let key = try key(of: writer, in: engine) else { continue }
            try engine.store.transact { try $0.delete(key) }
            return true
        }
        return false
    }

    private func key(of writer: Int, in engine: RecordEngine) throws -> [UInt8]? {
        try engine.read { reader in
            guard let zone = try reader.zone(CrashWorkload.zone(of: writer)) else { return nil }
            var found: (type: RecordType, name: RecordName)?
            try reader.store.scan(zone.keys.keyspace(.types)) { key, _ in
                let parts = try zone.keys.readTypeKey(key)
                guard parts.name != CrashWorkload.marker else { return .next }
                found = parts
                return .stop
            }
            guard let found else { return nil }
            return switch self {
            case .lostRecord: zone.keys.record(found.name)
            case .lostIndexEntry: zone.keys.type(found.type, name: found.name)
            }
        }
    }
}
