// Names become numbers here: (container, owner, scope) → database number, and under it a zone's name → zone number.
//
// Numbers appear only in key prefixes and are never used again, so a zone that is made anew never meets old keys. The
// look-up is cached by the rule of all caches here (PublishedCache).

package import StratusLayout
package import StratusModel
import StratusStore

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
typealias ZoneDirectoryCache = PublishedCache<ZoneID, ZoneListing>
