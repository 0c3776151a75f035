// Verifies that no two zones and no two databases have one identity, and that none has the identity that Foundation gives
// where it finds no random numbers.
//
// What lies outside a zone because of it (what people have accepted, what it holds of a quota, change tokens) names it by
// its identity alone. Deleted zones count as long as something of them is left. There is no index of identities: all are
// read once, and a second time, to name them, only where the first pass has found something.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

struct IdentityVerifier {
    let reader: RecordReader

    /// Something with an identity. Zones and databases are asked for by different names, so that they may share one.
    private struct Bearer {
        let isZone: Bool
        let identity: UUID
        /// The zone or database, as a key of the store.
        let key: [UInt8]
    }

    func verify(_ report: inout IndexReport) throws {
        let incarnation = try reader.store.withValue(forKey: GlobalKeys.format()) {
            try FormatEntry(decoding: $0).incarnation
        }
        if incarnation == .withoutRandomness {
            report.note(
                .identity, key: GlobalKeys.format(),
                "the store's incarnation is predictable: restore the store from a backup of itself, which draws another"
            )
        }
        var (zones, databases) = (IdentityTally(), IdentityTally())
        try visitBearers { bearer in
            if bearer.isZone { zones.add(bearer.identity) } else { databases.add(bearer.identity) }
        }
        guard !zones.faults.isEmpty || !databases.faults.isEmpty else { return }
        try visitBearers { bearer in
            guard (bearer.isZone ? zones : databases).faults.contains(bearer.identity) else { return }
            let what = bearer.isZone ? "zone" : "database"
            let detail =
                bearer.identity == .withoutRandomness
                ? "its identity is predictable, and may be that of another \(what)"
                : "its identity is that of another \(what) too"
            report.note(
                .identity, key: bearer.key,
                "\(detail): export the store and import it into an empty one, which draws others")
        }
    }

    private func visitBearers(_ visit: (Bearer) -> Void) throws {
        try reader.visitDatabases { id, entry in
            visit(Bearer(isZone: false, identity: entry.identity, key: GlobalKeys.database(id)))
            return .next
        }
        try reader.visitZones { id, listing in
            let key = DatabaseKeys(listing.database).zone(id.name)
            visit(Bearer(isZone: true, identity: listing.entry.identity, key: key))
            return .next
        }
        try reader.store.scan(GlobalKeys.purges.keyRange) { key, value in
            let entry = try PurgeEntry(decoding: value)
            visit(Bearer(isZone: true, identity: entry.identity, key: [UInt8](copying: key)))
            return .next
        }
        try reader.store.scan(GlobalKeys.releases.keyRange) { key, value in
            let entry = try ReleaseEntry(decoding: value)
            visit(Bearer(isZone: true, identity: entry.identity, key: [UInt8](copying: key)))
            return .next
        }
    }
}

/// Which identities occur more than once, or can be guessed.
private struct IdentityTally {
    private var seen: Set<UUID> = []
    private(set) var faults: Set<UUID> = []

    mutating func add(_ identity: UUID) {
        if !seen.insert(identity).inserted || identity == .withoutRandomness { faults.insert(identity) }
    }
}
