// A copy of a store must not be taken for the store: whoever remembers a position in the one would be misled by the other.
//
// Every zone has an incarnation, which positions carry. Copying, restoring, moving and repairing a store renew them all,
// and positions from before are then refused as expired.

package import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

extension RecordEngine {
    /// Gives the store and every zone a new incarnation, drawn by `draw`. To be called on a copy before anybody uses it.
    ///
    /// Returns the number of zones.
    @discardableResult
    package func renewIncarnations(draw: () -> UUID) throws -> Int {
        let zones = try read { reader in
            try reader.databases().flatMap { database in
                try reader.zones(in: database.id).map { ZoneID(database: database.id, name: $0.name) }
            }
        }
        for id in zones {
            let incarnation = draw()
            try transact { transaction in
                guard let zone = try transaction.zone(id) else { return }
                var header = try zone.header()
                header.incarnation = incarnation
                try transaction.set(zone.keys.header(), to: header.encoded())
            }
        }
        let format = FormatEntry(version: FormatEntry.currentVersion, incarnation: draw())
        try transact { try $0.set(GlobalKeys.format(), to: format.encoded()) }
        return zones.count
    }
}
