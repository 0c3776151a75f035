// What settling shares reads, announced when the shares are known. See `ZoneReads`.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ShareWriter {
    /// Announces the acceptances and the URLs of the shares, and the people whom an answer shows.
    func announce(_ changes: [ShareTransition], identity: UUID, _ reads: RequestReads) {
        var keys: [[UInt8]] = []
        for change in changes {
            guard let place = SharePlace(zone.id, identity: identity, share: change.share) else { continue }
            for content in [change.old, change.new].compactMap({ $0 }) {
                keys += ShareEntries.keys(of: content, at: place)
                keys.append(zone.keys.shareToken(content.root))
                for user in content.participants.compactMap(\.user) {
                    keys.append(zone.keys.clientToken(of: user))
                    if let key = AccountDirectory.identityKey(of: user) { keys.append(key) }
                }
            }
        }
        reads.announce(keys)
    }
}
