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
    /// `progress` is told how many zones have theirs. Returns the number of zones.
    @discardableResult
    package func renewIncarnations(
        draw: () -> UUID, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> Int {
        var zoneCount = 0
        try read { reader in
            try reader.visitZones { _, _ in
                zoneCount += 1
                return .next
            }
        }
        let meter = WorkMeter(total: zoneCount, progress)
        var last: ZoneID?
        repeat {
            let page = try read { try $0.zones(after: last, limit: Self.renewedZoneCount) }
            try renewIncarnations(of: page.map { ($0, draw()) })
            meter.add(page.count)
            last = page.last
        } while last != nil
        try renewOwnIncarnation(to: draw())
        return meter.done
    }

    /// Gives the store alone a new incarnation: for whoever gives each zone one.
    package func renewOwnIncarnation(to incarnation: UUID) throws {
        try transact { transaction in
            let found = try transaction.store.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) }
            var format = found ?? FormatEntry(incarnation: incarnation)
            format.incarnation = incarnation
            try transaction.set(GlobalKeys.format(), to: format.encoded())
        }
    }

    /// Zones in a commit.
    private static let renewedZoneCount = 200

    private func renewIncarnations(of zones: [(id: ZoneID, incarnation: UUID)]) throws {
        try transact { transaction in
            for (id, incarnation) in zones {
                guard let zone = try transaction.zone(id) else { continue }
                var header = try zone.header()
                header.incarnation = incarnation
                try transaction.set(zone.keys.header(), to: header.encoded())
            }
        }
    }
}
