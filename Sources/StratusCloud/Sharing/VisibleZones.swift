// The zones of others of which somebody sees something (P-09): what the shared database consists of (Z-05, D-06).

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords

extension CloudService {
    /// Those of accepted shares whose zone is still the one that was shared, in no order.
    ///
    /// Throws the store's errors, and `corruption` where an acceptance cannot be read.
    package func visibleZones(
        of user: UserName, in container: ContainerName, _ reader: RecordReader
    ) throws -> [(id: ZoneID, owner: UserName, listing: ZoneListing)] {
        var found: [ZoneID: (owner: UserName, identities: Set<UUID>)] = [:]
        try acceptanceDirectory.visitAcceptances(of: user, in: reader) { parts, acceptance in
            guard acceptance.container == container, SharedAccess(acceptance).isAdmitted else { return }
            found[acceptance.zoneID, default: (acceptance.owner, [])].identities.insert(parts.zone)
        }
        return try found.compactMap { id, known in
            // A zone that was deleted, or made anew under its name, is not the one that was shared.
            guard let listing = try reader.listing(of: id), known.identities.contains(listing.entry.identity) else {
                return nil
            }
            return (id, known.owner, listing)
        }
    }
}
