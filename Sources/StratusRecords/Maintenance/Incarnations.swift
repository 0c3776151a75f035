// A client's position in a store must not be used with a copy of it, which may have other changes.
//
// Every zone has an incarnation, and positions contain it. Copying, restoring, moving and repairing a store renew all
// of them, so older positions are refused as expired.

package import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

extension RecordEngine {
    /// Zones in a commit.
    private static let renewedZoneCount = 200

    /// Gives the store and every zone a new incarnation from `draw`. Call it on a copy before anything else uses it.
    ///
    /// `progress` gets the number of zones that are done. Returns the number of zones.
    @discardableResult
    package func renewIncarnations(
        draw: () -> UUID, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> Int {
        var zoneCount = 0
        try read(.wholeStore) { reader in
            try reader.visitZones { _, _ in
                zoneCount += 1
                return .next
            }
        }
        let meter = WorkMeter(total: zoneCount, progress)
        var last: ZoneID?
        repeat {
            let page = try read(.wholeStore) { try $0.zones(after: last, limit: Self.renewedZoneCount) }
            let drawn = page.map { (id: $0, incarnation: draw()) }
            try transact { transaction in
                for (id, incarnation) in drawn {
                    guard let zone = try transaction.zone(id) else { continue }
                    var header = try zone.header()
                    header.incarnation = incarnation
                    try transaction.set(zone.keys.header(), to: header.encoded())
                }
            }
            meter.add(page.count)
            last = page.last
        } while last != nil
        try renewOwnIncarnation(to: draw())
        return meter.done
    }

    /// Makes a finished copy a store: removes its mark. Call it last.
    package func finishCopy() throws {
        try transact { transaction in
            guard var format = try transaction.store.format(), format.copied != nil else { return }
            format.copied = nil
            try transaction.set(GlobalKeys.format(), to: format.encoded())
        }
    }

    /// Gives the store itself a new incarnation, and leaves the zones to the caller.
    package func renewOwnIncarnation(to incarnation: UUID) throws {
        try transact { transaction in
            var format = try transaction.store.format() ?? FormatEntry(incarnation: incarnation)
            format.incarnation = incarnation
            try transaction.set(GlobalKeys.format(), to: format.encoded())
        }
    }
}
