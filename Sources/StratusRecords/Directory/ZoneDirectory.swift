// Names become numbers here: (container, owner, scope) → database number, and under it a zone's name → zone number.
//
// Numbers appear only in key prefixes and are never used again, so a zone that is made anew never meets old keys. The
// look-up is cached by the same rule as the ancestors: an entry carries the version since which it holds, a reader uses
// it only if its snapshot is not older, and fills only where nothing newer has been published.

package import StratusLayout
package import StratusModel
import StratusStore
import Synchronization

/// What the directory knows of a zone.
package struct ZoneListing: Hashable, Sendable {
    package var name: ZoneName
    package var database: DatabaseNumber
    package var entry: ZoneEntry

    package init(name: ZoneName, database: DatabaseNumber, entry: ZoneEntry) {
        self.name = name
        self.database = database
        self.entry = entry
    }

    package var keys: ZoneKeys { ZoneKeys(database: database, zone: entry.number) }
}

/// Remembers which number a zone's name has.
final class ZoneDirectoryCache: Sendable {
    private struct State {
        var listings: [ZoneID: (listing: ZoneListing, validSince: StoreVersion)] = [:]
        var lastPublished: StoreVersion = 0
    }

    /// Beyond this many zones the cache starts anew.
    private static let maximumCount = 10_000
    private let state = Mutex(State())

    func listing(of zone: ZoneID, at version: StoreVersion) -> ZoneListing? {
        state.withLock { state in
            guard let found = state.listings[zone], found.validSince <= version else { return nil }
            return found.listing
        }
    }

    func fill(_ zone: ZoneID, _ listing: ZoneListing, at version: StoreVersion) {
        state.withLock { state in
            guard state.lastPublished <= version, state.listings[zone] == nil else { return }
            if state.listings.count >= Self.maximumCount { state.listings.removeAll() }
            state.listings[zone] = (listing, version)
        }
    }

    func publishChange(of zone: ZoneID, version: StoreVersion) {
        state.withLock { state in
            state.listings[zone] = nil
            state.lastPublished = max(state.lastPublished, version)
        }
    }
}
